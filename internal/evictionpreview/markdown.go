// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package evictionpreview

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/eviction"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/fw"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/machineset"
)

// What bounds the length, so that the text fits into a comment of a forge,
// which takes some 65,000 characters.
const (
	maxPods      = 50
	maxWorkloads = 50
	maxBudgets   = 10
	maxDoubts    = 20
)

// markdown writes the preview for a pull request.
func (w whatIf) markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "### %s\n", escape(w.heading()))
	w.table(&b)
	w.timeline(&b)
	w.machines(&b)
	w.notes(&b)
	return b.String()
}

// heading is the sentence that is enough alone.
func (w whatIf) heading() string {
	summary, _ := fw.Preview(w.subject(), w.report)
	if w.fleet != nil {
		summary, _ = fw.RolloutCost(w.subject(), w.fleet.sets, w.fleet.atOnce, summary, "")
	}
	switch {
	case w.matched == 0:
		return w.nothing()
	case w.fleet != nil && w.fleet.rollout.Strategy == machineset.TemplateOnly:
		return w.subject().String() + " leaves the machines that exist as they are, and evicts no pods"
	case summary != "":
		return summary
	case len(w.report.Nodes) == 0 && w.fleet != nil:
		return w.subject().String() + " changes no machine"
	case len(w.report.Nodes) == 0:
		return w.subject().String() + " changes nothing: " + w.already()
	}
	return w.subject().String() + " evicts no pods"
}

// nothing says that there is nothing to change.
func (w whatIf) nothing() string {
	about := w.subject()
	about.Preposition, about.Where = "", ""
	what := about.String()
	what = strings.ToLower(what[:1]) + what[1:] + " changes nothing"
	switch {
	case w.fleet != nil && w.fleet.target.Selector != nil:
		return fmt.Sprintf("No MachineSet matches %q: %s", w.fleet.target.Selector, what)
	case w.fleet != nil:
		return "There is no " + w.fleet.target.Place() + ": " + what
	case w.target.Selector != nil:
		return fmt.Sprintf("No node matches %q: %s", w.target.Selector, what)
	}
	return fmt.Sprintf("There is no node %q: %s", w.target.Name, what)
}

// already says that the nodes are as the change would make them.
func (w whatIf) already() string {
	out := fw.Agree(w.matched, "the node already ", "the nodes already ")
	has, lacks := fw.Agree(w.matched, "has ", "have ")+fw.Agree(len(w.taints), "it", "them"), fw.Agree(w.matched, "lacks ", "lack ")+fw.Agree(len(w.absent), "it", "them")
	switch {
	case len(w.absent) == 0:
		return out + has
	case len(w.taints) == 0:
		return out + lacks
	}
	return fw.Agree(w.matched, "the node is", "the nodes are") + " already like that"
}

// table rolls the pods up by workload.
func (w whatIf) table(b *strings.Builder) {
	workloads := slices.DeleteFunc(w.report.Workloads(), func(l eviction.Workload) bool { return !notable(l) })
	if len(workloads) == 0 {
		return
	}
	b.WriteString("\n| Workload | Namespace | Now | Later | Drained | Perhaps | Stay | Not recreated | Pending | Preempted |\n")
	b.WriteString("| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n")
	for _, l := range workloads[:min(len(workloads), maxWorkloads)] {
		s := l.Summary
		fmt.Fprintf(b, "| %s | %s | %d | %d | %d | %d | %d | %d | %s | %s |\n", escape(l.Owner.String()), escape(l.Namespace),
			s.EvictedNow, s.EvictedAfter, s.Drained, s.Unknown, s.Stays, s.NotRecreated(), fw.Number(s.Pending), fw.Number(s.Preempted))
	}
	if more := len(workloads) - maxWorkloads; more > 0 {
		fmt.Fprintf(b, "\n… and %s\n", fw.Count(more, "more workload"))
	}
}

// moment is a point of the timeline.
type moment struct {
	// rank orders moments before their seconds do.
	rank    int
	seconds int64
}

// momentOf says when a pod leaves.
func momentOf(v eviction.PodVerdict) moment {
	switch v.Verdict {
	case eviction.EvictedNow:
		return moment{rank: 0}
	case eviction.EvictedAfter:
		return moment{rank: 1, seconds: v.AfterSeconds}
	case eviction.Drained:
		return moment{rank: 2}
	case eviction.Unknown:
		return moment{rank: 3}
	default:
		return moment{rank: 4}
	}
}

// String is the heading of the moment.
func (m moment) String() string {
	return [...]string{"Now", fmt.Sprintf("After %d s", m.seconds), "When the node is drained", "Perhaps", "Staying, with something to note"}[m.rank]
}

