// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package eviction

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/placement"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
)

// Deadlock is a drain that does not come to its end by itself.
type Deadlock struct {
	// Why reports what holds it, in a sentence about the PDB or the pod.
	Why string
	// Removed is set where it is wait_for = "removed" that makes it one.
	Removed bool
	// Possible is set where the order decides in which pods are evicted and placed.
	Possible bool
}

// DrainOf is a drain of nodes.
type DrainOf struct {
	// Undrained are nodes whose pods are deleted, not evicted.
	Undrained map[string]bool
	// Last is set where the nodes that take the place of the drained ones come when all of these
	// are gone.
	Last bool
	// Order are the nodes in the order in which they are drained, one after the other; nil where it is not
	// known, or where they are drained at the same time.
	Order []string
}

// Deadlocks reports what keeps the drains of a report from ending, because a PodDisruptionBudget
// refuses forever: the eviction API answers 429 as long as status.disruptionsAllowed is 0, and a
// drain tries again (k8s.io/kubernetes v1.37.2 pkg/registry/core/pod/storage/eviction.go;
// openshift/machine-api-operator pkg/controller/machine/drain_controller.go; kubectl drain).
//
// A PDB gets back what it has allowed when the pod is ready somewhere else. So what counts is how many
// of its pods do not become so: those that are not ready now and are not evicted, or not before another
// one, and those of the evicted ones that no node takes.
func (r *Report) Deadlocks(s *snapshot.Snapshot, drain DrainOf) []Deadlock {
	var held []*heldByBudget
	var out []Deadlock
	drained, unasked := map[*snapshot.Pod]bool{}, map[*snapshot.Budget][]PodVerdict{}
	for _, v := range r.Pods {
		if v.Verdict != Drained || drain.Undrained[v.Pod.Node] {
			continue
		}
		budgets := s.Budgets.Guarding(v.Pod)
		drained[v.Pod] = true
		switch len(budgets) {
		case 0:
			if covering := s.Budgets.Covering(v.Pod); len(covering) == 1 && !v.Pod.Ready && !v.Pod.Completed && !v.Pod.Terminating {
				unasked[covering[0]] = append(unasked[covering[0]], v)
			}
		case 1:
			at := slices.IndexFunc(held, func(h *heldByBudget) bool { return h.budget == budgets[0] })
			if at < 0 {
				at, held = len(held), append(held, &heldByBudget{namespace: v.Pod.Namespace, budget: budgets[0]})
			}
			held[at].pods = append(held[at].pods, v)
		default:
			out = append(out, Deadlock{Why: fmt.Sprintf("pod %s is covered by %d PodDisruptionBudgets (%s), and the eviction API refuses to evict it until only one does",
				v.Pod.Key(), len(budgets), snapshot.BudgetNames(budgets))})
		}
	}
	noteBroken(s, drained, held)
	for _, h := range held {
		h.unasked = unasked[h.budget]
		h.noteLater(drain.Order)
		if d, is := h.deadlock(r, drain.Last); is {
			out = append(out, d)
		}
	}
	return out
}

// heldByBudget is what a drain does to the pods of one PodDisruptionBudget.
type heldByBudget struct {
	namespace string
	budget    *snapshot.Budget
	// pods are those that are drained, and that the PDB is asked for.
	pods []PodVerdict
	// unasked are those that are not ready, and are drained without asking the PDB.
	unasked []PodVerdict
	// broken are pods that are not ready, and whose place no drain gives to others. later are those whose
	// node is drained after one with pods that the PDB is asked for.
	broken, later []string
	// live counts the pods that are there or come by themselves, completed those that are over. stuck are those that have been
	// terminating for long, whose StatefulSet creates no other ones meanwhile.
	live, completed int
	stuck           []string
	// last is set where a pod that is not ready can be evicted as long as another one is ready.
	last bool
}

// noteLater finds the pods that are not ready while the PDB is asked for the first ones, although they are
// evicted later.
func (h *heldByBudget) noteLater(order []string) {
	first := len(order)
	for _, v := range h.pods {
		first = min(first, slices.Index(order, v.Pod.Node))
	}
	for _, v := range h.unasked {
		if slices.Index(order, v.Pod.Node) > first {
			h.later = append(h.later, v.Pod.Key())
		}
	}
}

