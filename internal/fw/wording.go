// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package fw

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/eviction"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
)

// Subject is what a warning is about.
type Subject struct {
	// Verb is what is done, such as "Applying"; Taints what it is done with.
	Verb   string
	Taints []corev1.Taint
	// What takes the taints' place where none is written, and pods leave whatever they
	// tolerate.
	What string
	// Preposition joins verb and place: "to", "on", "from".
	Preposition string
	// Where names the nodes: `node "worker-3"` or `40 nodes matching "pool=gpu"`.
	Where string
	// Many is set where more than one node is meant.
	Many bool
	// Began says that the apply which is refused has begun: what comes before these
	// taints may be written, of this resource and of others.
	Began bool
	// RefusesStranded says that apply refuses to strand pods.
	RefusesStranded bool
	// Rescue says how the resource can have pods tolerate a new taint first;
	// empty for a kubetaint_workload_tolerations that tolerated_by names.
	Rescue string
}

// advice says what stranded pods are and what to do about them.
func (s Subject) advice() string {
	rescue := cmp.Or(s.Rescue, "add a kubetaint_workload_tolerations for it, and name its id in tolerated_by here, so that it comes first (and take out a depends_on that puts these taints before the tolerations)")
	return "Pods that tolerate a taint which goes, and not the one which comes in its place, were meant to be on these nodes. " +
		"Let them tolerate the new taint first: " + rescue + ". To evict these pods all the same, set evictions = { stranded = \"evict\" }."
}

// wayOut says what to do about a budget that is exceeded.
func (s Subject) wayOut() string {
	if s.What != "" {
		return "Tolerations keep no pod from it: choose other machines or nodes, or raise the budget in evictions."
	}
	return "Add tolerations to the pods that are meant to stay, choose other nodes, or raise the budget in evictions."
}

// written says what a refused change has left.
func (s Subject) written() string {
	if !s.Began {
		return "Nothing has been written."
	}
	return "No taint of this change has been written to " + s.Where + ". What was written before, such as tolerations, stays as it is."
}

// String returns the beginning of a sentence.
func (s Subject) String() string {
	what := cmp.Or(s.What, taint.FormatAll(s.Taints))
	if len(s.Taints) > 2 {
		what = fmt.Sprintf("%s and %d more taints", taint.FormatAll(s.Taints[:1]), len(s.Taints)-1)
	}
	return strings.Join(slices.DeleteFunc([]string{s.Verb, what, s.Preposition, s.Where}, func(part string) bool { return part == "" }), " ")
}

// What the answer to "would another node take it?" rests on, and what may make it
// wrong.
const (
	Judged        = "Whether another node would take a pod is judged by taints, cordons, node selector, required node affinity, bound volumes and requests, for each pod as if it came alone."
	NotConsidered = "Pod affinity and anti-affinity, topology spread, volumes that are not bound yet and nodes that an autoscaler would add are not considered."
)

// Preview words a report as a warning. The summary alone carries the danger:
// command lines fold warnings with equal summaries, and -compact-warnings shows
// nothing else. It returns an empty summary where there is nothing to warn of.
func Preview(s Subject, report *eviction.Report) (summary, detail string) {
	total := report.Summary()
	stuck, misscheduled := notable(report)
	stranded, hedges := countStranded(report), countHedges(report)
	switch {
	case total.Affected() > 0:
		summary = s.String() + " " + effect(total, report, s.Many)
	case stuck+misscheduled > 0:
		summary = s.String() + " evicts no pods, but " + leftovers(stuck, misscheduled)
	case stranded > 0:
		summary = s.String() + " evicts no pods, but they could not be put there again"
	case hedges.pods > 0:
		summary = s.String() + " evicts no pods, but " + Count(hedges.pods, "pod") + " may not be put there again"
	default:
		return "", ""
	}
	summary += hedges.reservation(s.RefusesStranded, stranded, total.Affected())
	var b strings.Builder
	b.WriteString(introduction(total))
	list(&b, report)
	if hedges.pods > 0 {
		b.WriteString("\n\n" + hedges.advice(s.RefusesStranded))
	}
	if s.RefusesStranded && stranded > 0 {
		b.WriteString("\n\nApply writes nothing as long as pods are stranded. " + s.advice())
	}
	if budgets := budgetLines(report); len(budgets) > 0 {
		b.WriteString("\n\nPodDisruptionBudgets of these pods (a taint does not ask them, a drain obeys them):\n" + strings.Join(budgets, "\n"))
	}
	if total.NotReschedulable+total.Awaiting+stuck > 0 {
		b.WriteString("\n\n" + Judged + " " + NotConsidered)
	}
	for _, gap := range report.Gaps {
		b.WriteString("\n\nNot complete: " + gap + ".")
	}
	return summary, b.String()
}

