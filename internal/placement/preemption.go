// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package placement

import (
	"cmp"
	"math"
	"slices"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
)

// candidate is a node on which a pod finds room once these victims are gone.
type candidate struct {
	node int32
	// victims are sorted by falling importance.
	victims []occupant
	// violations counts those that their PodDisruptionBudgets do not allow to evict.
	violations int
}

// preempt makes room for a pod that no node takes, by evicting pods of a lower priority from one
// node, and queues what is created instead of them
// (k8s.io/kubernetes v1.37.2 pkg/scheduler/framework/preemption/preemption.go). The pod is put
// there immediately: the scheduler nominates the node and keeps the room for it.
func (s *simulation) preempt(r *replacement) (int32, bool) {
	c := r.class
	if c.demand.Patient || c.named != nil || r.foreign() || s.again(c, c.hopeless) || s.exhausted() {
		return -1, false
	}
	chance := s.chance.of(ofVictims, r.name)
	var candidates []candidate
	if s.lowestPriority() < c.demand.Priority {
		candidates = s.candidates(c, chance)
	}
	if r.awaited {
		candidates = slices.DeleteFunc(candidates, func(one candidate) bool { return s.places[one.node].coming != nil })
	}
	if len(candidates) == 0 {
		if !r.awaited {
			c.hopeless = s.failure()
		}
		return -1, false
	}
	best := s.choose(candidates, chance)
	// A StatefulSet creates the first of its pods first, whichever of them the scheduler has deleted before.
	slices.SortFunc(best.victims, func(a, b occupant) int { return a.pod.Compare(b.pod) })
	for _, v := range best.victims {
		s.evict(best.node, v)
	}
	s.endJobs()
	if r.ended {
		// A victim was a pod of its own Job, which fails by that.
		return -1, false
	}
	return best.node, true
}

// lowestPriority returns the lowest priority of a pod that is on a node or is to be placed: most clusters have pods
// of no lower one than that of most pods.
func (s *simulation) lowestPriority() int32 {
	if s.lowest == nil {
		lowest := int32(math.MaxInt32)
		for _, pods := range s.snapshot.Pods {
			for _, pod := range pods {
				lowest = min(lowest, pod.Requests().Priority)
			}
		}
		for _, c := range s.classes {
			lowest = min(lowest, c.demand.Priority)
		}
		s.lowest = &lowest
	}
	return *s.lowest
}

// enoughCandidates is after how many nodes on which preemption would help the search for a better
// one ends, if one of them violates no PodDisruptionBudget. The scheduler tries no fewer, where there
// are as many, and a tenth of all nodes in a large cluster
// (k8s.io/kubernetes v1.37.2 pkg/scheduler/framework/plugins/defaultpreemption/default_preemption.go,
// calculateNumCandidates, and framework/preemption/preemption.go, DryRunPreemption).
const enoughCandidates = 100

// candidates tries nodes whose refusal other pods can resolve, from a random one on.
func (s *simulation) candidates(c *class, chance chance) []candidate {
	if len(s.order) == 0 {
		return nil
	}
	var out []candidate
	harmless, start := false, chance.of(ofStarts, 0).below(len(s.order))
	s.work += len(s.order) / dryRunWork
	for k := range s.order {
		if s.exhausted() {
			break
		}
		i := s.order[(start+k)%len(s.order)]
		if s.state(i).lowest >= c.demand.Priority || s.ask(c, i) != unschedulable {
			continue
		}
		found, ok := s.dryRun(c, i)
		if !ok {
			continue
		}
		out, harmless = append(out, found), harmless || found.violations == 0
		if harmless && len(out) >= enoughCandidates {
			break
		}
	}
	return out
}

// dryRunWork is what it costs to take a pod and to put it back, in nodes that are looked at.
const dryRunWork = 8

// trial is a node from which pods are taken to see whether another one fits then.
type trial struct {
	*simulation
	class *class
	node  int32
	// alone is the state of the node where nothing relates the pod to those of other nodes: then
	// nothing else must change.
	alone *nodeState
}

