// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package drainnodes

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/eviction"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/planner"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/rollout"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/tf/message"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/tf/session"
)

// Preview reports which pods are evicted, and refuses what would be refused.
func (a *drainNodes) Preview(ctx context.Context, w wanted, diags *diag.Diagnostics) {
	_, err := a.Data.Identify(ctx, "", diags)
	var s *snapshot.Snapshot
	var nodes []*snapshot.Node
	if err == nil {
		s, err = a.Data.Cluster.Snapshot(ctx)
	}
	if err == nil {
		nodes, err = a.Data.Cluster.Nodes(ctx)
	}
	if err != nil {
		session.NoPreview("the drain of "+w.place(), w.removes(), err, w.limits.Set(), a.Data, diags)
		return
	}
	d := w.drain(nodes)
	if len(d.Nodes) == 0 {
		diags.Append(message.NoNodes(w.target, "drained"))
		return
	}
	warnDamaged(damagedRecords(nodes, d), diags)
	plan, s, err := rollout.Ordered(ctx, a.Data.Cluster, s, a.Data.OrderOf(planner.Change{Drain: &d.NodeDrain}))
	if err != nil {
		session.NoPreview("the drain of "+w.place(), w.removes(), err, w.limits.Set(), a.Data, diags)
		return
	}
	if len(plan.DrainRefusals) > 0 {
		diags.Append(refused(w, plan.DrainRefusals, nil))
		return
	}
	_, report := plan.Impact()
	if over := new(eviction.LimitsError); errors.As(w.limits.Check(report), &over) {
		over.Unmodelled = rollout.Unmodelled(ctx, a.Data.Cluster, over.Report)
		diags.Append(explain(w, d, over))
		return
	}
	message.WarnDrainDeadlocks(w.place(), plan.DrainDeadlocks(s), diags)
	if d.SelectsNone(s) {
		diags.AddAttributeWarning(path.Root("pod_selector"), message.NoPods(w.place(), w.rules),
			"Apply cordons the nodes all the same. If that is not intended, "+message.CheckLabels(d.Nodes[0])+".")
	}
	about := w.subject("Draining", d)
	about.Unmodelled = rollout.Unmodelled(ctx, a.Data.Cluster, report)
	message.LogPods(ctx, about, report)
	summary, detail := message.Preview(about, report)
	if summary == "" {
		return
	}
	if already := cordoned(s, d); len(already) > 0 {
		detail += "\n\nCordoned already, by an earlier drain or by another user: " + message.Some(already) + "."
	}
	diags.AddWarning(summary, detail)
}

// cordoned are the nodes that take no more pods already.
func cordoned(s *snapshot.Snapshot, d rollout.Drain) []string {
	var out []string
	for _, name := range d.Nodes {
		if n := s.Nodes[name]; n != nil && n.Unschedulable {
			out = append(out, name)
		}
	}
	return out
}

// explain words an error of a drain.
func explain(w wanted, d rollout.Drain, err error) diag.Diagnostic {
	over, no, stopped := new(eviction.LimitsError), new(rollout.DrainRefusedError), new(rollout.DrainError)
	var left []string
	if errors.As(err, &stopped) {
		left = stopped.Cordoned
	}
	switch {
	case errors.As(err, &over):
		about := w.subject("drain", d)
		about.Left = written(w, left)
		return w.limits.Refused(over, about, path.Root("evictions"))
	case errors.As(err, &no):
		return refused(w, no.Refusals, left)
	case stopped.Err == nil:
		// It ended before the first write.
		stopped = &rollout.DrainError{Err: err}
	}
	summary, advice, waiting := "Unable to drain "+w.place(), message.Advise(stopped.Err), ""
	what := "the drain"
	if len(stopped.Missing) > 0 {
		what = "the wait for replacements of " + w.rules.Removed() + " pods"
	}
	if errors.Is(stopped.Err, context.DeadlineExceeded) || errors.Is(stopped.Err, context.Canceled) {
		summary, advice = summary+": "+message.Ended(what, stopped.Err), ""
	}
	switch {
	case len(stopped.Missing) > 0:
		waiting = fmt.Sprintf("All pods are %s, and %s not run elsewhere yet:\n  %s", w.rules.Removed(), message.CountVerb(len(stopped.Missing), "workload does", "workloads do"), strings.Join(shown(replacements(stopped.Missing), lines), "\n  "))
	case len(stopped.Waiting) > 0:
		waiting = fmt.Sprintf("The drain was waiting for %s of node %q:\n  %s", message.Count(len(stopped.Waiting), "pod"), stopped.Node, strings.Join(shown(stopped.Waiting, lines), "\n  "))
	}
	return diag.NewErrorDiagnostic(summary, message.Paragraphs(advice, waiting, remains(stopped, w.rules.DisableEviction), "Original error: "+stopped.Err.Error()))
}

