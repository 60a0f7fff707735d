// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package planner

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/eviction"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/toleration"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/workload"
)

// StepKind is what a step does.
type StepKind string

// The kinds of steps, in the only order in which nobody is evicted by accident:
// tolerations first, then the pods that have to carry them, then the taints, and
// at last the tolerations that no live taint needs any more.
const (
	Expand   StepKind = "expand"
	Wait     StepKind = "wait"
	Switched StepKind = "switch"
	Contract StepKind = "contract"
)

// Change is everything that is desired at once.
type Change struct {
	Nodes     []NodeTaints
	Workloads []Tolerations
	// Retiring are workloads beside these whose retiring entries may become
	// unneeded by the change.
	Retiring []*workload.Workload
	// Planned are changes of tolerations that other resources of the run make.
	Planned map[eviction.WorkloadKey]eviction.Planned
}

// Tolerations is a desired change of the tolerations of one workload.
type Tolerations struct {
	Workload *workload.Workload
	Claim    toleration.Claim
	// Now gives up entries whatever lives by them.
	Now bool
	// NoWait leaves out the wait for live pods.
	NoWait bool
}

// Step is one step of a change.
type Step struct {
	Kind StepKind
	// Workload and Merged say what is written to which workload.
	Workload *workload.Workload
	Merged   toleration.Merged
	// Pods are those that restart by an Expand or a Contract, or that a Wait
	// waits for.
	Pods []*eviction.Pod
	// Nodes is what a Switch writes, and Report what it does to pods. There is
	// no report where the pods are not known or nothing can leave.
	Nodes  NodePlan
	Report *eviction.Report
}

// Plan is the ordered steps of a change and what stands in their way.
type Plan struct {
	Steps []Step
	// Refusals are about nodes; Conflicts about workloads.
	Refusals  []Refusal
	Conflicts []WorkloadConflict
}

// WorkloadConflict is a wanted toleration that belongs to another resource.
type WorkloadConflict struct {
	Workload *workload.Workload
	toleration.Conflict
}

// Order gives the steps that lead from what is observed to what is desired.
// Steps that would do nothing are left out, so that an empty plan means that all
// is done. To carry a change out is to take the first step, to look again, and to
// ask again: whatever interrupts it, what is left to do is found anew.
func Order(s *eviction.Snapshot, change Change, comparison eviction.Comparison) Plan {
	o := &order{snapshot: s, change: change, comparison: comparison, taints: map[string][]corev1.Taint{}, planned: maps.Clone(change.Planned)}
	if o.planned == nil {
		o.planned = map[eviction.WorkloadKey]eviction.Planned{}
	}
	expanded := make([]toleration.Merged, len(change.Workloads))
	for i, t := range change.Workloads {
		expanded[i] = o.expand(t)
	}
	for i, t := range change.Workloads {
		o.wait(t, expanded[i])
	}
	for _, n := range change.Nodes {
		o.switchTaints(n)
	}
	for i, t := range change.Workloads {
		o.contract(t, expanded[i])
	}
	for _, w := range change.Retiring {
		o.contract(Tolerations{Workload: w, Claim: toleration.Claim{Path: w.ClaimPath()}}, toleration.Merged{Tolerations: w.Tolerations, Record: w.Record})
	}
	return o.plan
}

type order struct {
	snapshot   *eviction.Snapshot
	change     Change
	comparison eviction.Comparison
	// taints are the nodes' as the steps so far will have left them.
	taints  map[string][]corev1.Taint
	planned map[eviction.WorkloadKey]eviction.Planned
	plan    Plan
}

// Merge merges a claim into a workload's list, with what its pods live by as the
// nodes are now.
func (t Tolerations) Merge(s *eviction.Snapshot, comparison eviction.Comparison) toleration.Merged {
	return t.merge(t.Workload.Tolerations, t.Workload.Record, s, nil, comparison)
}

func (t Tolerations) merge(list []corev1.Toleration, record toleration.Record, s *eviction.Snapshot, after map[string][]corev1.Taint, comparison eviction.Comparison) toleration.Merged {
	var live []corev1.Taint
	if releases := t.Claim.Release && len(t.Claim.Imported) > 0; !t.Now && (record.Retiring() || releases || t.Claim.Owns(record)) {
		live = LiveTaints(s, t.Workload, after)
	}
	// Where the gate is not known, an entry with Lt or Gt may be the one that
	// pods live by.
	return toleration.Merge(list, record, t.Claim, live, comparison != eviction.ComparisonOff)
}

