// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package message

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/eviction"
)

// Refused words that the limits do not allow a change, at the first attribute of the resource
// that is exceeded, or at the one that could save stranded pods.
func (b Limits) Refused(e *eviction.LimitsError, about Subject, at path.Path) diag.Diagnostic {
	if n := len(e.Stranded); n > 0 {
		var list strings.Builder
		table(&list, e.Report, true)
		return diag.NewAttributeErrorDiagnostic(at, "Unable to "+about.String()+": "+CountVerb(n, "pod tolerates", "pods tolerate")+" the replaced taint, but not the new one",
			about.written()+" "+about.advice()+"\n"+list.String())
	}
	about.Unmodelled = e.Unmodelled
	_, list := Preview(about, e.Report)
	summary := "Unable to " + about.String() + ": " + exceeds(e, e.Exceeded[0])
	detail := about.written() + " " + about.instead() + ", or " + b.change(e) + ".\n\n" + list
	if all := named(e); all != "" {
		detail = all + "\n\n" + detail
	}
	if i := slices.IndexFunc(e.Exceeded, isOnly); i >= 0 {
		detail += "\n\n" + b.approve(e, e.Exceeded[i])
	}
	for _, x := range e.Exceeded {
		if x.Of == "" && b.own(x.Limit) {
			return diag.NewAttributeErrorDiagnostic(path.Root("evictions").AtName(string(x.Limit)), summary, detail)
		}
	}
	return diag.NewErrorDiagnostic(summary, detail)
}

// own reports whether a limit is the resource's own.
func (b Limits) own(limit eviction.Limit) bool {
	return b.OwnBlock && !slices.Contains(b.Inherited, string(limit))
}

// exceeds reports what is exceeded, without a full stop.
func exceeds(e *eviction.LimitsError, x eviction.Excess) string {
	verb := "might"
	if x.Certain {
		verb = "would"
	}
	pods, removed := Count(x.Count, "pod"), Removed(e.Report)
	switch x.Limit {
	case eviction.ProtectedNamespaces:
		return fmt.Sprintf("%s of protected namespaces %s be %s", pods, verb, removed)
	case eviction.ProtectedSelector:
		return fmt.Sprintf("%s that protected_selector %q matches %s be %s", pods, e.Limits.Selector, verb, removed)
	case eviction.MaxPending:
		return fmt.Sprintf("%s %s stay Pending, and max_pending allows %d%s", pods, verb, x.Allowed, Uncreated(x))
	case eviction.MaxLost:
		return fmt.Sprintf("%s %s be lost, and max_lost allows %d", pods, verb, x.Allowed)
	case eviction.Only:
		return unapproved(e, x, verb)
	case eviction.MaxPods:
	}
	return fmt.Sprintf("%s %s be %s%s, and max_pods allows %d", pods, verb, removed, Elsewhere(x), x.Allowed)
}

// Uncreated reports how many of the pods that exceed max_pending are not even created, or evicted by other resources, and
// whether the limit is another resource's, "" for none.
func Uncreated(x eviction.Excess) string {
	var parts []string
	if x.Refused > 0 {
		parts = append(parts, fmt.Sprintf("%d not created", x.Refused))
	}
	if x.Others > 0 {
		parts = append(parts, fmt.Sprintf("%d evicted by other resources", x.Others))
	}
	if x.Of != "" {
		parts = append(parts, "set by another resource")
	}
	if len(parts) == 0 {
		return ""
	}
	return " (" + strings.Join(parts, ", ") + ")"
}

// Elsewhere reports how many of the pods run on nodes that do not change, or belong to Jobs that fail, "" for none.
func Elsewhere(x eviction.Excess) string {
	var parts []string
	if x.Preempted > 0 {
		parts = append(parts, fmt.Sprintf("%d elsewhere, by preemption", x.Preempted))
	}
	if x.Ended > 0 {
		parts = append(parts, fmt.Sprintf("%d deleted by failed Jobs", x.Ended))
	}
	if len(parts) == 0 {
		return ""
	}
	return " (" + strings.Join(parts, ", ") + ")"
}

// named reports what the summary does not: the names of pods, and the other limits.
func named(e *eviction.LimitsError) string {
	var lines []string
	for _, x := range e.Exceeded {
		counts := x.Limit == eviction.MaxPods || x.Limit == eviction.MaxPending
		switch {
		case isOnly(x):
			lines = append(lines, unlisted(e, x)...)
		case !counts:
			lines = append(lines, exceeds(e, x)+": "+Some(x.Pods)+".")
		case len(e.Exceeded) > 1:
			lines = append(lines, exceeds(e, x)+".")
		}
	}
	if slices.ContainsFunc(e.Exceeded, func(x eviction.Excess) bool { return x.Preempted > 0 }) {
		var victims []string
		for _, v := range e.Report.Outcome().Victims {
			victims = append(victims, v.Pod.Key())
		}
		lines = append(lines, "Preemption by replacements evicts elsewhere: "+Some(victims)+".")
	}
	return strings.Join(lines, "\n")
}

// change reports which attributes are to be changed to allow the change of pods, and where they
// are.
func (b Limits) change(e *eviction.LimitsError) string {
	exceeded := e.Exceeded
	var own, inherited, out []string
	for _, x := range exceeded {
		switch {
		case isOnly(x):
		case x.Of != "":
			out = append(out, fmt.Sprintf("%s in evictions of %q", x.Limit, x.Of))
		case b.own(x.Limit):
			own = append(own, string(x.Limit))
		default:
			inherited = append(inherited, string(x.Limit))
		}
	}
	if len(own) > 0 {
		out = append(out, strings.Join(own, " and ")+" in evictions")
	}
	if len(inherited) > 0 {
		out = append(out, strings.Join(inherited, " and ")+" in evictions of the provider block")
	}
	if len(out) > 0 {
		out = []string{"change " + strings.Join(out, " and ")}
	}
	if slices.ContainsFunc(exceeded, isOnly) {
		out = append(out, "approve these "+removals(e)+" as shown below")
	}
	return strings.Join(out, " and ")
}
