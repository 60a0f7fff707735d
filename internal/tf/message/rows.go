// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package message

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/eviction"
)

// danger is what becomes of a workload, the gravest first.
type danger int

const (
	strandedPods danger = iota
	lostPods
	uncreatedPods
	pendingPods
	perhapsPending
	perhapsLost
	againPods
	perhapsEvicted
	preemptedPods
	beyondBudget
	daemonPods
	stuckPods
	fine
)

// String is the word for it in a table.
func (d danger) String() string {
	return [...]string{"STRANDED", "LOST", "NOT CREATED", "PENDING", "PENDING?", "LOST?", "AGAIN", "MAYBE", "PREEMPT", "PDB", "DAEMON", "STAYS", "ok"}[d]
}

// row is a workload in a table.
type row struct {
	danger                 danger
	count, name, when, why string
	// pods is how many of its pods the row is about, weight how many count.
	pods, weight int
}

// told is what rows tell beside what they always do.
type told struct {
	// stranded pods have a row because apply refuses to strand them; PodDisruptionBudgets have their names.
	stranded, budgets bool
}

// rowsOf returns the rows of a report, sorted by danger.
func rowsOf(report *eviction.Report, tell told) []row {
	var out []row
	for _, w := range report.Workloads() {
		if c := newCensus(w, tell); c.pods() > 0 {
			out = append(out, c.row())
		}
	}
	slices.SortStableFunc(out, func(a, b row) int {
		return cmp.Or(cmp.Compare(a.danger, b.danger), cmp.Compare(b.weight, a.weight), cmp.Compare(a.name, b.name))
	})
	return out
}

// census is a workload's pods, counted by what there is to tell about them.
type census struct {
	eviction.Workload
	// evicted and unknown are those that run; stays are those that there is something to tell about.
	evicted, unknown, stays []eviction.PodVerdict
	stranded, misscheduled  int
	localData               bool
	beyond                  *eviction.Beyond
	tell                    told
}

func newCensus(w eviction.Workload, tell told) *census {
	c := &census{Workload: w, tell: tell}
	for _, v := range w.Pods {
		if v.Pod.Completed || v.Pod.Terminating {
			continue
		}
		switch {
		case v.Leaves():
			c.evicted = append(c.evicted, v)
			c.localData = c.localData || v.Pod.LocalData
		case v.Verdict == eviction.Unknown:
			c.unknown = append(c.unknown, v)
		case !v.Plain():
			c.stays = append(c.stays, v)
		}
		if tell.stranded && v.Stranded && !v.SavedByTolerations {
			c.stranded++
		}
		if v.Misscheduled {
			c.misscheduled++
		}
		if v.Beyond != nil {
			c.beyond = v.Beyond
		}
	}
	return c
}

// pods is how many pods there is something to tell about.
func (c *census) pods() int {
	return cmp.Or(len(c.evicted)+len(c.unknown)+len(c.stays)+c.Summary.Preempted.Max+c.Summary.Deleted.Max, c.Summary.Pending.Max)
}

// leaves is how many pods are evicted, or may be.
func (c *census) leaves() int { return c.pods() - len(c.stays) }

// row judges a workload by the gravest that happens to its pods.
func (c *census) row() row {
	s := c.Summary
	r := row{name: rowName(c.Owner.Kind, c.Namespace, c.Owner.Name), when: c.when(), pods: c.pods()}
	set := func(d danger, n eviction.Range, of int, why string) {
		r.danger, r.count, r.weight, r.why = d, amount(n, of), n.Max, why
	}
	switch {
	case c.stranded > 0:
		set(strandedPods, exactly(c.stranded), c.pods(), "tolerates the old taint")
	case s.Lost > 0:
		set(lostPods, exactly(s.Lost), s.Lost, c.lost())
	case s.Preempting.Max > 0:
		c.lostByPreemption(set)
	case s.Refused.Max > 0:
		set(uncreatedPods, s.Refused, c.leaves(), c.uncreated())
	case s.Pending.Max > 0 && len(c.evicted) == 0 && s.Preempted.Max == 0 && len(c.unknown) > 0:
		set(perhapsEvicted, exactly(len(c.unknown)), c.pods(), c.doubt())
	case s.Pending.Max > 0 && s.Pending.Min == s.Pending.Max:
		set(pendingPods, s.Pending, c.leaves(), c.pending())
	case s.Pending.Max > 0:
		set(perhapsPending, s.Pending, c.leaves(), c.perhaps())
	case s.MayBeLost > 0:
		set(perhapsLost, eviction.Range{Max: s.MayBeLost}, c.leaves(), c.perhapsLost())
	default:
		c.calmer(set)
	}
	c.beside(&r)
	return r
}