func effect(total eviction.Summary, report *eviction.Report, many bool) string {
	workloads := ""
	if many {
		n := 0
		for _, w := range report.Workloads() {
			if w.Summary.Affected() > 0 {
				n++
			}
		}
		workloads = " of " + Count(n, "workload")
	}
	var out string
	switch {
	case total.Evicted() == 0:
		out = "may evict " + Count(total.Unknown, "pod") + workloads
	case total.Unknown == 0:
		out = "evicts " + Count(total.Evicted(), "pod") + workloads
	default:
		out = fmt.Sprintf("evicts %s and may evict %d more%s", Count(total.Evicted(), "pod"), total.Unknown, workloads)
	}
	var notes []string
	if total.Gone > 0 {
		notes = append(notes, fmt.Sprintf("%d will not come back", total.Gone))
	}
	if total.Awaiting > 0 {
		notes = append(notes, fmt.Sprintf("%d only on new machines", total.Awaiting))
	}
	if len(notes) > 0 {
		out += " (" + strings.Join(notes, ", ") + ")"
	}
	return out
}

// notable counts pods that stay and that there is yet something to say about.
func notable(report *eviction.Report) (stuck, misscheduled int) {
	for _, v := range report.Pods {
		switch {
		case v.Verdict != eviction.Stays:
		case v.Misscheduled:
			misscheduled++
		case !v.Reschedulable:
			stuck++
		}
	}
	return stuck, misscheduled
}

func leftovers(stuck, misscheduled int) string {
	var parts []string
	if stuck > 0 {
		parts = append(parts, Count(stuck, "pod")+" could not be scheduled again")
	}
	if misscheduled > 0 {
		parts = append(parts, Count(misscheduled, "DaemonSet pod")+" will be mis-scheduled")
	}
	return strings.Join(parts, " and ")
}

func introduction(total eviction.Summary) string {
	var parts []string
	add := func(n int, what string) {
		if n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, what))
		}
	}
	add(total.EvictedNow, "at once")
	add(total.EvictedAfter, "after a delay")
	add(total.Drained, "by a drain")
	var out string
	switch {
	case total.Affected() == 0:
		return "No pod leaves. These pods are affected all the same:\n"
	case total.Evicted() == 0:
		out = CountVerb(total.Unknown, "pod may leave", "pods may leave") + "."
	default:
		out = CountVerb(total.Evicted(), "pod leaves", "pods leave") + ": " + strings.Join(parts, ", ") + "."
		if total.Unknown > 0 {
			out += fmt.Sprintf(" %d more may leave.", total.Unknown)
		}
	}
	if total.Lost > 0 {
		out += " " + CountVerb(total.Lost, "has no controller and is", "have no controller and are") + " not made again."
	}
	if total.NotReschedulable > 0 {
		out += fmt.Sprintf(" No other node would take %d of them.", total.NotReschedulable)
	}
	if total.Awaiting > 0 {
		out += fmt.Sprintf(" Only new machines would take %d of them, once these are ready.", total.Awaiting)
	}
	return out + "\n"
}

// Sentence words one verdict.
func Sentence(v eviction.PodVerdict) string {
	var out string
	switch v.Verdict {
	case eviction.EvictedNow:
		out = "evicted now, " + v.Reason
	case eviction.EvictedAfter:
		out = fmt.Sprintf("evicted after %d s, %s", v.AfterSeconds, v.Reason)
	case eviction.Drained:
		out = "evicted because " + v.Reason
	case eviction.Unknown:
		out = "unknown, " + v.Reason
	default:
		out = v.Reason
	}
	if v.Leaves() && v.Pod.LocalData && !v.Pod.Completed {
		out += "; its emptyDir data is deleted"
	}
	return out
}

func budgetLines(report *eviction.Report) []string {
	var out []string
	for _, v := range report.Pods {
		if v.Budget == "" {
			continue
		}
		line := "  " + v.Pod.Namespace + "/" + v.Budget
		if !slices.Contains(out, line) {
			out = append(out, line)
		}
	}
	slices.Sort(out)
	if len(out) > 5 {
		out = append(out[:5], fmt.Sprintf("  … and %d more", len(out)-5))
	}
	return out
}

// Count writes a number with its noun: "1 pod", "2 pods".
func Count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// CountVerb writes a number with the verb that agrees with it.
func CountVerb(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
