// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package planner

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/admission"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/eviction"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/label"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/toleration"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/workload"
)

// Change is everything that one plan must reach.
type Change struct {
	Labels      []NodeLabels
	Nodes       []NodeTaints
	MachineSets MachineSets
	Workloads   []Tolerations
	Policies    []DesiredPolicy
	// Drain is nil where no node is drained.
	Drain *NodeDrain
	// Planned are changes of tolerations that other resources of the run make, and Elsewhere
	// their changes of taints: what others have left behind may go with these as well.
	Planned   map[snapshot.WorkloadKey]eviction.Planned
	Elsewhere TaintChanges
}

// Tolerations is a desired change of the tolerations of one workload, and of the
// node labels that its template requires.
type Tolerations struct {
	Workload *workload.Workload
	Claim    toleration.Claim
	Pin      label.Claim
	// RemoveImmediately gives up entries even where pods need them.
	RemoveImmediately bool
	// NoWait leaves out the wait for running pods.
	NoWait bool
	// Linked is set for a workload of another resource that is sure to come first: its pods
	// are waited for before taints come, and nothing is written.
	Linked bool
	// Retained is set for what others have left behind for the sake of taints: no more is
	// done than to take away what no taint needs any more.
	Retained bool
}

// Order gives the steps that lead from what is observed to what is desired.
// Steps that would do nothing are left out, so that an empty plan means that all
// is done. To carry a change out is to take the first step, to look again, and to
// ask again: whatever interrupts it, what is left to do is found anew.
func Order(s *snapshot.Snapshot, change Change, comparison eviction.Comparison) Plan {
	o := &order{snapshot: s, change: change, comparison: comparison, taints: map[string][]corev1.Taint{}, planned: maps.Clone(change.Planned), ahead: newAhead(), rules: s.Admission}
	if o.planned == nil {
		o.planned = map[snapshot.WorkloadKey]eviction.Planned{}
	}
	for _, t := range change.Workloads {
		o.foresee(t.template())
	}
	for _, l := range change.Labels {
		o.label(l)
	}
	o.labelMachines()
	o.admit()
	expanded := make([]template, len(change.Workloads))
	for i, t := range change.Workloads {
		expanded[i] = o.expand(t)
	}
	nodes := make([]NodePlan, len(change.Nodes))
	brings := false
	for i, n := range change.Nodes {
		nodes[i] = PlanNodes(slices.Collect(maps.Values(s.Nodes)), n)
		brings = brings || !nodes[i].EvictsNothing()
	}
	affected := change.MachineSets.Affected()
	for _, a := range affected {
		brings = brings || a.Effect.Brings()
	}
	for i, t := range change.Workloads {
		expanded[i].awaited = o.wait(t, expanded[i], brings)
	}
	for _, n := range nodes {
		o.switchTaints(n)
	}
	o.switchSets(affected)
	o.withdraw()
	contracted, all := make([]template, len(change.Workloads)), o.elsewhere()
	for i, t := range change.Workloads {
		after := o.taints
		if t.Retained {
			after = all
		}
		contracted[i] = o.contract(t, expanded[i], after)
	}
	for _, l := range change.Labels {
		o.unlabel(l, expanded, contracted)
	}
	o.unlabelMachines(expanded, contracted)
	o.drain(change.Drain)
	o.begin()
	return o.plan
}

type order struct {
	snapshot   *snapshot.Snapshot
	change     Change
	comparison eviction.Comparison
	// taints are the nodes' as the steps so far will have left them.
	taints  map[string][]corev1.Taint
	planned map[snapshot.WorkloadKey]eviction.Planned
	ahead   ahead
	// rules are what pods are given that are made after the steps so far.
	rules *admission.Rules
	plan  Plan
}

// claim and pin are what is wanted of this workload.
func (t Tolerations) claim() toleration.Claim { return t.Claim.On(t.Workload.Grouped()) }

func (t Tolerations) pin() label.Claim { return t.Pin.On(t.Workload.Grouped()) }