func replacements(missing []rollout.Replacement) []string {
	out := make([]string, len(missing))
	for i, r := range missing {
		out[i] = r.String()
	}
	return out
}

// goOn reports what to do about a drain that has ended before its end.
func goOn(e *rollout.DrainError, deletes bool) string {
	const again = "invoke the action again: it continues with the nodes that are left."
	holders := "their PodDisruptionBudgets and finalizers"
	if deletes {
		holders = "their finalizers"
	}
	switch {
	case !errors.Is(e.Err, context.DeadlineExceeded):
		return "To continue, " + again
	case len(e.Missing) > 0:
		return "To fix this, make room for these pods (kubectl get pods --field-selector=status.phase=Pending -A), or set a longer timeout; then " + again
	case len(e.Waiting) == 0:
		return "Set a longer timeout, and " + again
	}
	return "To fix this, find out why these pods are not deleted (kubectl describe pod, " + holders + "), or set a longer timeout; then " + again
}

// lines is how many an error lists at most.
const lines = 20

// shown keeps what is listed readable.
func shown(all []string, most int) []string {
	if len(all) <= most {
		return all
	}
	return append(append([]string{}, all[:most]...), fmt.Sprintf("… and %d more", len(all)-most))
}

// remains reports what an interrupted drain leaves, and how to go on.
func remains(e *rollout.DrainError, deletes bool) string {
	if len(e.Cordoned) == 0 {
		return goOn(e, deletes)
	}
	out := "These nodes are cordoned, and stay so: " + strings.Join(shown(e.Cordoned, lines), ", ") + "."
	if len(e.Drained) > 0 {
		out += " Of these are drained: " + strings.Join(shown(e.Drained, lines), ", ") + "."
	}
	return out + " " + goOn(e, deletes) + " To give up instead, allow pods again: " + uncordon(e.Cordoned) + "."
}

// uncordon is what lets pods in again. The command leaves the record of an interrupted drain on the nodes.
func uncordon(nodes []string) string {
	const few = 5
	command := "kubectl uncordon NODE, for each of them"
	if len(nodes) <= few {
		command = "kubectl uncordon " + strings.Join(nodes, " ")
	}
	return "invoke kubetaint_uncordon_nodes (or quickly: " + command + ")"
}

// written reports what a drain that is refused has done: it is asked once more when the nodes
// are cordoned, before the first eviction.
func written(w wanted, nodes []string) string {
	if len(nodes) == 0 {
		return "Nothing has been written."
	}
	return "No pod has been " + w.rules.Removed() + ". These nodes are cordoned, and stay so: " + strings.Join(shown(nodes, lines), ", ") + ". To allow pods again: " + uncordon(nodes) + "."
}

// refused words the pods that stop a drain.
func refused(w wanted, refusals []planner.DrainRefusal, nodes []string) diag.Diagnostic {
	var pods []string
	for _, r := range refusals {
		pods = append(pods, fmt.Sprintf("pod %s on node %s %s: %s", r.Pod.Key(), r.Pod.Node, r.Why, r.WayOut))
	}
	return diag.NewErrorDiagnostic("Unable to drain "+w.place()+": "+message.CountVerb(len(pods), "pod stops the drain", "pods stop the drain"),
		written(w, nodes)+" Deal with these pods first, then run again:\n\n  "+strings.Join(shown(pods, lines), "\n  "))
}
