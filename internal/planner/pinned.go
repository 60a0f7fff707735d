// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package planner

import (
	"slices"
	"sync"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/eviction"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/placement"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/workload"
)

// RolledWorkload is a workload whose rollout a step begins, and what becomes of that rollout.
type RolledWorkload struct {
	Workload *workload.Workload
	// Pods is how many new pods the rollout creates.
	Pods int
	eviction.Rolled
}

// Rollouts is what rollouts do that begin together.
type Rollouts struct {
	// Report is what becomes of other pods, and how many of the new ones find no node. Preempt is set where new ones may
	// preempt others.
	Report  *eviction.Report
	Preempt bool
	// Further is how many workloads roll out beside the one of the first step.
	Further int
	of      func() rolled
}

// rolled is what rollouts come to: by workload, how many new pods of all find no node, and what becomes of other pods.
type rolled struct {
	workloads []RolledWorkload
	missing   placement.Range
	outcome   *placement.Outcome
}

// Pins returns what the rollouts come to that steps of a plan begin with new labels to require, by workload, and how many
// of their new pods no node takes. The nodes have the labels that the steps before give them, and their taints are those of
// now: taints are written once the rollouts have ended.
func (p Plan) Pins() ([]RolledWorkload, placement.Range) {
	for _, step := range p.Steps {
		if step.Rollouts != nil && step.pins() {
			out := step.Rollouts.of()
			return out.workloads, out.missing
		}
	}
	return nil, placement.Range{}
}

// Restarts returns what becomes of the rollouts that add tolerations and no labels to require, or else of those that take
// some away.
func Restarts(s *snapshot.Snapshot, steps []Step, comparison eviction.Comparison) ([]RolledWorkload, placement.Range) {
	out := rolled{}
	if at := slices.IndexFunc(steps, func(step Step) bool { return step.Rollouts != nil && step.restarts() }); at >= 0 {
		out = steps[at].Rollouts.of()
	} else {
		out = rolls(s, steps, comparison, Step.restarts)
	}
	if len(out.workloads) == 0 {
		out = rollsAfter(s, steps, comparison, Step.contracts)
	}
	return out.workloads, out.missing
}

// begin notes what the rollouts do that add labels to require or tolerations. It is worked out when it is first asked for.
// Nodes that are named and do not exist yet may have room for anything.
func (o *order) begin() {
	absent := func(name string) bool { return o.snapshot.Nodes[name] == nil }
	for _, n := range o.change.Nodes {
		if slices.ContainsFunc(n.Target.Named(), absent) {
			return
		}
	}
	o.beginThose(Step.pins)
	o.beginThose(Step.restarts)
}

func (o *order) beginThose(which func(Step) bool) {
	steps := o.plan.Steps
	first := slices.IndexFunc(steps, which)
	if first < 0 {
		return
	}
	var pods []*snapshot.Pod
	workloads := 0
	for _, step := range steps[first:] {
		if which(step) {
			pods = append(pods, step.Pods...)
			workloads++
		}
	}
	of := sync.OnceValue(func() rolled { return rolls(o.snapshot, steps, o.comparison, which) })
	steps[first].Rollouts = &Rollouts{
		Report: eviction.ReportOf(func() *placement.Outcome { return of().outcome }), Preempt: eviction.MayPreempt(o.snapshot, pods), Further: workloads - 1, of: of,
	}
}

// rollsAfter returns what rollouts come to that begin once the steps have changed taints. It returns nothing where a step evicts
// pods or pins them: by then, pods run elsewhere.
func rollsAfter(s *snapshot.Snapshot, steps []Step, comparison eviction.Comparison, which func(Step) bool) rolled {
	if slices.ContainsFunc(steps, func(step Step) bool { return step.pins() || step.Moves() }) {
		return rolled{outcome: &placement.Outcome{}}
	}
	after := map[string]*snapshot.Node{}
	for _, step := range steps {
		for name, taints := range step.Taints() {
			if n := s.Nodes[name]; n != nil {
				next := *n
				next.Taints = taints
				after[name] = &next
			}
		}
	}
	return rolls(s.With(after, nil), steps, comparison, which)
}

