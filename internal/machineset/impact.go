// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package machineset

import (
	"cmp"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/eviction"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/placement"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
)

// Affected is a MachineSet and what a change does to its machines.
type Affected struct {
	Observed
	Effect Effect
}

// Imagine is a MachineSet and what it would do to its machines if these taints came
// to its template and others went, whatever their owner. A rollout that is going on is
// taken to have come to its end.
func Imagine(o Observed, taints []corev1.Taint, absent []taint.ID, r Rollout) (Affected, Desired) {
	set := *o.Set
	set.Record, set.Remnants, set.Marker, set.Replicas = nil, nil, nil, o.goal()
	set.Taints = slices.DeleteFunc(slices.Clone(set.Taints), func(t corev1.Taint) bool {
		return taint.Find(taints, taint.IDOf(t)) >= 0 || slices.Contains(absent, taint.IDOf(t))
	})
	o.Set = &set
	d := Desired{Claim: taint.Claim{Owner: "preview", Generation: "preview", Taints: taints}, Retired: absent, Rollout: r}
	return Affected{Observed: o, Effect: Plan(o, d)}, d
}

// Impact is what a change of MachineSets does to pods, and what they do to it.
type Impact struct {
	Report *eviction.Report
	// Deadlocks are drains that do not end by themselves.
	Deadlocks []eviction.Deadlock
	// Refused is the first MachineSet that must not be changed in this way because of
	// what runs on its machines, nil for none; Refusals reports why.
	Refused  *Set
	Refusals []Refusal
}

// Evaluate gives a verdict for each pod on the machines that change. Where MachineSets
// roll out one after the other, what holds one is judged with the machines of the
// others as they are; where several may at the same time, as if all did.
func Evaluate(s *snapshot.Snapshot, all []Affected, tolerations map[snapshot.WorkloadKey]eviction.Planned, comparison eviction.Comparison, atOnce int) Impact {
	report := func(some []Affected, edit func(c *eviction.Scenario)) *eviction.Report {
		change := changeOf(some, atOnce)
		change.Tolerations = tolerations
		if edit != nil {
			edit(&change)
		}
		return eviction.Evaluate(s, change, comparison)
	}
	i := Impact{Report: report(all, nil)}
	leaving := slices.DeleteFunc(slices.Clone(all), func(a Affected) bool { return len(a.Effect.Leaving) == 0 })
	size := 1
	if atOnce > 1 {
		size = max(len(leaving), 1)
	}
	for group := range slices.Chunk(leaving, size) {
		own := i.Report
		if len(all) > len(group) {
			own = report(group, nil)
		}
		drain := drainOf(group)
		found := own.Deadlocks(s, drain)
		if len(found) > 0 && !drain.Last {
			noteUntainted(found, report(group, joinUntainted).Deadlocks(s, drain))
		}
		for _, d := range found {
			if !slices.Contains(i.Deadlocks, d) {
				i.Deadlocks = append(i.Deadlocks, d)
			}
		}
		if refusals := slices.Concat(refuseRouters(group, s), refuseDeadlocks(found)); i.Refused == nil && len(refusals) > 0 {
			i.Refused, i.Refusals = group[0].Set, refusals
		}
	}
	return i
}

// Beginning leaves out the MachineSets whose rollout an earlier apply has begun: what was
// allowed goes on, since stopped in the middle it would cost more.
func Beginning(all []Affected) []Affected {
	return slices.DeleteFunc(slices.Clone(all), func(a Affected) bool { return a.Effect.Interrupted != nil })
}

// TaintsAfter returns what the nodes of MachineSets have after their changes, by name:
// a node that is drained stands for the one that comes in its place.
func TaintsAfter(all []Affected) map[string][]corev1.Taint {
	return changeOf(all, 1).Taints
}

