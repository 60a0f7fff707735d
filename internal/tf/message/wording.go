// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package message

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/eviction"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
)

// Subject is what a warning is about.
type Subject struct {
	// Verb is what is done, such as "Applying"; Taints what it is done with.
	Verb   string
	Taints []corev1.Taint
	// It takes the taints' place where none is written, and pods are evicted whatever they
	// tolerate.
	What string
	// Preposition joins verb and place: "to", "on", "from".
	Preposition string
	// Where names the nodes: `node "worker-3"` or `40 nodes matching "pool=gpu"`.
	Where string
	// Nodes are the names of those that change, where nodes are written to themselves.
	Nodes []string
	// Began reports that the apply which is refused has begun: what comes before these
	// taints may be written, of this resource and of others.
	Began bool
	// Left reports what a change that is refused has left, where that is neither nothing nor
	// what Began stands for.
	Left string
	// RefusesStranded reports that apply refuses to strand pods.
	RefusesStranded bool
	// Rescue reports how the resource can have pods tolerate a new taint first;
	// empty for a kubetaint_workload_tolerations that tolerated_by names.
	Rescue string
	// Instead reports what to do in place of a change that a limit refuses; empty for what is
	// said of taints.
	Instead string
	// Unmodelled is what the preview names beside what the report has.
	Unmodelled snapshot.Unmodelled
}

// advice reports what stranded pods are and what to do about them.
func (s Subject) advice() string {
	rescue := cmp.Or(s.Rescue, "add a kubetaint_workload_tolerations, and name its id in tolerated_by of this resource. Remove a depends_on that puts these taints before the tolerations")
	return "A pod is stranded if it tolerates a taint that is removed, but not the taint that replaces it. " +
		"Let these pods tolerate the new taint first: " + rescue + ". To write the taints all the same, set evictions = { stranded = \"evict\" }."
}

// instead reports what to do about a limit that is exceeded, beside changing it.
func (s Subject) instead() string {
	if s.Instead != "" {
		return s.Instead
	}
	if s.What != "" {
		return "Tolerations do not keep these pods: choose other machines or nodes"
	}
	return "Add tolerations to the pods that must stay, choose other nodes"
}

// written reports what a refused change has left.
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

// notModelled names what a simulation does not know and what may make its outcome wrong, "" where none has
// been made. Nodes of an autoscaler, devices and other schedulers are named where pods at hand need them.
func notModelled(s Subject, report *eviction.Report) string {
	out := report.Outcome()
	if out.Orders == 0 {
		return ""
	}
	var parts []string
	if out.Unplaced.Max > 0 {
		parts = append(parts, autoscaled(s.Unmodelled.NodeGroups)...)
	}
	if out.UnknownQuotas {
		parts = append(parts, "quotas")
	}
	if n := len(out.UnmodelledQuotas); n > 0 {
		parts = append(parts, map[bool]string{true: "quota ", false: "quotas "}[n == 1]+Some(out.UnmodelledQuotas))
	}
	if out.UnknownRanges {
		parts = append(parts, "LimitRanges")
	}
	if n := len(out.UnmodelledRanges); n > 0 {
		parts = append(parts, map[bool]string{true: "LimitRange ", false: "LimitRanges "}[n == 1]+Some(out.UnmodelledRanges))
	}
	if out.UnknownClasses {
		parts = append(parts, "PriorityClasses")
	}
	if out.UnknownVolumeLimits {
		parts = append(parts, "volume limits")
	}
	parts = append(parts, out.UnmodelledStorage...)
	if report.UnknownJobs || out.UnreadJobs {
		parts = append(parts, "backoffLimit of Jobs")
	}
	parts = append(append(parts, unmodelledPods(report)...), webhooks(s.Unmodelled)...)
	parts = append(parts, profile(s.Unmodelled)...)
	if len(parts) == 0 {
		return ""
	}
	text := "Not modelled:"
	for i, part := range parts {
		part += map[bool]string{false: ",", true: "."}[i == len(parts)-1]
		space := " "
		if width := len(text) - strings.LastIndexByte(text, '\n') - 1; width+len(part) >= tableWidth {
			space = "\n  "
		}
		text += space + part
	}
	return text
}