// lostByPreemption judges a workload that loses pods by preemption.
func (c *census) lostByPreemption(set func(danger, eviction.Range, int, string)) {
	d, is, not := lostPods, "fails", "not recreated"
	if c.Summary.Preempting.Min == 0 && c.Owner.Kind != barePod {
		d, is, not = perhapsLost, "may fail", "may not be recreated"
	}
	why := "preempted; " + not
	switch {
	case c.Outcome.JobFails:
		why = "its Job " + is + " by preemption"
		if c.Outcome.Moved.Max > 0 {
			why = "its Job " + is + ", as pods are evicted again"
		}
	case c.Owner.Kind == barePod:
		why = "no controller; preempted"
	}
	set(d, c.Summary.Preempting, c.leaves(), why)
}

// rowName names a workload in a table.
func rowName(kind, namespace, name string) string {
	return fmt.Sprintf("%s %s/%s", kind, namespace, name)
}

// barePod is the kind of a pod without a controller.
const barePod = "Pod"

// calmer judges a workload all of whose pods find a place, or are not looking for one.
func (c *census) calmer(set func(danger, eviction.Range, int, string)) {
	s := c.Summary
	switch {
	case s.Again.Max > 0 && len(c.evicted) > 0:
		set(againPods, s.Again, c.leaves(), c.again())
	case len(c.unknown) > 0:
		set(perhapsEvicted, exactly(len(c.unknown)), c.pods(), c.doubt())
	case s.Preempted.Max > 0:
		set(preemptedPods, s.Preempted, c.leaves(), "preempted; fits again")
	case s.Daemons > 0:
		set(daemonPods, exactly(s.Daemons), c.leaves(), c.noDaemon())
	case c.beyond != nil && !c.beyond.Obeyed:
		set(beyondBudget, exactly(len(c.evicted)), c.leaves(), c.pdb()+", bypassed")
	case len(c.evicted) > 0 && c.evicted[0].Pod.Mirror:
		set(fine, exactly(len(c.evicted)), c.pods(), "recreated by the kubelet")
	case len(c.evicted) > 0 && c.Owner.DaemonSet():
		set(fine, exactly(len(c.evicted)), c.pods(), "recreated on its node")
	case len(c.evicted) > 0:
		set(fine, exactly(len(c.evicted)), len(c.evicted), c.fits())
	default:
		set(stuckPods, exactly(len(c.stays)), len(c.stays), c.staying())
	}
}

// beside adds what else there is to tell.
func (c *census) beside(r *row) {
	if n := c.Outcome.Moved; n.Max > 0 && len(c.evicted) > 0 && (r.danger == fine || len(c.Outcome.Awaits) > 0) {
		r.why += "; " + Number(n) + " evicted again"
	}
	if c.localData {
		r.why += "; emptyDir gone"
	}
	if c.beyond != nil && r.danger != beyondBudget {
		r.why += "; " + c.pdb()
	}
}

// remaining counts pods of the change's own workloads on nodes that it gives up.
func remaining(report *eviction.Report) (n int) {
	for _, v := range report.Pods {
		if v.Remains {
			n++
		}
	}
	return n
}

// Number writes a range: "4", "2-3".
func Number(n eviction.Range) string {
	if n.Min != n.Max {
		return fmt.Sprintf("%d-%d", n.Min, n.Max)
	}
	return fmt.Sprint(n.Max)
}

// exactly is a count that no order changes.
func exactly(n int) eviction.Range { return eviction.Range{Min: n, Max: n} }

// amount writes how many of so many pods: "4", "2-3", "2-3/5".
func amount(n eviction.Range, of int) string {
	out := Number(n)
	if n.Max < of {
		out += fmt.Sprintf("/%d", of)
	}
	return out
}

// when words after how long pods are evicted.
func (c *census) when() string {
	var seconds []int64
	var parts []string
	for _, v := range c.evicted {
		if v.Verdict == eviction.Drained {
			parts = []string{"drain"}
		} else {
			seconds = append(seconds, v.AfterSeconds)
		}
	}
	if len(seconds) > 0 {
		first, last := slices.Min(seconds), slices.Max(seconds)
		span := fmt.Sprintf("%ds", last)
		if first != last {
			span = fmt.Sprintf("%d-%ds", first, last)
		}
		parts = append([]string{span}, parts...)
	}
	if len(c.unknown) > 0 {
		parts = append(parts, "?")
	}
	if len(parts) == 0 {
		return "-"
	}
	return strings.Join(parts, "/")
}
