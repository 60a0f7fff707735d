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
// there at once: the scheduler nominates the node and keeps the room for it.
func (s *simulation) preempt(r *replacement) (int32, bool) {
	c := r.class
	if c.demand.Patient || c.hopeless == s.freed && c.steady() {
		return -1, false
	}
	candidates := s.candidates(c)
	if len(candidates) == 0 {
		c.hopeless = s.freed
		return -1, false
	}
	best := s.choose(candidates)
	for _, v := range best.victims {
		s.evict(best.node, v)
	}
	return best.node, true
}

// candidates tries nodes from a random one on until it has found enough: a tenth of those whose
// refusal pods can resolve, and 100 at least
// (k8s.io/kubernetes v1.37.2 pkg/scheduler/framework/plugins/defaultpreemption/default_preemption.go,
// calculateNumCandidates, and preemption.go, DryRunPreemption).
func (s *simulation) candidates(c *class) []candidate {
	var potential []int32
	for i := range s.places {
		if at := int32(i); s.state(at).lowest < c.demand.Priority && s.ask(c, at) == unschedulable { //nolint:gosec // See above.
			potential = append(potential, at)
		}
	}
	if len(potential) == 0 {
		return nil
	}
	const percent, least = 10, 100
	enough, harmless := max(len(potential)*percent/100, least), false
	var out []candidate
	start := s.rng.IntN(len(potential))
	for k := range potential {
		found, ok := s.dryRun(c, potential[(start+k)%len(potential)])
		if !ok {
			continue
		}
		out, harmless = append(out, found), harmless || found.violations == 0
		if harmless && len(out) >= enough {
			break
		}
	}
	return out
}

// dryRun finds the fewest pods of a node that have to go for a pod of a class: all of a lower
// priority, less those that can be put back, where those go first that a PodDisruptionBudget
// does not allow to evict (default_preemption.go, SelectVictimsOnNode).
func (s *simulation) dryRun(c *class, i int32) (candidate, bool) {
	lower := slices.DeleteFunc(s.occupants(i), func(o occupant) bool {
		d, _ := o.demand()
		return d.Priority >= c.demand.Priority
	})
	if len(lower) == 0 {
		return candidate{}, false
	}
	freed := s.freed
	for _, o := range lower {
		s.remove(i, o)
	}
	out := candidate{node: i}
	fits := s.ask(c, i) == takes
	if !fits {
		out.victims = lower
	} else {
		slices.SortFunc(lower, moreImportant)
		protected, others := s.budgets.split(s, lower)
		out.violations = s.reprieve(c, &out, protected)
		s.reprieve(c, &out, others)
		slices.SortFunc(out.victims, moreImportant)
	}
	for _, o := range out.victims {
		s.add(i, o)
	}
	s.freed = freed
	return out, fits && len(out.victims) > 0
}

// reprieve puts pods back beside which a pod of the class still fits, and returns how many of
// them become victims.
func (s *simulation) reprieve(c *class, out *candidate, pods []occupant) (victims int) {
	for _, o := range pods {
		s.add(out.node, o)
		if s.ask(c, out.node) != takes {
			s.remove(out.node, o)
			out.victims = append(out.victims, o)
			victims++
		}
	}
	return victims
}

