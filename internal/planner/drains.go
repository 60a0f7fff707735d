// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package planner

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/eviction"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
)

// DrainRules decide which pods of a node a drain may evict.
type DrainRules struct {
	// IgnoreDaemonSets keeps the pods of DaemonSets on the node. Without it they stop the
	// drain, since their controller would recreate them immediately.
	IgnoreDaemonSets bool
	// DeleteLocalData lets pods go that have an emptyDir.
	DeleteLocalData bool
	// PodSelector leaves pods where they are that it does not match: they stop no drain either. Nil
	// matches all pods.
	PodSelector labels.Selector
	// DisableEviction deletes pods in place of evictions, which bypasses PodDisruptionBudgets.
	DisableEviction bool
}

// Selects reports whether a drain considers a pod at all.
func (r DrainRules) Selects(p *snapshot.Pod) bool {
	return r.PodSelector == nil || r.PodSelector.Matches(p.Labels)
}

// Removed words what becomes of pods.
func (r DrainRules) Removed() string {
	if r.DisableEviction {
		return "deleted"
	}
	return "evicted"
}

// NodeDrain is a drain of nodes, in the order of their names.
type NodeDrain struct {
	Nodes []string
	Rules DrainRules
}

// SelectsNone reports that there is a pod selector, and no pod of the nodes has its labels.
func (d NodeDrain) SelectsNone(s *snapshot.Snapshot) bool {
	return d.Rules.PodSelector != nil && !slices.ContainsFunc(d.Nodes, func(name string) bool { return slices.ContainsFunc(s.Pods[name], d.Rules.Selects) })
}

// DrainRefusal is a pod that stops a drain before it begins.
type DrainRefusal struct {
	Pod *snapshot.Pod
	// Why is half a sentence that begins with a verb; WayOut is the remedy.
	Why, WayOut string
}

// drain evicts the pods of nodes through the eviction API, or deletes them.
func (o *order) drain(d *NodeDrain) {
	if d == nil || len(d.Nodes) == 0 {
		return
	}
	drains := map[string]bool{}
	for _, name := range d.Nodes {
		drains[name] = true
		leave, refusals := Drain(o.snapshot.Pods[name], d.Rules)
		o.plan.DrainRefusals = append(o.plan.DrainRefusals, refusals...)
		if !d.Rules.DisableEviction {
			o.plan.DrainRefusals = append(o.plan.DrainRefusals, refuseGuarded(o.snapshot, leave)...)
		}
	}
	change := eviction.Scenario{Drains: drains, Selects: d.Rules.Selects, Deletes: d.Rules.DisableEviction}
	o.plan.Steps = append(o.plan.Steps, Step{Kind: Drained, Drain: d, Report: o.report(change)})
}

// DrainDeadlocks reports what keeps the drain of a plan from ending: PodDisruptionBudgets, which a
// deletion bypasses.
func (p Plan) DrainDeadlocks(s *snapshot.Snapshot) []eviction.Deadlock {
	step := p.drain()
	if step == nil || step.Drain.Rules.DisableEviction {
		return nil
	}
	return step.Report.Deadlocks(s, eviction.DrainOf{Order: step.Drain.Nodes})
}

// DrainReport returns what the drain of a plan does, nil where it has none.
func (p Plan) DrainReport() *eviction.Report {
	if step := p.drain(); step != nil {
		return step.Report
	}
	return nil
}

// drain returns the step that drains nodes, nil where there is none.
func (p Plan) drain() *Step {
	at := slices.IndexFunc(p.Steps, func(step Step) bool { return step.Kind == Drained })
	if at < 0 {
		return nil
	}
	return &p.Steps[at]
}

// refuseGuarded returns a refusal for each pod of a drain that more than one
// PodDisruptionBudget covers: the eviction API never evicts it. The API reports this only on
// request, so a drain would ask for such a pod until its timeout.
func refuseGuarded(s *snapshot.Snapshot, leave []*snapshot.Pod) []DrainRefusal {
	var out []DrainRefusal
	for _, p := range leave {
		if budgets := s.Budgets.Guarding(p); len(budgets) > 1 {
			out = append(out, DrainRefusal{
				Pod:    p,
				Why:    fmt.Sprintf("is covered by %d PodDisruptionBudgets (%s), and the eviction API evicts no pod that more than one covers", len(budgets), snapshot.BudgetNames(budgets)),
				WayOut: "delete all but one of them, or narrow their selectors (kubectl get pdb -n " + p.Namespace + " -o yaml)",
			})
		}
	}
	return out
}

// Drain returns the pods of a node that a drain evicts, in order, and those that stop it. It
// uses the filters of kubectl drain without --force (k8s.io/kubectl v0.37.2
// pkg/drain/filters.go). A pod selector comes first: kubectl lists no other pods (drain.go,
// GetPodsForDeletion). Pods that are terminating already count as evicted, since the drain
// waits for them.
func Drain(pods []*snapshot.Pod, rules DrainRules) (leave []*snapshot.Pod, refusals []DrainRefusal) {
	for _, p := range slices.SortedFunc(slices.Values(pods), (*snapshot.Pod).Compare) {
		daemon := p.Controller != nil && p.Controller.DaemonSet()
		refuse := func(why, out string) { refusals = append(refusals, DrainRefusal{Pod: p, Why: why, WayOut: out}) }
		switch {
		case !rules.Selects(p):
		case p.Mirror:
		case p.Completed, p.Terminating && !daemon:
			leave = append(leave, p)
		case daemon && rules.IgnoreDaemonSets:
		case daemon:
			refuse("is owned by a DaemonSet, which would recreate it immediately", "set ignore_daemon_sets = true to leave it there")
		case p.Controller == nil:
			refuse("has no controller that would recreate it", "delete it yourself (kubectl delete pod) if it is not needed any more")
		case p.LocalData && !rules.DeleteLocalData:
			refuse("has local data (emptyDir) that would be lost", "set delete_local_data = true to "+map[bool]string{true: "delete", false: "evict"}[rules.DisableEviction]+" it")
		default:
			leave = append(leave, p)
		}
	}
	return leave, refusals
}