// rolls returns what the rollouts of some steps come to.
func rolls(s *snapshot.Snapshot, steps []Step, comparison eviction.Comparison, which func(Step) bool) rolled {
	labelled := map[string]*snapshot.Node{}
	out := rolled{outcome: &placement.Outcome{}}
	var rollouts []eviction.Rollout
	var of []int
	for _, step := range steps {
		for _, l := range step.Labels.Switches {
			if n := s.Nodes[l.Node.Name]; n != nil && step.Kind == Label {
				next := *n
				next.Labels = l.Merged.Labels
				labelled[n.Name] = &next
			}
		}
		if !which(step) {
			continue
		}
		p := RolledWorkload{Workload: step.Workload}
		for _, one := range step.rollouts(s) {
			rollouts, of = append(rollouts, one), append(of, len(out.workloads))
			p.Pods += one.Size()
		}
		out.workloads = append(out.workloads, p)
	}
	if len(rollouts) == 0 {
		return rolled{outcome: out.outcome}
	}
	var all []eviction.Rolled
	all, out.missing, out.outcome = eviction.Roll(s.With(labelled, nil), rollouts, comparison)
	for i, one := range all {
		p := &out.workloads[of[i]]
		p.Away = append(p.Away, one.Away...)
		p.Missing.Min, p.Missing.Max = p.Missing.Min+one.Missing.Min, p.Missing.Max+one.Missing.Max
		if p.Reason == "" {
			p.Reason = one.Reason
		}
	}
	return out
}

// restarts reports whether the step has running pods replaced by others with more tolerations alone, contracts whether by
// others with fewer.
func (s Step) restarts() bool { return s.Kind == Expand && !s.pins() && s.replaces() }

func (s Step) contracts() bool { return s.Kind == Contract && s.replaces() }

// pins reports whether the step has running pods replaced by others that require more labels.
func (s Step) pins() bool {
	return s.Kind == Expand && s.Pins.Lacking() && s.replaces()
}

// replaces reports whether the step has running pods replaced by others that may come to other nodes. Pods of a DaemonSet are
// replaced on their nodes, or not at all.
func (s Step) replaces() bool {
	return len(s.Pods) > 0 && !slices.ContainsFunc(s.Workload.Pods, func(key snapshot.WorkloadKey) bool { return key.DaemonSet() })
}

// rollouts are those that the step begins, one for each workload of pods.
func (s Step) rollouts(seen *snapshot.Snapshot) []eviction.Rollout {
	one := eviction.Rollout{
		Planned: eviction.Planned{Before: s.Workload.Tolerations, After: s.Merged.Tolerations, Sure: true, Labels: s.Pins.Changes}, Unavailable: -1,
	}
	if pace := s.Workload.Rolling.Pace; pace != nil {
		one.Surge, one.Unavailable = pace.Surge, pace.Unavailable
	}
	at := map[snapshot.WorkloadKey]int{}
	var out []eviction.Rollout
	for _, pod := range s.Pods {
		key := snapshot.WorkloadKey{Namespace: pod.Namespace, Owner: seen.Owner(pod)}
		if _, known := at[key]; !known {
			one.Wants, one.Ordered = wantsOf(s.Workload, key), slices.Contains(s.Workload.Ordered, key)
			at[key], out = len(out), append(out, one)
		}
		out[at[key]].Pods = append(out[at[key]].Pods, pod)
	}
	return out
}

// wantsOf is how many pods a workload is to have of the pods of a key, 0 where that is not known.
func wantsOf(w *workload.Workload, key snapshot.WorkloadKey) int {
	if len(w.Pods) == 1 {
		return int(w.Wants)
	}
	for _, operand := range w.Operands {
		if slices.Contains(operand.Pods, key) {
			return wantsOf(operand, key)
		}
	}
	return 0
}

// Recreates reports whether pods are recreated: evicted ones, those of rollouts of machines that go on included, or those
// of templates that are written.
func (p Plan) Recreates() bool {
	return slices.ContainsFunc(p.Steps, func(s Step) bool {
		return s.Report.Recreates() || s.begins().Recreates() || s.Workload != nil && s.Kind != Wait && s.Template()
	})
}

// Places reports whether verdicts depend on what new pods request.
func (p Plan) Places() bool {
	return slices.ContainsFunc(p.Steps, func(s Step) bool { return s.Report.Places() || s.begins().Places() })
}

// Bound returns the pods with claims whose replacements come to require more labels.
func (p Plan) Bound() []*snapshot.Pod {
	var out []*snapshot.Pod
	for _, step := range p.Steps {
		for _, pod := range step.Pods {
			if step.pins() && (len(pod.Claims) > 0 || pod.Ephemeral) {
				out = append(out, pod)
			}
		}
	}
	return out
}