// changeOf is what the nodes will look like: with other taints where machines are
// written to in place, drained where they go, and new ones where these are replaced.
// A drained node's taints become those of the machine that comes in its place, by
// which it is known for whom that one is meant. MachineSets roll out one after the other, unless several may at the same time.
func changeOf(all []Affected, atOnce int) eviction.Scenario {
	c := eviction.Scenario{Drains: map[string]bool{}, Undrained: map[string]bool{}, Closed: map[string]bool{}, Taints: map[string][]corev1.Taint{}, Turns: map[string]int{}}
	first := 0
	for _, a := range all {
		each, turns := a.turns()
		for i, m := range a.Effect.Leaving {
			if m.Node != "" {
				c.Turns[m.Node] = first + i/each
			}
		}
		for _, m := range a.Machines {
			c.Closed[m.Node] = c.Closed[m.Node] || m.Deleting
		}
		t := a.Effect.Template
		changed := a.Effect.Stale
		if a.Effect.Replaced {
			changed = a.Effect.Leaving
		}
		for _, m := range changed {
			n := a.Nodes[m.Node]
			if n == nil {
				continue
			}
			t := t.on(m, n)
			if a.Effect.Replaced {
				c.Taints[n.Name], c.Drains[n.Name], c.Undrained[n.Name] = t.Apply(n.Taints), true, m.NoDrain
				c.Closed[n.Name] = true // Its node is deleted with it.
			} else {
				c.Taints[n.Name] = t.of(n).Apply(n.Taints)
			}
		}
		for _, repair := range a.Effect.NodeRepairs {
			c.Taints[repair.Node.Name] = repair.Taints
		}
		if coming, ok := a.coming(); ok {
			// Machines that are missing already come with the first ones.
			coming.Turn, coming.Each, coming.First = first, each, max(coming.Count-len(a.Effect.Leaving), 0)+each
			c.Comes = append(c.Comes, coming)
		}
		if atOnce <= 1 {
			first += turns
		}
	}
	return c
}

// turns returns how many machines are drained at a time, and how often.
func (a Affected) turns() (each, turns int) {
	n := len(a.Effect.Leaving)
	switch a.Effect.Strategy {
	case Rolling:
		each = a.Effect.Gap.Machines
	case Surge:
		each = a.Effect.Gap.Extra
	case ScaleToZero, InPlace, TemplateOnly:
		each = n
	}
	each = max(each, 1)
	return each, (n + each - 1) / each
}

// coming is what a new machine of the set will look like; false where none comes.
func (a Affected) coming() (placement.Coming, bool) {
	if !a.Effect.Replaced || len(a.Effect.Leaving) == 0 || a.goal() == 0 {
		return placement.Coming{}, false
	}
	n := &snapshot.Node{Labels: a.labels(), Taints: a.Effect.Template.Taints, Ready: true}
	c := placement.Coming{Node: n, Of: a.Set.Title(), Count: max(a.goal()-a.staying(), 1), Surges: a.Effect.Strategy == Surge, Last: a.Effect.Strategy == ScaleToZero && a.Effect.Gap.Removed}
	if newest := a.newest(); newest != nil {
		n.Allocatable, c.Like = newest.Allocatable, newest.Name
	}
	return c, true
}

// staying is how many machines are neither replaced nor being deleted.
func (a Affected) staying() (n int) {
	for _, m := range a.Machines {
		if !m.Deleting && !slices.Contains(a.Effect.Leaving, m) {
			n++
		}
	}
	return n
}

// newest is the node of the machine that was made last: it is the most like the
// template as it is.
func (a Affected) newest() *snapshot.Node {
	machines := slices.SortedFunc(slices.Values(a.Machines), func(x, y *Machine) int {
		return cmp.Or(y.Created.Compare(x.Created), byName(x, y))
	})
	for _, m := range machines {
		if n := a.Nodes[m.Node]; n != nil && n.Allocatable != nil {
			return n
		}
	}
	return nil
}

// labels are those that all nodes of the set have and that come with a machine: the
// host's name does not, nor do those that a resource of this provider has put there.
func (a Affected) labels() map[string]string {
	var out map[string]string
	for _, m := range a.Machines {
		n := a.Nodes[m.Node]
		if n == nil {
			continue
		}
		if out == nil {
			out = maps.Clone(n.Labels)
		}
		maps.DeleteFunc(out, func(key, value string) bool {
			_, marked := n.LabelRecord.Of(key)
			has, there := n.Labels[key]
			return marked || !there || has != value || key == corev1.LabelHostname
		})
	}
	if out == nil {
		out = map[string]string{}
	}
	maps.Copy(out, a.Set.NodeLabels)
	return out
}