// fewOrders reports that the cluster is too large for all orders, "" where all were tried.
func fewOrders(report *eviction.Report) string {
	out := report.Outcome()
	switch {
	case out.Cut:
		return fmt.Sprintf("Large cluster: 1 of %d orders was tried in part. Fewer pods may be Pending.", out.Wanted)
	case out.Orders < out.Wanted:
		return fmt.Sprintf("%d of %d orders were tried, since the plan or the cluster is large. Ranges may be wider.", out.Orders, out.Wanted)
	}
	return ""
}

// unmodelledPods names what of the evicted pods a simulation does not know.
func unmodelledPods(report *eviction.Report) (parts []string) {
	out := report.Outcome()
	var schedulers []string
	devices, ephemeral, inline, resized := 0, 0, 0, 0
	count := func(n *int, is bool) {
		if is {
			*n++
		}
	}
	for _, v := range report.Pods {
		group := out.Of(v.Pod)
		if group == nil {
			continue
		}
		count(&ephemeral, group.UnknownVolumes)
		count(&inline, v.Pod.Inline)
		d := v.Pod.Requests()
		count(&devices, d.Devices)
		count(&resized, d.Resized)
		if d.Scheduler != "" && !slices.Contains(schedulers, d.Scheduler) {
			schedulers = append(schedulers, d.Scheduler)
		}
	}
	if devices > 0 {
		parts = append(parts, "the devices that "+CountVerb(devices, "pod claims", "pods claim"))
	}
	if ephemeral > 0 {
		parts = append(parts, "ephemeral volumes of "+Count(ephemeral, "pod"))
	}
	if inline > 0 {
		parts = append(parts, "limits of the inline volumes of "+Count(inline, "pod"))
	}
	if resized > 0 {
		parts = append(parts, "requests of "+CountVerb(resized, "pod that may have been resized", "pods that may have been resized"))
	}
	if slices.Sort(schedulers); len(schedulers) > 0 {
		parts = append(parts, "scheduler "+Some(schedulers))
	}
	return parts
}

// Preview words a report as a warning. The summary alone carries the danger:
// command lines fold warnings with equal summaries, and -compact-warnings shows
// nothing else. It returns an empty summary where there is nothing to warn of.
func Preview(s Subject, report *eviction.Report) (summary, detail string) {
	total := report.Summary()
	stuck, misscheduled := notable(report)
	stranded, hedges := CountStranded(report), countHedges(report)
	switch {
	case total.Affected() > 0:
		summary = s.String() + " " + effect(total, report)
	case stuck+misscheduled > 0:
		summary = s.String() + " " + Removes(report) + " no pods, but " + leftovers(stuck, misscheduled)
	case remaining(report) > 0:
		summary = s.String() + " " + Removes(report) + " no pods, but " + CountVerb(remaining(report), "pod of its workloads stays", "pods of its workloads stay") + " there"
	case stranded > 0:
		summary = s.String() + " " + Removes(report) + " no pods, but " + Count(stranded, "pod") + " could not be scheduled there again"
	case hedges.pods > 0:
		summary = s.String() + " " + Removes(report) + " no pods, but " + Count(hedges.pods, "pod") + " might not be scheduled there again"
	case report.Outcome().Others.Caused().Max > 0:
		summary = s.String() + " " + Removes(report) + " no pods, but takes room: " + takesRoom(report)
	case len(report.Restarting) > 0:
		summary = s.String() + " " + Removes(report) + " no pods"
	case total.Preempted.Max+total.Pending.Max > 0:
		summary = s.String() + " " + Removes(report) + " no pods, but new pods " + rolled(total) + ": " + dangers(total, report)
	case total.Completed > 0:
		verb := " deletes "
		if total.CompletedUnknown == total.Completed {
			verb = " may delete "
		}
		return s.String() + verb + Count(total.Completed, "completed pod"), "No running pod is " + Removed(report) + "."
	default:
		return "", ""
	}
	summary = andRestarting(summary, total.Affected(), report) + hedges.reservation(s.RefusesStranded, stranded, total.Affected())
	var b strings.Builder
	table(&b, report, s.RefusesStranded)
	for _, aside := range Asides(s, report) {
		b.WriteString("\n\n" + aside)
	}
	return summary, strings.TrimPrefix(b.String(), "\n")
}