func (s *simulation) trial(c *class, i int32) *trial {
	t := &trial{simulation: s, class: c, node: i}
	if c.podRules == nil {
		n := *s.state(i)
		n.others, n.holdings, n.attachedTo = slices.Clone(n.others), n.copied(), n.clone()
		t.alone = &n
	}
	return t
}

func (t *trial) take(o occupant) {
	if t.alone == nil {
		t.remove(t.node, o)
		return
	}
	t.alone.hold(t.places[t.node], o, -1)
	t.alone.attach(t.places[t.node].limits, t.attachments.of(o.pod), -1)
}

func (t *trial) putBack(o occupant) {
	if t.alone == nil {
		t.add(t.node, o)
		return
	}
	t.alone.hold(t.places[t.node], o, 1)
	t.alone.attach(t.places[t.node].limits, t.attachments.of(o.pod), 1)
}

func (t *trial) fits() bool {
	if t.alone == nil {
		return t.ask(t.class, t.node) == takes
	}
	t.work++
	_, _, lacks := t.alone.short(t.class.demand)
	return !lacks && !t.alone.portTaken(t.class) && !t.alone.diskTaken(t.class) && t.alone.full(t.places[t.node].limits, t.class.attached) == nil
}

// dryRun finds the fewest pods of a node that must go for a pod of a class: all of a lower
// priority, less those that can be put back. Those that a PodDisruptionBudget does not allow to
// evict are put back first (default_preemption.go, SelectVictimsOnNode).
func (s *simulation) dryRun(c *class, i int32) (candidate, bool) {
	s.lower = slices.DeleteFunc(s.occupants(i, s.lower[:0]), func(o occupant) bool {
		d, _ := o.demand()
		// An overdue pod that is held up in this order goes for no other one. The scheduler would delete the mirror of a
		// static pod, whose kubelet goes on and makes it anew.
		return d.Priority >= c.demand.Priority || o.pod.Mirror || o.replacement == nil && s.evicted[o.pod] == kept
	})
	lower := s.lower
	if len(lower) == 0 {
		return candidate{}, false
	}
	s.work += dryRunWork * len(lower)
	before, t := s.failure(), s.trial(c, i)
	for _, o := range lower {
		t.take(o)
	}
	out, fits := candidate{node: i}, t.fits()
	if !fits {
		out.victims = lower // To be put back below.
	} else {
		slices.SortFunc(lower, s.moreImportant)
		protected, others := s.budgets.split(s, lower)
		out.violations = t.reprieve(&out, protected)
		t.reprieve(&out, others)
		slices.SortFunc(out.victims, s.moreImportant)
	}
	if t.alone == nil {
		for _, o := range out.victims {
			s.add(i, o)
		}
	}
	s.freed, s.moved = before.freed, before.moved
	return out, fits && len(out.victims) > 0
}

// reprieve puts pods back beside which the pod still fits, and returns how many become victims.
func (t *trial) reprieve(out *candidate, pods []occupant) (victims int) {
	for _, o := range pods {
		t.putBack(o)
		if !t.fits() {
			t.take(o)
			out.victims = append(out.victims, o)
			victims++
		}
	}
	return victims
}

// occupants appends the pods that are on a node now.
func (s *simulation) occupants(i int32, out []occupant) []occupant {
	changed := s.now[i].changed
	for _, pod := range s.snapshot.Pods[s.places[i].node.Name] {
		if !pod.Completed && !s.gone(i, pod, s.moment) && (!changed || !s.isPreempted[pod]) {
			out = append(out, occupant{pod: pod})
		}
	}
	return append(out, s.state(i).placed...)
}

// started returns when a pod started: one that was placed has not yet.
func (o occupant) started() int64 {
	if o.replacement != nil {
		return math.MaxInt64
	}
	return o.pod.Since
}

// moreImportant orders pods by falling priority, then by age in seconds, and by chance where they are of one age: the
// scheduler does not sort these (k8s.io/kubernetes v1.37.2 pkg/scheduler/framework/preemption/util.go, MoreImportantVictim).
func (s *simulation) moreImportant(a, b occupant) int {
	x, _ := a.demand()
	y, _ := b.demand()
	if c := cmp.Or(cmp.Compare(y.Priority, x.Priority), cmp.Compare(a.started(), b.started())); c != 0 {
		return c
	}
	return cmp.Or(cmp.Compare(s.chance.of(ofAges, nameOfPod(a.pod)), s.chance.of(ofAges, nameOfPod(b.pod))), a.pod.Compare(b.pod))
}