// Merge merges a claim into a workload's list. It retains what the pods need on the
// nodes as these are now.
func (t Tolerations) Merge(s *snapshot.Snapshot, comparison eviction.Comparison) toleration.Merged {
	return t.merge(t.Workload.Tolerations, t.Workload.Record, s, nil, comparison)
}

func (t Tolerations) merge(list []corev1.Toleration, record toleration.Record, s *snapshot.Snapshot, after map[string][]corev1.Taint, comparison eviction.Comparison) toleration.Merged {
	var live []corev1.Taint
	releases, abandons := t.Claim.Release && len(t.Claim.Imported) > 0, t.abandons()
	if !t.RemoveImmediately && !abandons && (toleration.Retiring(record) || releases || t.claim().Owns(record)) {
		live = LiveTaints(s, t.Workload, after)
	}
	// An entry with Lt or Gt may be the one that pods need, where the gate is
	// not known.
	merged := toleration.Merge(list, record, t.claim(), live, comparison != eviction.ComparisonOff)
	if abandons {
		merged.Tolerations, merged.Template, merged.Removed = list, false, nil
	}
	return merged
}

// abandons reports whether entries are no longer wanted but cannot be removed, because the
// template is immutable: they are given up, and deleted with the object.
func (t Tolerations) abandons() bool {
	return t.Workload.Rolling.Immutable && (t.Claim.Release || len(t.Claim.Tolerations) == 0)
}

// LiveTaints returns the taints that the pods of a workload live with: those of
// the nodes on which they run, as these are or as they will be. While a pod is
// missing or waits for a node, every node that their node selector allows counts:
// it may be the one that the pod comes from and goes back to. So it is between the
// runs of what makes pods from time to time. So does every node
// where it is not known which pods are meant, as for a custom resource whose
// operator does not say.
func LiveTaints(s *snapshot.Snapshot, w *workload.Workload, after map[string][]corev1.Taint) []corev1.Taint {
	pods := s.WorkloadPods(w.Pods...)
	moving := len(w.Pods) == 0 || missing(s, w) > 0 || w.Rolling.Later
	nodes := map[string]bool{}
	for _, pod := range pods {
		nodes[pod.Node] = true
		moving = moving || pod.Node == ""
	}
	if moving {
		for name, node := range s.Nodes {
			nodes[name] = nodes[name] || allows(w, pods, node)
		}
	}
	var out []corev1.Taint
	for name, counts := range nodes {
		node, known := s.Nodes[name]
		if !counts || !known {
			continue
		}
		taints, changed := after[name]
		if !changed {
			taints = node.Taints
		}
		out = append(out, taints...)
	}
	return out
}

// missing returns how many of its desired pods a workload lacks.
func missing(s *snapshot.Snapshot, w *workload.Workload) int {
	if len(w.Pods) == 0 {
		return 0
	}
	return max(0, int(w.Wants)-len(s.WorkloadPods(w.Pods...)))
}

// allows reports whether the node selector of any of these pods of a workload matches
// a node; without pods, that of its template decides.
func allows(w *workload.Workload, pods []*snapshot.Pod, n *snapshot.Node) bool {
	if len(pods) == 0 {
		return labels.SelectorFromSet(w.NodeSelector).Matches(labels.Set(n.Labels))
	}
	return slices.ContainsFunc(pods, func(p *snapshot.Pod) bool {
		return labels.SelectorFromSet(p.Scheduling.NodeSelector).Matches(labels.Set(n.Labels))
	})
}

// MergePins merges the labels that the template must require into its node selector.
func (t Tolerations) MergePins() label.Merged {
	return label.Merge(t.Workload.NodeSelector, t.Workload.LabelRecord, t.pin())
}

// Lacking returns the running pods of a workload without the wanted tolerations and labels.
func Lacking(s *snapshot.Snapshot, w *workload.Workload, wanted []corev1.Toleration, pins map[string]string) []*snapshot.Pod {
	return slices.DeleteFunc(s.WorkloadPods(w.Pods...), func(p *snapshot.Pod) bool { return Carries(p, wanted, pins) })
}

