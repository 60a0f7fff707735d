// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package placement

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
)

// try tries the orders. One that reaches the limit counts only if it is the first.
func (s *simulation) try(orders int, seed uint64) *Outcome {
	f, out, victims := s.Finder, &Outcome{Wanted: orders}, map[*snapshot.Pod]int{}
	for out.Orders < orders && (out.Orders == 0 || !s.spent()) {
		s.run(seed, out.Orders)
		s.without(seed, out.Orders)
		if s.cut && out.Orders > 0 {
			break
		}
		s.collect(out, victims)
		out.Orders++
		out.Cut = s.cut
	}
	s.prove()
	out.Gone, out.UnreadJobs = make(map[*snapshot.Pod]bool, len(s.failures.lost)), s.failures.unread
	for pod, n := range s.failures.lost {
		out.Gone[pod] = n == out.Orders
	}
	out.UnmodelledStorage = s.unmodelledStorage()
	out.UnmodelledQuotas, out.UnknownQuotas = slices.Sorted(maps.Keys(s.quotas.unmodelled)), f.snapshot.Quotas == nil
	out.UnmodelledRanges, out.UnknownRanges = slices.Sorted(maps.Keys(s.unmodelledRanges)), f.snapshot.LimitRanges == nil
	out.UnknownClasses, out.Certain = s.unknownClasses, s.proved
	if out.Others.Replacements = s.elsewhere(); out.Others.Replacements == 0 {
		out.Others = Others{}
	}
	out.groups = make(map[*snapshot.Pod]*Group, s.fixed)
	for _, r := range s.replacements[:s.fixed] {
		out.UnknownVolumeLimits = out.UnknownVolumeLimits || r.class.attached != nil && f.snapshot.Attachments.Unread()
		if r.group != nil {
			out.groups[r.pod] = r.group
			r.group.judge()
		}
	}
	s.workloadsOf(out)
	for pod, n := range victims {
		out.Victims = append(out.Victims, Victim{pod, f.snapshot.Owner(pod), n, out.Orders})
	}
	slices.SortFunc(out.Victims, func(a, b Victim) int { return a.Pod.Compare(b.Pod) })
	out.Unread = slices.SortedFunc(maps.Keys(s.unread), (*snapshot.Pod).Compare)
	return out
}

// workloadsOf gives an outcome those with evicted or preempted pods.
func (s *simulation) workloadsOf(out *Outcome) {
	for _, w := range s.workloads {
		if w.seen {
			out.Workloads = append(out.Workloads, w.WorkloadOutcome)
			out.addReturns(w.Returns)
		}
	}
	slices.SortFunc(out.Workloads, func(a, b WorkloadOutcome) int { return a.Compare(b.WorkloadKey) })
}

// run tries one order. The first one takes pods as they are given, those that wait before all
// others; every other shuffles them, and half of these the pods that wait among them.
func (s *simulation) run(seed uint64, order int) {
	s.chance = newChance(seed, order)
	if s.stages.comes != nil {
		s.planStages(order)
	}
	s.reset()
	s.used.reset(order%2 == 1, order%4 == 1, order%3 == 1)
	s.hold(order)
	s.unreplaced = order%3 == 1 || order%6 == 3
	for _, r := range s.replacements {
		r.absent = r.perhaps && s.unreplaced || order%5 == 2 && r.doubtful() || r.successor && s.evicted[r.pod] == kept || order%2 == 0 && r.foreign()
	}
	s.rank(order)
	s.scoresStorage, s.claimsLate = order%4 >= 2, order%4 != 0
	s.running, s.anyNode, s.parallel, s.prompt = true, order%5 == 4, order%3 == 1, order%2 == 1
	s.recovers, s.lags = order%2 == 0, order%3 != 2
	s.nominates, s.nominees = order%4 != 3 && s.rules.relate(), s.nominees[:0]
	s.takesTurns = (order+3)/6%2 == 1
	s.stagger(seed, order)
	s.delay(order)
	s.decide(order)
	s.returnStorage()
	s.keepNominations()
	if order%3 == 2 && s.rules.honorsTaints {
		s.placeBeforeEvictions()
	}
	s.linger(order)
	s.runMoments()
	s.running = false
}

// runMoments places pods at all moments that are ahead.
func (s *simulation) runMoments() {
	for len(s.ahead) > 0 {
		moment := s.ahead[0]
		s.ahead = s.ahead[1:]
		s.advance(moment)
		s.pass()
		s.catchUp()
		s.letIn()
		s.takeTurns()
		if s.lingers {
			s.terminated(allLingering)
			s.retry()
			s.pass()
		}
	}
}