// choose returns the candidate that costs least, and of equal ones one by chance.
func (s *simulation) choose(candidates []candidate, chance chance) candidate {
	best := cheapest(candidates)
	return candidates[best[chance.pick(len(best), func(i int) uint64 { return s.nodeNames[candidates[best[i]].node] })]]
}

// cheapest returns the indices of the candidates that cost least (preemption.go, pickOneNodeForPreemption).
func cheapest(candidates []candidate) []int {
	type cost struct{ violations, highest, sum, count, age int64 }
	of := func(c *candidate) cost {
		victims := c.victims
		first, _ := victims[0].demand()
		out := cost{violations: int64(c.violations), highest: int64(first.Priority), count: int64(len(victims)), age: -victims[0].started()}
		for _, v := range victims {
			d, _ := v.demand()
			// A few pods of a negative priority cost less than many.
			out.sum += int64(d.Priority) + math.MaxInt32 + 1
		}
		return out
	}
	compare := func(a, b cost) int {
		return cmp.Or(cmp.Compare(a.violations, b.violations), cmp.Compare(a.highest, b.highest), cmp.Compare(a.sum, b.sum), cmp.Compare(a.count, b.count), cmp.Compare(a.age, b.age))
	}
	var best []int
	var least cost
	for i := range candidates {
		one := of(&candidates[i])
		switch c := compare(one, least); {
		case len(best) == 0 || c < 0:
			best, least = append(best[:0], i), one
		case c == 0:
			best = append(best, i)
		}
	}
	return best
}

// evict removes a victim, and queues the pod that its controller creates instead.
func (s *simulation) evict(i int32, v occupant) {
	if v.leaving {
		// A victim of before is deleted once more, and holds its room until it has terminated like the other ones.
		if !v.victim {
			s.remove(i, v)
		}
		return
	}
	if v.replacement != nil {
		s.evictReplacement(i, v)
		return
	}
	s.remove(i, v)
	s.vacated = true
	s.isPreempted[v.pod] = true
	s.quotas.release(s, v.pod)
	s.returnStorageOf(v.pod)
	s.preemptPod(v.pod)
	if !s.replacedOnceGone(v.pod) {
		s.stayVictim(i, v)
	}
}

// preemptPod plans what is created in the place of a victim.
func (s *simulation) preemptPod(pod *snapshot.Pod) {
	if _, planned := s.evicted[pod]; planned {
		s.preemptPlanned(pod)
		return
	}
	if one := s.isUndecided[pod]; one != nil && !one.unread {
		s.preemptUndecided(one)
		return
	}
	s.preempted = append(s.preempted, pod)
	s.budgets.spend(s, pod)
	if pod.Controller != nil {
		s.replaceVictim(pod, s.fail(pod))
	}
}

// preemptPlanned creates now what replaces a pod that the change evicts later on. What replaces one that is terminating
// already comes once it is gone.
func (s *simulation) preemptPlanned(pod *snapshot.Pod) {
	if pod.Terminating {
		return
	}
	s.budgets.spendEarly(s, pod)
	if r := s.replacing[pod]; r != nil {
		if s.due(r, s.moment); r.after <= s.moment {
			s.create(r)
		}
	}
}

// evictReplacement queues a victim again that was placed before, unless its Job has failed with another victim.
func (s *simulation) evictReplacement(i int32, v occupant) {
	r := v.replacement
	if r.ended {
		return
	}
	if s.remove(i, v); !s.waitsUntilGone(v.pod) {
		s.stayVictim(i, v)
	}
	r.node, s.vacated, s.budgets.recovered = -1, true, nil
	s.used.release(r.binding)
	r.binding = nil
	if r.deleted = v.pod.Controller == nil; r.deleted {
		s.quotas.release(s, v.pod)
		return
	}
	if s.fail(v.pod) {
		s.end(r)
	} else {
		s.queue.push(r)
	}
}