// Carries reports whether a pod requires all of these labels and has all of these
// tolerations, or others that cover them: admission may drop a toleration that another
// one makes superfluous.
func Carries(p *snapshot.Pod, wanted []corev1.Toleration, pins map[string]string) bool {
	for key, value := range pins {
		if now, there := p.Scheduling.NodeSelector[key]; !there || now != value {
			return false
		}
	}
	return Holds(p.Scheduling.Tolerations, wanted)
}

// Holds reports whether a list has all of these tolerations, or others that cover
// them.
func Holds(list, wanted []corev1.Toleration) bool {
	return !slices.ContainsFunc(wanted, func(t corev1.Toleration) bool { return !toleration.CoveredBy(list, t) })
}

// Requiring returns the running pods of a workload that require one of these labels
// while its template does not.
func Requiring(s *snapshot.Snapshot, w *workload.Workload, template map[string]string, labels map[string][]string) []*snapshot.Pod {
	return slices.DeleteFunc(s.WorkloadPods(w.Pods...), func(p *snapshot.Pod) bool {
		for key, values := range labels {
			value, there := p.Scheduling.NodeSelector[key]
			if now, still := template[key]; there && slices.Contains(values, value) && (!still || now != value) {
				return false
			}
		}
		return true
	})
}

// requires reports whether a template requires one of these labels.
func requires(template map[string]string, labels map[string][]string) bool {
	for key, values := range labels {
		if value, there := template[key]; there && slices.Contains(values, value) {
			return true
		}
	}
	return false
}

// template is what a workload's template has of what is managed, as the steps so
// far will have left it.
type template struct {
	workload    *workload.Workload
	tolerations []corev1.Toleration
	record      toleration.Record
	pins        map[string]string
	pinRecord   label.Record
	merged      toleration.Merged
	pinned      label.Merged
	// written is set where a step writes the template, awaited where one waits
	// until the running pods have it.
	written, awaited bool
}

// template is how the workload stands now.
func (t Tolerations) template() template {
	w := t.Workload
	return template{workload: w, tolerations: w.Tolerations, record: w.Record, pins: w.NodeSelector, pinRecord: w.LabelRecord}
}

// with is the template after a step.
func (t template) with(merged toleration.Merged, pins label.Merged) template {
	return template{
		workload: t.workload, tolerations: merged.Tolerations, record: merged.Record, pins: pins.Labels, pinRecord: pins.Record,
		merged: merged, pinned: pins, written: merged.Template || len(pins.Changes) > 0,
	}
}

// expand adds what is missing, and takes away in the same write what is not
// needed even now: pods restart once for both. What retires and is wanted again is
// marked before a change relies on it: others take away what retires.
func (o *order) expand(t Tolerations) template {
	if t.Linked || t.Retained {
		return t.template()
	}
	merged, pins := t.merge(t.Workload.Tolerations, t.Workload.Record, o.snapshot, nil, o.comparison), t.MergePins()
	for _, c := range merged.Conflicts {
		o.plan.Conflicts = append(o.plan.Conflicts, WorkloadConflict{Workload: t.Workload, Conflict: c})
	}
	for _, c := range pins.Conflicts {
		o.plan.Conflicts = append(o.plan.Conflicts, WorkloadConflict{Workload: t.Workload, Pin: &c})
	}
	adds := merged.Changed && (len(merged.Missing) > 0 || revives(t.Workload.Record, merged.Record))
	if !adds && (!pins.Lacking() || !pins.Changed) {
		return t.template()
	}
	// The pods that it evicts are not left to restart.
	report := o.repin(t.Workload, pins)
	o.plan.Steps = append(o.plan.Steps, Step{
		Kind: Expand, Workload: t.Workload, Merged: merged, Pins: pins, Pods: o.restarting(t.Workload, merged, pins), Report: report,
	})
	if !t.Workload.Rolling.Later {
		o.plans(t.Workload, eviction.Planned{Before: t.Workload.Tolerations, After: merged.Tolerations, Sure: !t.NoWait, Restarts: restarts(t.Workload, merged, pins), Labels: pins.Changes, Keeps: t.Workload.Rolling.Keeps})
	}
	out := t.template().with(merged, pins)
	o.foresee(out)
	return out
}

