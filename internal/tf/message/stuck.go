// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package message

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/planner"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/rollout"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/workload"
)

// stuckDetail reports what a rollout that has not ended waited for, and what to do.
func stuckDetail(verb string, stuck *rollout.StuckError) string {
	consequence := "Taints that wait for these tolerations have not been written, so they evict no pod. "
	switch {
	case stuck.LosesLabels:
		consequence = "The labels stay on the nodes until then. "
	case stuck.TaintsApplied:
		consequence = "The taints are changed already; that evicts no pod. "
	}
	out := unfinished(stuck) + "\n\n" + consequence + findOut(stuck.Workload.Ref)
	if verb == "create" {
		out += " Nothing is saved in the state; what was written has ownership records, and the next apply continues with it."
	}
	return out + "\n\nOriginal error: " + stuck.Err.Error()
}

// unfinished lists what a rollout that has not ended waited for.
func unfinished(stuck *rollout.StuckError) string {
	var b strings.Builder
	without := "still without the tolerations"
	switch {
	case stuck.LosesLabels:
		without = "still of the old template"
		b.WriteString("The template no longer requires the labels of the nodes, but not every pod has been recreated from it:\n")
	case stuck.Lost:
		b.WriteString("The template does not have the tolerations: another writer has removed them. Find out who" + whoWrote(stuck.Workload.Ref) + ".\n")
	case stuck.Relapses:
		b.WriteString("The template and every pod have the tolerations, but the update is not complete. Until all pods are ready, a lost pod below the partition is recreated from the old template.\n")
	default:
		b.WriteString("The template has the tolerations, but not every pod has them yet:\n")
	}
	list := func(pods []string, what string) {
		if len(pods) > 0 {
			fmt.Fprintf(&b, "\n  %s %s: %s", Count(len(pods), "pod"), what, Some(pods))
		}
	}
	list(stuck.Lacking, without)
	list(stuck.Pending, "recreated, but not scheduled yet (Pending)")
	if stuck.Missing > 0 {
		fmt.Fprintf(&b, "\n  %d of %d pods not created yet", stuck.Missing, stuck.Workload.Wants)
		if !stuck.Older {
			b.WriteString("; a new pod may be created from an older template")
		}
	}
	list(stuck.Blocking, "not ready or terminating")
	if len(stuck.Blocking) > 0 {
		b.WriteString("\n\n" + blocked(stuck.Workload, stuck.Blocking))
	}
	if stop := stuck.Workload.Rolling.Stands; stop.Why != "" {
		b.WriteString("\n\nThe rollout is stuck: " + stop.Why + ". To continue it, " + stop.WayOut + ".")
	}
	if stuck.Older {
		b.WriteString("\n  an older ReplicaSet, whose template lacks the tolerations, can still create pods")
	}
	if len(stuck.Lacking)+len(stuck.Pending)+stuck.Missing == 0 && !stuck.Relapses && !stuck.Older && !stuck.Lost {
		b.WriteString("\n  its controller has not reported yet that it has seen the change")
	}
	return strings.TrimRight(b.String(), "\n")
}

// findOut reports what to do about a rollout that does not end.
func findOut(ref workload.Ref) string {
	commands := "kubectl describe pod, kubectl get events"
	if ref.ArgoRollout() {
		commands = "kubectl argo rollouts get rollout " + ref.Name + " -n " + ref.Namespace + ", " + commands
	}
	switch kind := ref.GroupVersionKind().GroupKind(); kind {
	case schema.GroupKind{Group: "apps", Kind: "Deployment"}, schema.GroupKind{Group: "apps", Kind: "StatefulSet"}, schema.GroupKind{Group: "apps", Kind: "DaemonSet"}:
		// Those that kubectl knows the status of; it would look for another group's among them
		// (k8s.io/kubectl v0.37.2 pkg/polymorphichelpers/rollout_status.go, StatusViewerFor).
		commands = "kubectl rollout status " + strings.ToLower(ref.Kind) + "/" + ref.Name + " -n " + ref.Namespace + ", " + commands
	case schema.GroupKind{Group: "apps.openshift.io", Kind: "DeploymentConfig"}:
		commands = "oc rollout status dc/" + ref.Name + " -n " + ref.Namespace + ", " + commands
	}
	return "Find out why the rollout does not finish (" + commands + "), or set a longer timeout in timeouts, and apply again: it continues where it stopped."
}

// inTime reports how a wait ended that did not come to its end.
func inTime(err error) string {
	if errors.Is(err, context.DeadlineExceeded) {
		return " in time"
	}
	return ", because the run was interrupted"
}

// WarnBlocked warns that a rollout for which a plan waits does not come to its end by itself:
// the controller of a StatefulSet will not replace pods because one of them is not ready, or
// a Rollout of Argo pauses.
func WarnBlocked(w *workload.Workload, snapshot *snapshot.Snapshot, plan planner.Plan, at WorkloadAt, diags *diag.Diagnostics) {
	if !slices.ContainsFunc(plan.Steps, func(s planner.Step) bool { return s.Kind == planner.Wait && s.Workload == w && s.RemovedLabels == nil }) {
		return
	}
	writes := slices.ContainsFunc(plan.Steps, func(s planner.Step) bool { return s.Kind == planner.Expand && s.Workload == w && s.Template() })
	WarnStopped(w, snapshot, writes, at.Workload, diags)
}

// WarnStopped warns of what stops the rollout of a workload, at an attribute.
func WarnStopped(w *workload.Workload, snapshot *snapshot.Snapshot, writes bool, at path.Path, diags *diag.Diagnostics) {
	warnPaused(w, writes, at, diags)
	var names []string
	for _, p := range planner.Blocking(snapshot, w) {
		names = append(names, p.Name)
	}
	if len(names) == 0 {
		return
	}
	diags.AddAttributeWarning(at, "The rollout of "+w.Title()+" stops until "+Some(names)+" "+Agree(len(names), "is", "are")+" ready",
		blocked(w, names)+" No taint is written before the rollout has finished.")
}

// warnPaused warns that a rollout pauses, or stands still already. A new template begins a new
// rollout, whose pauses are those of the strategy.
func warnPaused(w *workload.Workload, writes bool, at path.Path, diags *diag.Diagnostics) {
	stop := w.Rolling.Stands
	if writes || stop.Why == "" {
		stop = w.Rolling.Pauses
	}
	if stop.Why == "" {
		return
	}
	diags.AddAttributeWarning(at, "The rollout of "+w.Title()+" stops before its end: "+stop.Why,
		"Apply waits for it until timeouts end the wait, and running pods may lack the tolerations meanwhile. While apply waits, "+stop.WayOut+". No taint is written before the rollout has finished.")
}

// blocked reports what pods that are not ready do to a rollout in order, or to that of a DaemonSet, and the way out.
func blocked(w *workload.Workload, names []string) string {
	if w.Owner().DaemonSet() {
		return "The nodes of these pods are not ready (kubectl get pods -n " + w.Namespace + " -o wide). They count as unavailable, and the controller replaces no other pod while so many are. " +
			"Get these nodes ready again, delete those that are gone (kubectl delete node), or raise maxUnavailable of the DaemonSet."
	}
	return "With podManagementPolicy OrderedReady, the controller replaces no pod while another one is not ready or terminating. " +
		"If " + Some(names) + " " + Agree(len(names), "does", "do") + " not become ready, delete " + Agree(len(names), "it", "them") + " once the template has the tolerations (kubectl delete pod " + strings.Join(names, " ") + " -n " + w.Namespace + "): " +
		"the new pods have them. Pods that stay terminating on a node that is gone need --force."
}
