// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package message

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	corev1 "k8s.io/api/core/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/eviction"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/planner"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/toleration"
)

// GivenUp reports why tolerations are removed now: which attribute asks for it, in words, and
// what to do where that is not wanted.
type GivenUp struct {
	At           path.Path
	Why, Instead string
}

// WarnDisplaced reports which pods lose their places because tolerations are removed immediately.
// The subject begins the sentence, as that of WarnCost.
func WarnDisplaced(subject string, displaced planner.Displacement, given GivenUp, diags *diag.Diagnostics) {
	pods := slices.DeleteFunc(slices.Clone(displaced.Pods), func(d planner.Displaced) bool { return d.Shortened })
	if len(pods) == 0 {
		return
	}
	atOnce := countOf(pods, planner.Displaced.AtOnce)
	summary := fmt.Sprintf("%s immediately: %s on nodes tainted %s", subject, CountVerb(len(pods), "pod loses its place", "pods lose their place"), under(pods))
	if atOnce > 0 {
		const deleted = "deleted immediately by the DaemonSet controller"
		summary += "; " + portion(atOnce, len(pods), "is "+deleted, "are "+deleted, "all of them are "+deleted)
	}
	alone := countOf(pods, homelessBy)
	restarted, may, which := crowded(displaced.Rolled, displaced.Missing)
	if which != "" {
		summary += fmt.Sprintf("; this %s a rollout: no node takes %s of %s", stops(may), Number(displaced.Missing), Count(restarted, "new pod"))
	} else if alone > 0 {
		summary += "; " + portion(alone, len(pods), "fits on no other node", "fit on no other node", "none of them fits on another node")
	}
	var b strings.Builder
	b.WriteString(given.Why + ": their nodes have taints that the new pod template does not tolerate.\n")
	listLosses(&b, pods)
	if which != "" {
		b.WriteString("\n\n" + which + "\n\n" + beside)
	} else if alone > 0 {
		b.WriteString("\n\nEach pod is judged independently of the others. Where a pod fits no other node, the rollout does not finish.")
	}
	b.WriteString("\n\n" + given.Instead)
	if which != "" || alone > 0 {
		b.WriteString(" If the rollout does not finish, add the old toleration again and apply.")
	}
	diags.AddAttributeWarning(given.At, summary, b.String())
}

func countOf(pods []planner.Displaced, is func(planner.Displaced) bool) (n int) {
	for _, d := range pods {
		if is(d) {
			n++
		}
	}
	return n
}

// portion says of some of so many pods what they do.
func portion(n, of int, one, many, all string) string {
	switch {
	case of == 1:
		return "it " + one
	case n == of:
		return all
	}
	return fmt.Sprintf("%d of the %d %s", n, of, Agree(n, one, many))
}

// WarnShortened reports which pods are evicted because their tolerations come to last for
// a shorter time. Those that do not follow their template keep what they have.
func WarnShortened(subject string, pods []planner.Displaced, at path.Path, diags *diag.Diagnostics) {
	pods = slices.DeleteFunc(slices.Clone(pods), func(d planner.Displaced) bool { return !d.Shortened || d.Hold != "" })
	if len(pods) == 0 {
		return
	}
	shortest, longest := toleration.Forever, int64(0)
	for _, d := range pods {
		shortest, longest = min(shortest, d.Lasts()), max(longest, d.Lasts())
	}
	when := fmt.Sprintf("%ds", shortest)
	if longest != shortest {
		when += " or more"
	}
	var b strings.Builder
	b.WriteString("The taints are on their nodes already, and pods of the new template tolerate them for a shorter time: each is evicted when that time is over. Its replacement may be scheduled on the same node, and be evicted again.\n")
	listLosses(&b, pods)
	b.WriteString("\n\nIf these pods are to stay, leave out toleration_seconds.")
	diags.AddAttributeWarning(at, fmt.Sprintf("%s evicts %s %s after %s recreated on nodes tainted %s",
		subject, Count(len(pods), "pod"), when, Agree(len(pods), "it is", "they are"), under(pods)), b.String())
}

// under names the taints by which pods lose their places.
func under(pods []planner.Displaced) string {
	var taints []corev1.Taint
	for _, d := range pods {
		for _, l := range d.Losses {
			if !slices.ContainsFunc(taints, func(t corev1.Taint) bool { return taint.Format(t) == taint.Format(l.Taint) }) {
				taints = append(taints, l.Taint)
			}
		}
	}
	taints = taint.Sort(taints)
	if len(taints) > 2 {
		return fmt.Sprintf("%s and %d more", taint.Format(taints[0]), len(taints)-1)
	}
	return taint.FormatAll(taints)
}

func listLosses(b *strings.Builder, pods []planner.Displaced) {
	report := &eviction.Report{}
	for _, d := range pods {
		report.Pods = append(report.Pods, eviction.PodVerdict{Pod: d.Pod, Owner: d.Owner, Verdict: eviction.Stays, NoPlace: true, Reason: lossOf(d)})
	}
	list(b, report)
}

// homelessBy reports that the pod is replaced by one that no node takes.
func homelessBy(d planner.Displaced) bool {
	return d.Hold == "" && !d.Owner.DaemonSet() && !d.Found
}

// lossOf words what becomes of a pod and of its replacement.
func lossOf(d planner.Displaced) string {
	var names []string
	for _, l := range d.Losses {
		names = append(names, taint.Format(l.Taint))
	}
	shortest := d.Lasts()
	tainted := "tainted " + strings.Join(names, ", ")
	fate := "replaced"
	if d.Hold != "" {
		fate = "stays for now (" + d.Hold + ")"
	}
	switch {
	case d.AtOnce():
		return "deleted immediately, regardless of its update strategy, and not recreated while its node is " + tainted
	case shortest != toleration.Untolerated:
		return fmt.Sprintf("%s; its replacement is evicted after %ds from a node that is %s", fate, shortest, tainted)
	case d.Owner.DaemonSet() && d.Hold == "":
		return "deleted by the rollout, and not recreated while its node is " + tainted
	case d.Owner.DaemonSet():
		return fate + "; once it is deleted, it is not recreated while its node is " + tainted
	case d.Found && d.Crowded:
		return fate + "; its replacement cannot be scheduled on this node (" + tainted + "), but on another node while that node has room"
	case d.Found:
		return fate + "; its replacement cannot be scheduled on this node (" + tainted + "), but on another"
	}
	return fate + "; its replacement cannot be scheduled on this node (" + tainted + "), nor on any other: " + d.Obstacles
}