// revives reports whether an entry that retires in one record no longer does in the next one.
func revives(before, after toleration.Record) bool {
	return slices.ContainsFunc(before, func(old toleration.Mark) bool {
		return old.Retiring && slices.ContainsFunc(after, func(m toleration.Mark) bool {
			return !m.Retiring && m.ID() == old.ID() && m.Path == old.Path
		})
	})
}

// plans notes what the pods of a workload will carry when taints are switched,
// beside what other resources plan for it.
func (o *order) plans(w *workload.Workload, planned eviction.Planned) {
	for _, key := range w.Pods {
		if known, there := o.planned[key]; there {
			o.planned[key] = both(known, planned)
		} else {
			o.planned[key] = planned
		}
	}
}

// restarts reports whether a write changes the template, so that running pods are replaced.
func restarts(w *workload.Workload, merged toleration.Merged, pins label.Merged) bool {
	return (merged.Template || len(pins.Changes) > 0) && !w.Rolling.Later
}

// restarting returns the pods that a write of the template replaces.
func (o *order) restarting(w *workload.Workload, merged toleration.Merged, pins label.Merged) []*snapshot.Pod {
	if !restarts(w, merged, pins) {
		return nil
	}
	return o.staying(slices.DeleteFunc(o.snapshot.WorkloadPods(w.Pods...), func(p *snapshot.Pod) bool { return w.Rolling.Keeps(p.Name) }))
}

// wait adds a step that waits for the running pods, unless only new pods get the
// tolerations. Where a switch adds taints, it waits for missing pods as well. It also
// waits while a deleted pod could be recreated from an older template, as happens
// where the controller does not create it from the newest one.
func (o *order) wait(t Tolerations, expanded template, brings bool) bool {
	if !t.Awaited(brings) {
		return false
	}
	lacking := o.staying(Lacking(o.snapshot, t.Workload, t.Claim.Tolerations, t.Pin.Labels))
	absent := missing(o.snapshot, t.Workload)
	if t.Workload.MissingFollow {
		absent = 0
	}
	returning := brings && len(t.Claim.Tolerations) > 0 && (!t.Workload.Observed || t.Workload.Relapses || absent > 0)
	if len(lacking) == 0 && !expanded.written && !returning {
		return false
	}
	o.plan.Steps = append(o.plan.Steps, Step{Kind: Wait, Workload: t.Workload, Merged: expanded.merged, Pins: expanded.pinned, Pods: lacking, Missing: absent})
	if !expanded.written {
		// The wait makes it sure, whatever has written the template.
		o.plans(t.Workload, eviction.Planned{Before: t.Claim.Tolerations, After: t.Claim.Tolerations, Sure: true})
	}
	return true
}

// contract removes the tolerations that no taint will need any more, and retains those
// that one still needs. It also removes labels that the template must no longer require.
func (o *order) contract(t Tolerations, expanded template, after map[string][]corev1.Taint) template {
	if t.Linked {
		return expanded
	}
	merged := t.merge(expanded.tolerations, expanded.record, o.snapshot, after, o.comparison)
	pins := label.Merge(expanded.pins, expanded.pinRecord, t.pin())
	if t.abandons() {
		pins.Labels, pins.Changes = expanded.pins, nil
	}
	if !merged.Changed && !pins.Changed || len(merged.Missing) > 0 || pins.Lacking() {
		return expanded
	}
	o.plan.Steps = append(o.plan.Steps, Step{
		Kind: Contract, Workload: t.Workload, Merged: merged, Pins: pins, Pods: o.restarting(t.Workload, merged, pins), Retained: t.Retained,
	})
	out := expanded.with(merged, pins)
	o.foresee(out)
	return out
}