// timeline lists the pods by the time at which they leave.
func (w whatIf) timeline(b *strings.Builder) {
	pods := slices.DeleteFunc(slices.Clone(w.report.Pods), eviction.PodVerdict.Plain)
	counts := map[moment]int{}
	for _, v := range pods {
		counts[momentOf(v)]++
	}
	// The sort is stable, so that the report's order remains within a moment.
	slices.SortStableFunc(pods, func(x, y eviction.PodVerdict) int {
		m, n := momentOf(x), momentOf(y)
		return cmp.Or(cmp.Compare(m.rank, n.rank), cmp.Compare(m.seconds, n.seconds))
	})
	var last *moment
	for _, v := range pods[:min(len(pods), maxPods)] {
		if m := momentOf(v); last == nil || *last != m {
			fmt.Fprintf(b, "\n**%s**: %s\n\n", m, fw.Count(counts[m], "pod"))
			last = &m
		}
		fmt.Fprintf(b, "- %s on %s: %s\n", code(v.Pod.Key()), code(v.Pod.Node), escape(w.sentence(v)))
	}
	if more := len(pods) - maxPods; more > 0 {
		fmt.Fprintf(b, "\n… and %s\n", fw.Count(more, "more pod"))
	}
}

// sentence is the reason of a verdict whose time the moment has told.
func (w whatIf) sentence(v eviction.PodVerdict) string {
	if v.Leaves() && v.Pod.LocalData && !v.Pod.Completed {
		return w.report.Why(v) + "; its emptyDir data is deleted"
	}
	return w.report.Why(v)
}

// machines says what is missing of MachineSets meanwhile, and what may go wrong.
func (w whatIf) machines(b *strings.Builder) {
	if w.fleet == nil {
		return
	}
	if cost := fw.MachineCost(w.fleet.sets, w.fleet.atOnce); cost != "" {
		b.WriteString("\n**Machines**\n\n")
		for line := range strings.Lines(cost) {
			item, isItem := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "  ")
			if isItem {
				b.WriteString("- ")
			}
			b.WriteString(escape(item) + "\n")
		}
	}
	if len(w.fleet.doubts) > 0 {
		b.WriteString("\n**What may go wrong**\n\n")
		for _, doubt := range w.fleet.doubts[:min(len(w.fleet.doubts), maxDoubts)] {
			fmt.Fprintf(b, "- %s\n", escape(doubt))
		}
	}
}

// notes says what the counts do not.
func (w whatIf) notes(b *strings.Builder) {
	total := w.report.Summary()
	var notes []string
	for _, one := range []struct {
		pods eviction.Range
		what string
	}{
		{exactly(total.Lost), "Lost, because no controller recreates them"},
		{exactly(total.Rejected), "Not recreated, because their namespace does not allow their tolerations"},
		{exactly(total.Daemons), "Not recreated until their node allows it, because pods of a DaemonSet have no other node by design"},
		{total.Pending, "Recreated but Pending, because no node would take them"},
		{exactly(total.Awaiting), "Of these, Pending until new machines are ready"},
		{total.Preempted, "Evicted on other nodes by preemption"},
		{exactly(total.Completed), "Completed, and only their objects are deleted"},
	} {
		if one.pods.Max > 0 {
			notes = append(notes, one.what+": "+fw.Number(one.pods)+" "+fw.Agree(one.pods.Max, "pod", "pods")+".")
		}
	}
	if missing := fw.NotModelled(w.report); missing != "" {
		notes = append(notes, missing)
	}
	if budgets := w.budgets(); len(budgets) > 0 {
		note := "PodDisruptionBudgets: " + strings.Join(budgets[:min(len(budgets), maxBudgets)], "; ")
		if more := len(budgets) - maxBudgets; more > 0 {
			note += fmt.Sprintf("; and %d more", more)
		}
		notes = append(notes, note+".")
	}
	if same := w.matched - len(w.report.Nodes); w.fleet == nil && same > 0 && len(w.report.Nodes) > 0 {
		notes = append(notes, fw.CountVerb(same, "node needs", "nodes need")+" no change.")
	}
	for _, gap := range w.report.Gaps {
		notes = append(notes, "Not complete: "+gap+".")
	}
	if len(notes) == 0 {
		return
	}
	b.WriteString("\n**Notes**\n\n")
	for _, note := range notes {
		fmt.Fprintf(b, "- %s\n", escape(note))
	}
}

func exactly(n int) eviction.Range { return eviction.Range{Min: n, Max: n} }

// budgets lists what the PodDisruptionBudgets are worth, each once.
func (w whatIf) budgets() []string {
	var out []string
	for _, v := range w.report.Pods {
		if v.Budget != "" {
			out = append(out, v.Pod.Namespace+"/"+v.Budget)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// escaper takes the meaning from characters that Markdown gives one: names and
// selectors come from the cluster and the configuration.
var escaper = strings.NewReplacer(
	`\`, `\\`, "|", `\|`, "`", "\\`", "*", `\*`, "_", `\_`, "[", `\[`, "]", `\]`,
	"<", "&lt;", "&", "&amp;", "~", `\~`, "\r", " ", "\n", " ",
	// Neither mentions nor links.
	"@", "&#64;", "://", "&#58;//", "www.", "www&#46;",
)

func escape(s string) string {
	return escaper.Replace(s)
}

// code writes a name as code, in which only the backtick has a meaning.
func code(s string) string {
	return "`" + strings.NewReplacer("`", "'", "\r", " ", "\n", " ").Replace(s) + "`"
}
