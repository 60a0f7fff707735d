// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package fw

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	corev1 "k8s.io/api/core/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/eviction"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/planner"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/toleration"
)

// GivenUp says why tolerations go at once: which attribute asks for it, in words, and what
// to do where that is not wanted.
type GivenUp struct {
	At           path.Path
	Why, Instead string
}

// WarnDisplaced says which pods lose their places because tolerations go at once.
// The subject begins the sentence, as that of WarnCost.
func WarnDisplaced(subject string, pods []planner.Displaced, given GivenUp, diags *diag.Diagnostics) {
	if len(pods) == 0 {
		return
	}
	var taints []corev1.Taint
	report := &eviction.Report{}
	atOnce, homeless := 0, 0
	for _, d := range pods {
		for _, l := range d.Losses {
			if !slices.ContainsFunc(taints, func(t corev1.Taint) bool { return taint.Format(t) == taint.Format(l.Taint) }) {
				taints = append(taints, l.Taint)
			}
		}
		if d.AtOnce() {
			atOnce++
		}
		if homelessBy(d) {
			homeless++
		}
		report.Pods = append(report.Pods, eviction.PodVerdict{Pod: d.Pod, Owner: d.Owner, Verdict: eviction.Stays, Reason: lossOf(d)})
	}
	under := taint.FormatAll(taint.Sort(taints))
	if len(taints) > 2 {
		under = fmt.Sprintf("%s and %d more taints", taint.Format(taints[0]), len(taints)-1)
	}
	summary := fmt.Sprintf("%s at once costs %s their place under %s", subject, Count(len(pods), "pod"), under)
	if atOnce > 0 {
		summary += fmt.Sprintf("; %d of a DaemonSet are deleted at the same moment", atOnce)
	}
	if homeless > 0 {
		summary += fmt.Sprintf("; no other node would take %d of them", homeless)
	}
	var b strings.Builder
	b.WriteString(given.Why + ": they run on nodes with taints that pods of the new template do not tolerate.\n")
	list(&b, report)
	b.WriteString("\n\n" + given.Instead)
	if homeless > 0 {
		b.WriteString(" Where no other node takes a pod, the rollout comes to a halt: to get out of it, put the old toleration back and apply.")
		b.WriteString("\n\n" + Judged + " " + NotConsidered)
	}
	diags.AddAttributeWarning(given.At, summary, b.String())
}

// homelessBy says that the pod is replaced by one that no node takes.
func homelessBy(d planner.Displaced) bool {
	return d.Hold == "" && d.Owner.Kind != "DaemonSet" && !d.Found
}

// lossOf words what becomes of a pod and of the one that comes for it.
func lossOf(d planner.Displaced) string {
	var names []string
	shortest := toleration.Forever
	for _, l := range d.Losses {
		names = append(names, taint.Format(l.Taint))
		shortest = min(shortest, l.Lasts)
	}
	tainted := "tainted " + strings.Join(names, ", ")
	fate := "replaced"
	if d.Hold != "" {
		fate = "stays for now (" + d.Hold + ")"
	}
	switch {
	case d.AtOnce():
		return "deleted at once, whatever its update strategy, and not made again while its node is " + tainted
	case shortest != toleration.Untolerated:
		return fmt.Sprintf("%s; the pod that comes for it is evicted after %d s from a node that is %s", fate, shortest, tainted)
	case d.Owner.Kind == "DaemonSet" && d.Hold == "":
		return "deleted by the rollout, and not made again while its node is " + tainted
	case d.Owner.Kind == "DaemonSet":
		return fate + "; once it is deleted, it is not made again while its node is " + tainted
	case d.Found:
		return fate + "; the pod that comes for it is not put on this node, which is " + tainted + ", but on another"
	}
	return fate + "; the pod that comes for it is not put on this node, which is " + tainted + ", nor on any other: " + d.Obstacles
}
