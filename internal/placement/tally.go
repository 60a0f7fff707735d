// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package placement

import (
	"cmp"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/toleration"
)

// tally is the result of a workload, and its counts in the order that is being tried.
type tally struct {
	WorkloadOutcome
	// seen is set once it has an evicted or preempted pod in any order.
	seen                                                     bool
	placed, pending, notCreated, missing, delayed, preempted int
	// deleted counts the pods that a Job deletes which fails by preemption.
	deleted int
	// refused counts those that admission refuses.
	refused int
	// again counts the placed ones that their node evicts again.
	again int
	// lost counts the pods that nothing recreates because of preemption.
	lost int
	// waiting counts the pods that were Pending before and still are, and those that are created instead of
	// ones that are terminating and are Pending.
	waiting int
	// arriving are those of the missing ones that found a node once others had come, moved those that were evicted with one more
	// node.
	arriving, moved int
	// stuck is a replacement that stays Pending in this order.
	stuck *replacement
}

// collect adds what the order that has been tried came to.
func (s *simulation) collect(out *Outcome, victims map[*snapshot.Pod]int) {
	first := out.Orders == 0
	for _, w := range s.workloads {
		w.placed, w.pending, w.notCreated, w.missing, w.delayed, w.preempted, w.deleted, w.waiting, w.stuck, w.refused, w.again, w.lost, w.arriving, w.moved = 0, 0, 0, 0, 0, 0, 0, 0, nil, 0, 0, 0, 0, 0
	}
	for _, g := range s.groups {
		g.placed, g.again, g.lost, g.arriving, g.brought = 0, 0, 0, 0, 0
	}
	others := 0
	for _, r := range s.replacements {
		if !r.elsewhere {
			s.count(r)
		} else if r.missing() && !r.awaited {
			others++
		}
	}
	for _, g := range s.groups {
		g.all.add(g.placed, first)
		g.allAgain.add(g.again, first)
		g.allLost.add(g.lost, first)
		g.Arriving.add(g.arriving, first)
		g.Staying.add(g.size-g.placed-g.arriving, first)
		g.Brought.add(g.brought, first)
	}
	for _, pod := range s.preempted {
		w := s.workloads[s.workload(pod)]
		w.seen = true
		w.preempted++
		victims[pod]++
		if s.loses(pod) {
			w.lost++
			s.failures.lost[pod]++
		}
	}
	for _, pod := range s.deleted {
		w := s.workloads[s.workload(pod)]
		w.seen, w.JobFails = true, true
		w.deleted++
		w.lost++
		victims[pod]++
		s.failures.lost[pod]++
	}
	var placed, pending, notCreated, missing, refused, again, lost, arriving int
	for _, w := range s.workloads {
		w.Placed.add(w.placed, first)
		w.Pending.add(w.pending, first)
		w.NotCreated.add(w.notCreated, first)
		w.Missing.add(w.missing, first)
		w.Refused.add(w.refused, first)
		w.Unplaced.add(w.missing-w.refused, first)
		w.AllMissing.add(w.missing+w.waiting, first)
		w.Delayed.add(w.delayed, first)
		w.Preempted.add(w.preempted, first)
		w.Deleted.add(w.deleted, first)
		w.Again.add(w.again, first)
		w.Lost.add(w.lost, first)
		w.Arriving.add(w.arriving, first)
		w.Staying.add(w.missing-w.arriving, first)
		w.Moved.add(w.moved, first)
		again, lost, arriving = again+w.again, lost+w.lost, arriving+w.arriving
		placed, pending, notCreated, missing, refused = placed+w.placed, pending+w.pending, notCreated+w.notCreated, missing+w.missing, refused+w.refused
		if w.stuck != nil && w.Reason == "" {
			why := s.stuck(w.stuck)
			w.Reason, w.Brief, w.Awaits = why.reason, why.brief, why.awaits
		}
	}
	out.Placed.add(placed, first)
	out.Pending.add(pending, first)
	out.NotCreated.add(notCreated, first)
	out.Missing.add(missing, first)
	out.Refused.add(refused, first)
	out.Unplaced.add(missing-refused, first)
	out.Preempted.add(len(s.preempted), first)
	out.Deleted.add(len(s.deleted), first)
	out.Again.add(again, first)
	out.Lost.add(lost, first)
	out.Arriving.add(arriving, first)
	out.Staying.add(missing-arriving, first)
	out.Others.Missing.add(others, first)
	out.Others.All.add(missing-arriving+others, first)
}

// missing reports whether it is Pending, or is not created and might be later.
func (r *replacement) missing() bool {
	return r.after != kept && !r.absent && !r.ended && r.node < 0
}

// elsewhere counts the replacements of pods that other changes of the run evict.
func (s *simulation) elsewhere() int {
	n := 0
	for _, r := range s.replacements[:s.fixed] {
		if r.elsewhere {
			n++
		}
	}
	return n
}