// noteBroken finds the pods that use up what PDBs allow. One that is not ready and is drained without
// asking does so only where no node takes it again, or later.
func noteBroken(s *snapshot.Snapshot, drained map[*snapshot.Pod]bool, held []*heldByBudget) {
	if len(held) == 0 {
		return
	}
	in := map[string][]*heldByBudget{}
	for _, h := range held {
		in[h.namespace] = append(in[h.namespace], h)
	}
	for _, pods := range append(slices.Collect(maps.Values(s.Pods)), s.Waiting) {
		for _, p := range pods {
			for _, h := range in[p.Namespace] {
				if h.budget.Selector.Matches(p.Labels) {
					h.note(s, p, drained[p])
				}
			}
		}
	}
	for _, h := range held {
		slices.Sort(h.broken)
		slices.Sort(h.stuck)
	}
}

// note counts a pod that the PDB covers.
func (h *heldByBudget) note(s *snapshot.Snapshot, p *snapshot.Pod, drained bool) {
	ofSet := p.Terminating && s.Owner(p).StatefulSet()
	switch {
	case p.Completed:
		h.completed++
		return
	case p.Terminating && !ofSet:
		// Its controller has created another one.
		return
	}
	h.live++
	switch unasked := drained && len(s.Budgets.Guarding(p)) == 0; {
	case ofSet && p.Overdue:
		// It keeps its place until its kubelet is there again, or its node is gone.
		h.stuck = append(h.stuck, p.Key())
	case !p.Ready && !p.Terminating && !unasked:
		h.noteUnready(p, drained)
	}
}

// noteUnready adds a pod that is not ready, and that the PDB is asked for if it is drained. Where the PDB
// wants no pod to be ready, it allows that eviction as long as any other one is.
func (h *heldByBudget) noteUnready(p *snapshot.Pod, drained bool) {
	if drained && h.budget.MinHealthy == 0 && h.budget.Healthy > 0 {
		h.last = true
		return
	}
	h.broken = append(h.broken, p.Key())
}

// missing is how many of the drained pods do not run again.
type missing struct {
	// gone are those that never do; awaiting those that do on new nodes alone.
	gone, awaiting []string
	// most is how many of gone there are in the worst order, mostHeld how many of both.
	most, mostHeld int
}

func (h *heldByBudget) missing(r *Report) missing {
	var out missing
	groups := map[*placement.Group][]string{}
	for _, v := range slices.Concat(h.pods, h.unasked) {
		switch g := r.Outcome().Of(v.Pod); {
		case v.Lost || v.NoPlace:
			out.gone = append(out.gone, v.Pod.Key())
		case v.Pod.NamesNode:
			// It is on its node again until that is deleted, and may become ready there.
		case g != nil:
			groups[g] = append(groups[g], v.Pod.Key())
		}
	}
	out.most = len(out.gone)
	out.mostHeld = out.most
	for g, names := range groups {
		// Which of them are Pending cannot be told: as many of the first ones are, and those that await new nodes follow.
		n, pending := len(names), g.Pending()
		least := min(g.Staying.Min, n)
		held := max(min(pending.Min, n), least)
		out.gone, out.awaiting = append(out.gone, names[:least]...), append(out.awaiting, names[least:held]...)
		out.most, out.mostHeld = out.most+min(g.Staying.Max, n), out.mostHeld+min(pending.Max, n)
	}
	slices.Sort(out.awaiting)
	// New nodes hold no more of all of them than this.
	if holds := r.Outcome().Arriving.Max; len(out.awaiting) > holds {
		out.gone, out.awaiting = append(out.gone, out.awaiting[holds:]...), out.awaiting[:holds]
	}
	out.most = max(out.most, len(out.gone))
	slices.Sort(out.gone)
	return out
}

// worst is how many do not run again in the worst order before the drain ends. Where last is set, new nodes come after that.
func (m *missing) worst(last bool) int {
	if last {
		return m.mostHeld
	}
	return m.most
}