// LiveTaints returns the taints that the pods of a workload live with: those of
// the nodes on which they run, as these are or as they will be.
func LiveTaints(s *eviction.Snapshot, w *workload.Workload, after map[string][]corev1.Taint) []corev1.Taint {
	var out []corev1.Taint
	seen := map[string]bool{}
	for _, pod := range s.WorkloadPods(w.Pods...) {
		if seen[pod.Node] {
			continue
		}
		seen[pod.Node] = true
		taints, changed := after[pod.Node]
		if node, known := s.Nodes[pod.Node]; known && !changed {
			taints = node.Taints
		}
		out = append(out, taints...)
	}
	return out
}

// Lacking returns the live pods of a workload that do not carry what is wanted.
func Lacking(s *eviction.Snapshot, w *workload.Workload, wanted []corev1.Toleration) []*eviction.Pod {
	return slices.DeleteFunc(s.WorkloadPods(w.Pods...), func(p *eviction.Pod) bool { return Carries(p, wanted) })
}

// Carries says whether a pod has all of these tolerations, or others that cover
// them: admission may drop one that another makes superfluous.
func Carries(p *eviction.Pod, wanted []corev1.Toleration) bool {
	return !slices.ContainsFunc(wanted, func(t corev1.Toleration) bool { return !toleration.CoveredBy(p.Scheduling.Tolerations, t) })
}

// expand adds what is missing, and takes away in the same write what is not
// needed even now: pods restart once for both.
func (o *order) expand(t Tolerations) toleration.Merged {
	merged := t.merge(t.Workload.Tolerations, t.Workload.Record, o.snapshot, nil, o.comparison)
	for _, c := range merged.Conflicts {
		o.plan.Conflicts = append(o.plan.Conflicts, WorkloadConflict{Workload: t.Workload, Conflict: c})
	}
	if len(merged.Missing) == 0 || !merged.Changed {
		return toleration.Merged{Tolerations: t.Workload.Tolerations, Record: t.Workload.Record}
	}
	o.plan.Steps = append(o.plan.Steps, Step{
		Kind: Expand, Workload: t.Workload, Merged: merged, Pods: o.restarting(t.Workload, merged),
	})
	for _, key := range t.Workload.Pods {
		o.planned[key] = eviction.Planned{Before: t.Workload.Tolerations, After: merged.Tolerations, Sure: !t.NoWait && !t.Workload.Rolling.Later}
	}
	return merged
}

// restarting returns the pods that a write of the template replaces.
func (o *order) restarting(w *workload.Workload, merged toleration.Merged) []*eviction.Pod {
	if !merged.Template || w.Rolling.Hold != "" || w.Rolling.Later {
		return nil
	}
	return o.snapshot.WorkloadPods(w.Pods...)
}

// wait waits for the live pods, unless they follow only when they are made anew.
func (o *order) wait(t Tolerations, expanded toleration.Merged) {
	if t.NoWait || t.Claim.Release || t.Workload.Rolling.Later {
		return
	}
	if lacking := Lacking(o.snapshot, t.Workload, t.Claim.Tolerations); len(lacking) > 0 || expanded.Template {
		o.plan.Steps = append(o.plan.Steps, Step{Kind: Wait, Workload: t.Workload, Merged: expanded, Pods: lacking})
	}
}

func (o *order) switchTaints(n NodeTaints) {
	nodes := PlanNodes(o.snapshot.SortedNodes(), n)
	o.plan.Refusals = append(o.plan.Refusals, nodes.Refusals...)
	if len(nodes.Switches) == 0 {
		return
	}
	change := nodes.Change()
	maps.Copy(o.taints, change.Taints)
	change.Tolerations = o.planned
	step := Step{Kind: Switched, Nodes: nodes}
	if !nodes.Harmless() {
		step.Report = eviction.Evaluate(o.snapshot, change, o.comparison)
	}
	o.plan.Steps = append(o.plan.Steps, step)
}

// contract gives up what no live taint will need any more, and marks what one
// still needs.
func (o *order) contract(t Tolerations, expanded toleration.Merged) {
	merged := t.merge(expanded.Tolerations, expanded.Record, o.snapshot, o.taints, o.comparison)
	if !merged.Changed || len(merged.Missing) > 0 {
		return
	}
	o.plan.Steps = append(o.plan.Steps, Step{
		Kind: Contract, Workload: t.Workload, Merged: merged, Pods: o.restarting(t.Workload, merged),
	})
}