// count counts a replacement, or a pod that was Pending before, by what this order came to.
func (s *simulation) count(r *replacement) {
	w := s.workloads[r.workload]
	if s.anyway(r) {
		if r.node < 0 && !r.deleted && (r.waiting || r.created) {
			w.waiting++
		}
		return
	}
	if r.after == kept {
		if r.group != nil {
			r.group.placed++
		}
		return
	}
	w.seen = true
	switch {
	case r.ended:
		s.countEnded(r, w)
	case r.perhaps && r.absent:
		w.countAbsent(r)
	default:
		s.countCreated(r, w)
	}
}

// countCreated counts a replacement that its controller creates, or is to create.
func (s *simulation) countCreated(r *replacement, w *tally) {
	r.denied = r.refusal()
	if r.fits = r.node >= 0; r.perhaps && r.group == nil {
		s.unfit[r.pod], s.awaiting[r.pod], s.denials[r.pod] = !r.fits, r.arrived, r.denied
	}
	if r.moves > 0 {
		w.moved++
	}
	if r.group != nil && r.node >= 0 && r.brought {
		r.group.brought++
	}
	switch {
	case r.node >= 0 && r.arrived:
		s.countArrived(r, w)
	case r.node >= 0:
		s.countPlaced(r, w)
	case r.denied != nil:
		w.refuse(r, r.denied)
	case r.notCreated():
		w.notCreated++
		w.missing++
		s.behind(r, w)
	default:
		w.pending++
		w.missing++
		w.stuck = r
		s.explain(r)
	}
}

// explain notes why a replacement is Pending.
func (s *simulation) explain(r *replacement) {
	if r.group != nil {
		why := s.stuck(r)
		r.group.Reason, r.group.Awaits = why.reason, why.awaits
	}
}

// countArrived counts a replacement that was Pending, or was not created, until nodes had come.
func (s *simulation) countArrived(r *replacement, w *tally) {
	w.missing++
	w.arriving++
	if r.group != nil {
		r.group.arriving++
	}
	s.countAgain(r, w)
	if r.set != nil && r.since > r.after {
		w.notCreated++
		s.behind(r, w)
		return
	}
	w.pending++
	if w.stuck == nil {
		w.stuck = r
	}
	s.explain(r)
}

// countAbsent counts a replacement that its controller does not create in this order: as in the last one in which it
// does. Whether it is created is not told by these counts, and where no node takes it, it is missing in any case. Which
// evicted pods may be lost, verdicts report, and which victims may be, this count alone.
func (w *tally) countAbsent(r *replacement) {
	if r.group == nil {
		w.lost++
	}
	if refusal := cmp.Or(r.class.forbidden, r.denied); !r.fits && refusal != nil {
		w.refuse(r, refusal)
		return
	}
	if r.group != nil && r.fits && r.brought {
		r.group.brought++
	}
	if !r.fits || r.arrived {
		w.pending++
		w.missing++
		if r.fits {
			w.arriving++
			if r.group != nil {
				r.group.arriving++
			}
		}
		return
	}
	w.placed++
	if r.group != nil {
		r.group.placed++
	}
}

// countPlaced counts a replacement that a node takes.
func (s *simulation) countPlaced(r *replacement, w *tally) {
	w.placed++
	if r.delayed {
		w.delayed++
	}
	if r.group != nil {
		r.group.placed++
	}
	s.countAgain(r, w)
}

// countAgain counts a replacement whose node evicts it again.
func (s *simulation) countAgain(r *replacement, w *tally) {
	node := s.places[r.node]
	if !s.empties(node, r.class) {
		return
	}
	w.again++
	is := Returns{OnDrained: node.drained, Tolerating: r.class.named == nil, Named: r.class.named != nil}
	w.addReturns(is)
	if r.group != nil {
		r.group.again++
		r.group.addReturns(is)
	}
}

// empties reports whether a node that takes pods is to have none of them. It evicts them after some seconds: the scheduler does not
// look at these (k8s.io/kubernetes v1.37.2 pkg/scheduler/framework/plugins/tainttoleration/taint_toleration.go,
// Filter), and the taint-eviction controller does (pkg/controller/tainteviction/taint_eviction.go, processPodOnNode). Or it is
// drained, and they tolerate its cordon: a drain evicts the pods that it finds, once. Where the template names the node, they need to tolerate nothing.
func (f *Finder) empties(p *place, c *class) bool {
	if p.drained {
		return true
	}
	for i := range p.after {
		if lasts := toleration.Lasts(c.scheduling.Tolerations, p.after[i], f.comparison); lasts != toleration.Forever && (lasts != toleration.Untolerated || c.named != nil && p.after[i].Effect == corev1.TaintEffectNoExecute) {
			return true
		}
	}
	return false
}