// deadlock compares how many pods are missing together with how many the PDB allows.
func (h *heldByBudget) deadlock(r *Report, last bool) (Deadlock, bool) {
	name, broken, all := fmt.Sprintf("PodDisruptionBudget %q", h.namespace+"/"+h.budget.Name), len(h.broken), len(h.pods)+len(h.unasked)
	if h.uncounted() {
		return Deadlock{Possible: true, Why: fmt.Sprintf("%s allows no eviction while its controller does not know how many pods are expected, and %s to be drained (%s). Set minAvailable to a number: then it counts matching pods alone",
			name, isAre(len(h.pods)), h.asked())}, true
	}
	if h.budget.Most == nil {
		return Deadlock{}, false
	}
	absent, over := h.absent()
	most := max(0, int(*h.budget.Most)-over)
	if most == 0 {
		counts := ""
		if n := min(over, h.completed); n > 0 {
			counts = fmt.Sprintf(", as it counts %d completed", n)
		}
		return Deadlock{Why: fmt.Sprintf("%s allows no eviction even when all of its pods are healthy%s, and %s to be drained (%s). The drain waits for more pods, or until the PodDisruptionBudget allows an unavailable one",
			name, counts, isAre(len(h.pods)), h.asked())}, true
	}
	allows := name + " allows " + unavailable(most)
	if unready := slices.Concat(h.broken, h.later); len(unready) >= most {
		return Deadlock{Why: fmt.Sprintf("%s, and %s not ready (%s): the drain waits until %s ready", allows, isAre(len(unready)), some(unready), theyAre(len(unready)-most+1))}, true
	}
	if unready := broken + len(h.later); absent > 0 && absent+unready >= most {
		return Deadlock{Possible: true, Why: fmt.Sprintf("%s, and %s%s: the drain waits for more pods", allows, h.lacking(absent), unreadyToo(unready))}, true
	}
	if broken > 0 {
		allows += fmt.Sprintf(", %s not ready (%s)", isAre(broken), some(h.broken))
	}
	gone := h.missing(r)
	// Once pods exist that do not yet, more of the others may be unavailable.
	may := gone.worst(last)
	switch left, worst := most-broken, most-broken-len(h.later)-absent; {
	case len(gone.gone) > left:
		return Deadlock{Why: fmt.Sprintf("%s, and %d to be drained cannot run elsewhere (%s). The drain waits until they can, or until the PodDisruptionBudget allows more",
			allows, len(gone.gone), some(gone.gone))}, true
	case last && len(gone.gone)+len(gone.awaiting) > left:
		return Deadlock{Removed: true, Why: fmt.Sprintf("%s, and %d to be drained fit only new machines (%s). These are created after the last old one is deleted: the drain and the new machines wait for each other",
			allows, len(gone.awaiting), some(gone.awaiting))}, true
	case may > worst, h.last && may > 0, may == worst && all > may:
		return Deadlock{Possible: true, Why: fmt.Sprintf("%s, and %d of the %d to be drained may not run elsewhere. Once as many are evicted as it allows, the drain waits until they run again",
			allows, may, all)}, true
	}
	return Deadlock{}, false
}

// uncounted reports that the PDB allows no eviction, however many pods are healthy. Pods that its controller cannot count may
// end, or may be those of a Job beside others.
func (h *heldByBudget) uncounted() bool {
	return h.budget.Failing || h.budget.Uncounted && !slices.ContainsFunc(h.pods, func(v PodVerdict) bool { return v.Pod.Controller != nil })
}

// absent returns how many pods the PDB expects that do not exist or never become ready, and how many it counts that are over
// or terminating.
func (h *heldByBudget) absent() (absent, over int) {
	lacks := max(0, int(*h.budget.Most+h.budget.MinHealthy)-h.live)
	if h.budget.CountsPods {
		return len(h.stuck), lacks
	}
	return lacks + len(h.stuck), 0
}

// asked names the pods that the PDB is asked for.
func (h *heldByBudget) asked() string {
	pods := make([]string, len(h.pods))
	for i, v := range h.pods {
		pods[i] = v.Pod.Key()
	}
	return some(pods)
}

// lacking words which pods do not exist or are stuck.
func (h *heldByBudget) lacking(absent int) string {
	var parts []string
	switch n := absent - len(h.stuck); n {
	case 0:
	case 1:
		parts = append(parts, "1 of its pods does not exist")
	default:
		parts = append(parts, fmt.Sprintf("%d of its pods do not exist", n))
	}
	if n := len(h.stuck); n > 0 {
		parts = append(parts, fmt.Sprintf("%s terminating and not gone (%s)", isAre(n), some(h.stuck)))
	}
	return strings.Join(parts, ", ")
}

func unreadyToo(pods int) string {
	if pods == 0 {
		return ""
	}
	return fmt.Sprintf(", %s not ready", isAre(pods))
}

func unavailable(pods int) string {
	if pods == 1 {
		return "1 unavailable pod"
	}
	return fmt.Sprintf("%d unavailable pods", pods)
}

func isAre(pods int) string {
	if pods == 1 {
		return "1 of them is"
	}
	return fmt.Sprintf("%d of them are", pods)
}

func theyAre(pods int) string {
	if pods == 1 {
		return "one is"
	}
	return fmt.Sprintf("%d are", pods)
}

// some names the first few.
func some(names []string) string {
	const few = 3
	if len(names) <= few {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:few], ", "), len(names)-few)
}