// occupants returns the pods that are on a node now.
func (s *simulation) occupants(i int32) []occupant {
	var out []occupant
	for _, pod := range s.snapshot.Pods[s.places[i].node.Name] {
		if !pod.Completed && !s.gone(i, pod, s.moment) && !s.isPreempted[pod] {
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

// moreImportant orders pods by falling priority, then by age
// (k8s.io/kubernetes v1.37.2 pkg/scheduler/framework/preemption/util.go, MoreImportantVictim).
func moreImportant(a, b occupant) int {
	x, _ := a.demand()
	y, _ := b.demand()
	return cmp.Or(cmp.Compare(y.Priority, x.Priority), cmp.Compare(a.started(), b.started()), a.pod.Compare(b.pod))
}

// choose returns the candidate that costs least, and of equal ones one by chance
// (preemption.go, pickOneNodeForPreemption).
func (s *simulation) choose(candidates []candidate) candidate {
	type cost struct{ violations, highest, sum, count, age int64 }
	of := func(c *candidate) cost {
		first, _ := c.victims[0].demand()
		out := cost{violations: int64(c.violations), highest: int64(first.Priority), count: int64(len(c.victims)), age: -c.victims[0].started()}
		for _, v := range c.victims {
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
	return candidates[best[s.rng.IntN(len(best))]]
}

// evict removes a victim, and queues the pod that its controller creates instead.
func (s *simulation) evict(i int32, v occupant) {
	s.remove(i, v)
	if v.replacement != nil {
		v.replacement.node = -1
		if v.pod.Controller != nil {
			s.queue.push(v.replacement)
		}
		return
	}
	s.isPreempted[v.pod] = true
	if _, planned := s.evicted[v.pod]; planned {
		return // The change evicts it later on, and its replacement is known.
	}
	s.preempted = append(s.preempted, v.pod)
	s.budgets.spend(s, v.pod)
	if v.pod.Controller == nil || v.pod.Mirror {
		return
	}
	r := &replacement{
		pod: v.pod, class: s.classOf(v.pod, v.pod.Scheduling), workload: s.workload(v.pod), node: -1,
		created: true, since: s.moment, after: s.moment, rank: len(s.replacements),
	}
	s.replacements = append(s.replacements, r)
	s.queue.push(r)
}

// budgets are what PodDisruptionBudgets still allow.
type budgets struct {
	// evicted are the pods that the change evicts, by namespace, spent how many of a budget's
	// pods are gone at a moment.
	evicted map[string][]*snapshot.Pod
	spent   map[budgetAt]int32
	// preempted counts the victims of this order.
	preempted map[*snapshot.Budget]int32
}

type budgetAt struct {
	budget *snapshot.Budget
	moment int64
}

// allowed returns how many more pods of a budget may be evicted now: ready ones that the change
// evicts count as gone.
func (b *budgets) allowed(s *simulation, budget *snapshot.Budget, namespace string) int32 {
	if b.evicted == nil {
		b.evicted, b.spent = map[string][]*snapshot.Pod{}, map[budgetAt]int32{}
		for pod := range s.evicted {
			if pod.Ready && !pod.Terminating {
				b.evicted[pod.Namespace] = append(b.evicted[pod.Namespace], pod)
			}
		}
	}
	key := budgetAt{budget, s.moment}
	spent, known := b.spent[key]
	if !known {
		for _, pod := range b.evicted[namespace] {
			if s.evicted[pod] <= s.moment && budget.Selector.Matches(pod.Labels) {
				spent++
			}
		}
		b.spent[key] = spent
	}
	return budget.Allowed - spent - b.preempted[budget]
}

// spend counts a victim.
func (b *budgets) spend(s *simulation, pod *snapshot.Pod) {
	for _, budget := range s.snapshot.Budgets.Covering(pod) {
		if b.preempted == nil {
			b.preempted = map[*snapshot.Budget]int32{}
		}
		b.preempted[budget]++
	}
}

// split tells the pods whose budgets do not allow to evict them from the others. The order is
// that in which budgets are spent (util.go, FilterVictimsWithPDBViolation): an empty selector, and
// pods without labels, match nothing.
func (b *budgets) split(s *simulation, pods []occupant) (protected, others []occupant) {
	left := map[*snapshot.Budget]int32{}
	for _, o := range pods {
		violates := false
		for _, budget := range s.snapshot.Budgets.Covering(o.pod) {
			if len(o.pod.Labels) == 0 || budget.Selector.Empty() || violates {
				continue
			}
			if _, known := left[budget]; !known {
				left[budget] = b.allowed(s, budget, o.pod.Namespace)
			}
			left[budget]--
			violates = left[budget] < 0
		}
		if violates {
			protected = append(protected, o)
		} else {
			others = append(others, o)
		}
	}
	return protected, others
}