// Asides returns what neither the summary nor the table of Preview holds, in paragraphs.
func Asides(s Subject, report *eviction.Report) []string {
	var out []string
	total, stranded, hedges := report.Summary(), CountStranded(report), countHedges(report)
	if sure := total.Completed - total.CompletedUnknown; sure > 0 {
		out = append(out, CountVerb(sure, "completed pod is", "completed pods are")+" deleted as well.")
	}
	if total.CompletedUnknown > 0 {
		out = append(out, Count(total.CompletedUnknown, "completed pod")+" may be deleted as well.")
	}
	if slices.ContainsFunc(report.Pods, gated) {
		out = append(out, "To make MAYBE certain, set comparison_operators in the provider block.")
	}
	if total.Again.Max > 0 {
		out = append(out, endReturns(report)...)
	}
	if hedges.pods > 0 {
		out = append(out, hedges.advice(s.RefusesStranded))
	}
	if first := restartsFirst("Pods of these workloads restart in the same run. They are evicted as well if they are placed on these nodes before the change", report.Restarting); first != "" {
		out = append(out, first)
	}
	if s.RefusesStranded && stranded > 0 {
		out = append(out, "Apply writes no taint while pods are stranded. "+s.advice())
	}
	if others := together(report); others != "" {
		out = append(out, others)
	}
	if tried := fewOrders(report); tried != "" {
		out = append(out, tried)
	}
	if missing := notModelled(s, report); missing != "" {
		out = append(out, missing)
	}
	for _, gap := range report.Gaps {
		out = append(out, "Not complete: "+gap+".")
	}
	return out
}

// Removed is what becomes of the pods of a report: taints and most drains evict them.
func Removed(report *eviction.Report) string {
	if report.Deletes {
		return "deleted"
	}
	return "evicted"
}

// Removes is what a change does with the pods of a report.
func Removes(report *eviction.Report) string {
	if report.Deletes {
		return "deletes"
	}
	return "evicts"
}

// effect words how many pods are evicted, and what of that is dangerous.
func effect(total eviction.Summary, report *eviction.Report) string {
	var out string
	switch {
	case report.Deletes:
		// A drain leaves no doubt which pods it deletes.
		out = "deletes " + Count(total.Evicted(), "pod") + ", bypassing PodDisruptionBudgets"
	case total.Evicted() == 0:
		out = "may evict " + Count(total.Unknown, "pod")
	case total.Unknown == 0:
		out = "evicts " + Count(total.Evicted(), "pod")
	default:
		out = fmt.Sprintf("evicts %s and may evict %d more", Count(total.Evicted(), "pod"), total.Unknown)
	}
	if more := dangers(total, report); more != "" {
		out += ": " + more
	}
	return out
}

// rolled words what new pods of a rollout do that replace no evicted ones.
func rolled(total eviction.Summary) string {
	if total.Preempted.Max > 0 {
		return "preempt others"
	}
	return "find no node"
}

// dangers lists what is worse than that pods are evicted and run elsewhere, "" for nothing.
func dangers(total eviction.Summary, report *eviction.Report) string {
	var out []string
	add := func(n eviction.Range, what string) {
		if n.Max > 0 {
			out = append(out, Number(n)+" "+what)
		}
	}
	lost, pending := "lost", "pending"
	if deleted := total.Ended.Plus(total.Deleted); deleted.Max > 0 {
		lost = fmt.Sprintf("lost (%s deleted by failed Jobs)", Number(deleted))
	}
	add(total.LostPods(), lost)
	if total.Awaiting.Max > 0 {
		pending = fmt.Sprintf("pending (%s until new machines are ready)", Number(total.Awaiting))
	}
	add(total.Refused, "not created")
	add(total.Unplaced, pending)
	add(report.Outcome().Others.Caused(), "pending of other resources")
	if report.Outcome().OnDrained {
		add(total.Again, "back on drained nodes")
	} else {
		add(total.Again, "evicted repeatedly")
	}
	add(total.Preempted, "preempted elsewhere")
	add(exactly(beyond(report)), "beyond a PodDisruptionBudget")
	add(exactly(total.Daemons), "of DaemonSets")
	return strings.Join(out, ", ")
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