// retry queues the pods again that were created and found no node, and creates those that a quota has refused if it has room
// by now.
func (s *simulation) retry() {
	for _, r := range s.replacements {
		if r.after <= s.moment && r.node < 0 && !r.deleted && (r.created || r.set == nil || r.byQuota()) {
			s.create(r)
		}
	}
}

// madeRoom reports whether pods were preempted since it was last asked, while a pod that preempts none is Pending, or one
// that a quota has refused, or whether Jobs have failed, which may give back quota, or victims have terminated.
func (s *simulation) madeRoom() bool {
	made, more := s.vacated, s.returned || s.roomier
	s.vacated, s.returned, s.roomier = false, false, false
	return more || made && slices.ContainsFunc(s.replacements, func(r *replacement) bool {
		return r.byQuota() || r.created && r.node < 0 && !r.deleted && (r.class.demand.Patient || r.foreign())
	})
}

// reset takes back what the order before did.
func (s *simulation) reset() {
	for i := range s.touched {
		s.now[s.touched[i].node] = s.touched[i].base
	}
	s.touched, s.preempted, s.freed, s.moved, s.next, s.moment = s.touched[:0], nil, 1, 1, 0, 0
	s.deleted = nil
	s.vacated, s.returned, s.roomier = false, false, false
	s.stages.n++
	s.unclaimed = s.unclaimed[:0]
	clear(s.isPreempted)
	clear(s.failures.preempted)
	clear(s.failures.over)
	s.lingering = s.lingering[:0]
	s.dropVictims()
	for _, r := range s.replacements {
		r.node, r.moves, r.nominee, r.nominations, r.yielded, r.created, r.since, r.delayed, r.deleted, r.refused, r.binding, r.ended, r.claimed = -1, 0, false, 0, false, false, 0, false, false, nil, nil, false, false
		r.evicted, r.after = r.planned, r.planned
	}
	s.tooLarge.freed = 0
	for _, c := range s.classes {
		c.failed, c.hopeless = failure{}, failure{}
	}
	s.rules.reset()
	s.spreads.reset()
	s.quotas.reset()
	s.budgets.preempted, s.budgets.recovered, s.budgets.early = nil, nil, nil
	s.shuffleNodes()
}

// together is how many nodes with neighbouring names are looked at one after the other. What a simulation knows of
// nodes is kept in the order of their names: to jump to another one for each answer would be two fifths of its time.
const together = 16

// shuffleNodes has chance decide where nodes are looked for, so that a search which ends early ends elsewhere in
// another order.
func (s *simulation) shuffleNodes() {
	s.order = s.order[:0]
	for _, at := range s.chance.source(ofStarts, 0).Perm((len(s.places) + together - 1) / together) {
		for i := at * together; i < min((at+1)*together, len(s.places)); i++ {
			s.order = append(s.order, int32(i)) //nolint:gosec // A cluster has no two thousand million nodes.
		}
	}
}

// rank gives every pod its place in the queue.
func (s *simulation) rank(order int) {
	ranked := slices.Clone(s.replacements)
	before := func(r *replacement) int64 {
		if r.waiting {
			return r.pod.Since
		}
		return math.MaxInt64
	}
	byCreation := func(a, b *replacement) int { return cmp.Compare(before(a), before(b)) }
	if order > 0 {
		s.chance.shuffle(ranked)
	}
	if order%2 == 0 {
		slices.SortStableFunc(ranked, byCreation)
	}
	for i, r := range ranked {
		r.rank = i
	}
	s.ranked = ranked
}

// advance makes the room free of pods that are gone at a moment, and queues what is created.
func (s *simulation) advance(moment int64) {
	s.moment = moment
	s.used.provide()
	s.enter()
	if moment > 0 {
		s.eachLeaving(moment, s.vacate)
	}
	s.holdTurns()
	s.wave = 0
	s.createDue(func(*replacement) bool { return true })
}

// createDue creates the pods of the next moments that have come.
func (s *simulation) createDue(which func(*replacement) bool) {
	for _, list := range [][]*replacement{s.ranked, s.replacements[s.fixed:]} {
		for _, r := range list {
			if r.after <= s.moment && r.node < 0 && !r.deleted && which(r) {
				s.create(r)
			}
		}
	}
}
