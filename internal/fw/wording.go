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
	// Nodes are the names of those that change, where nodes are written to themselves.
	Nodes []string
	// Many is set where more than one node is meant.
	Many bool
	// Began says that the apply which is refused has begun: what comes before these
	// taints may be written, of this resource and of others.
	Began bool
	// Left says what a change that is refused has left, where that is neither nothing nor
	// what Began stands for.
	Left string
	// RefusesStranded says that apply refuses to strand pods.
	RefusesStranded bool
	// Rescue says how the resource can have pods tolerate a new taint first;
	// empty for a kubetaint_workload_tolerations that tolerated_by names.
	Rescue string
	// Instead says what to do in place of a change that a budget refuses; empty for what is
	// said of taints.
	Instead string
}

// advice says what stranded pods are and what to do about them.
func (s Subject) advice() string {
	rescue := cmp.Or(s.Rescue, "add a kubetaint_workload_tolerations for it and name its id in tolerated_by of this resource (and remove a depends_on that puts these taints before the tolerations)")
	return "A pod is stranded if it tolerates a taint that is removed, and so belongs on these nodes, but does not tolerate the taint that replaces it. " +
		"Let these pods tolerate the new taint first: " + rescue + ". To write the taints all the same, set evictions = { stranded = \"evict\" }."
}

// instead says what to do about a budget that is exceeded, beside changing it.
func (s Subject) instead() string {
	if s.Instead != "" {
		return s.Instead
	}
	if s.What != "" {
		return "Tolerations do not keep pods from leaving here: choose other machines or nodes"
	}
	return "Add tolerations to the pods that are meant to stay, choose other nodes"
}

// written says what a refused change has left.
func (s Subject) written() string {
	if s.Left != "" {
		return s.Left
	}
	if !s.Began {
		return "Nothing has been written."
	}
	where := s.Where
	switch len(s.Nodes) {
	case 0:
	case 1:
		where = "node " + s.Nodes[0]
	default:
		where = "nodes " + Some(s.Nodes)
	}
	return "This apply has written no taint to " + where + ". What it wrote before, such as tolerations or other taints, stays as it is."
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
		summary = s.String() + " evicts no pods, but " + Count(stranded, "pod") + " could not be scheduled there again"
	case hedges.pods > 0:
		summary = s.String() + " evicts no pods, but " + Count(hedges.pods, "pod") + " might not be scheduled there again"
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
		b.WriteString("\n\nApply writes no taint while pods are stranded. " + s.advice())
	}
	if budgets := budgetLines(report); len(budgets) > 0 {
		b.WriteString("\n\nPodDisruptionBudgets of these pods (taint eviction ignores them, a drain obeys them):\n" + strings.Join(budgets, "\n"))
	}
	if total.Pending+total.Awaiting+stuck > 0 {
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
	if gone := total.Gone(); gone > 0 {
		notes = append(notes, fmt.Sprintf("%d will not come back", gone))
	}
	if total.Awaiting > 0 {
		notes = append(notes, CountVerb(total.Awaiting, "waits for new machines", "wait for new machines"))
	}
	if len(notes) > 0 {
		out += " (" + strings.Join(notes, ", ") + ")"
	}
	return out
}

// fates words what becomes of the pods that leave and have no place at once. No pod is
// counted twice.
func fates(total eviction.Summary) string {
	var out string
	if gone := total.Gone(); gone > 0 {
		out = fmt.Sprintf(" %d will not come back as the cluster is now:", gone)
	}
	for _, one := range []struct {
		pods      int
		one, many string
	}{
		{total.Lost, "has no controller and is not recreated.", "have no controller and are not recreated."},
		{total.Rejected, "is not recreated, because its namespace does not allow its tolerations.", "are not recreated, because their namespaces do not allow their tolerations."},
		{total.Daemons, "belongs to a DaemonSet and is not recreated before its node allows it again.", "belong to DaemonSets and are not recreated before their nodes allow them again."},
		{total.Pending, "would be recreated but stay Pending, because no other node would take it.", "would be recreated but stay Pending, because no other node would take them."},
		{total.Awaiting, "would be recreated but stay Pending until new machines are ready.", "would be recreated but stay Pending until new machines are ready."},
	} {
		if one.pods > 0 {
			out += " " + CountVerb(one.pods, one.one, one.many)
		}
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
		out = Count(total.Unknown, "pod") + " might leave."
	default:
		out = CountVerb(total.Evicted(), "pod leaves", "pods leave") + ": " + strings.Join(parts, ", ") + "."
		if total.Unknown > 0 {
			out += fmt.Sprintf(" %d more might leave.", total.Unknown)
		}
	}
	return out + fates(total) + "\n"
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
	return fmt.Sprintf("%d %s", n, Agree(n, one, many))
}

// Agree chooses the word that agrees with a number.
func Agree(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}
