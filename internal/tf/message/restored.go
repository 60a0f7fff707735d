// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package message

import (
	"fmt"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/label"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/toleration"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/workload"
)

// WarnRestored names the tolerations and the entries of a node selector that a rollback of a workload
// has brought back after their resource removed them: pods may need what no node offers.
func WarnRestored(w *workload.Workload, claim toleration.Claim, pin label.Claim, diags *diag.Diagnostics) {
	var entries, annotations []string
	if list := claim.Restored(w.Tolerations, w.Record); len(list) > 0 {
		annotations = append(annotations, w.Annotation(toleration.OwnedAnnotation))
		for _, t := range list {
			entries = append(entries, "toleration "+taint.FormatToleration(t))
		}
	}
	if keys := pin.Restored(w.NodeSelector, w.LabelRecord); len(keys) > 0 {
		annotations = append(annotations, w.Annotation(label.OwnedAnnotation))
		for _, key := range keys {
			entries = append(entries, "node selector "+key)
		}
	}
	if len(entries) == 0 {
		return
	}
	diags.AddWarning(w.Title()+" has "+Some(entries)+" again, which this resource removed before",
		"A rollback restores them with their ownership records, such as kubectl rollout undo. Others can write old records too, so this resource does not remove these entries, not even on destroy. "+
			"Remove them from the pod template, and their records from the annotation "+strings.Join(annotations, " and ")+": kubectl edit "+w.Kubectl(w.Name))
}

// WarnRestoredNodes names the taints and labels of nodes whose marks do not count any more. What the
// claims want is not among them.
func WarnRestoredNodes(nodes []*snapshot.Node, taints taint.Claim, labels label.Claim, diags *diag.Diagnostics) {
	var found, lines []string
	for _, n := range nodes {
		var entries []string
		for _, id := range taints.OnNode(n.Name, n.UID).Restored(n.Taints, n.Record) {
			entries = append(entries, "taint "+id.String())
		}
		for _, key := range labels.OnNode(n.Name, n.UID).Restored(n.Labels, n.LabelRecord) {
			entries = append(entries, "label "+key)
		}
		if len(entries) > 0 {
			found, lines = append(found, n.Name), append(lines, "  node "+n.Name+": "+Some(entries))
		}
	}
	if len(found) == 0 {
		return
	}
	if more := len(lines) - maxLines; more > 0 {
		lines = append(lines[:maxLines], fmt.Sprintf("  … and %d more", more))
	}
	diags.AddWarning(Agree(len(found), "A node has", "Nodes have")+" entries with old ownership records of this resource: "+Some(found),
		"A backup restores entries with their ownership records. Others can write old records too, so this resource does not remove these entries, not even on destroy:\n\n"+strings.Join(lines, "\n")+"\n\n"+
			"Remove the entries that are not needed (kubectl taint node NAME KEY:EFFECT-, kubectl label node NAME KEY-). Then remove their records from the annotations "+taint.OwnedAnnotation+" and "+label.OwnedAnnotation+" (kubectl edit node NAME).")
}
