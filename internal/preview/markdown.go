// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package preview

import (
	"fmt"
	"strings"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/machineset"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/tf/message"
)

// Bounds of the length, so that the text fits into a comment of a forge,
// which takes some 65,000 characters.
const (
	maxPods      = 50
	maxWorkloads = 50
	maxMoments   = 10
	maxEvents    = 5
	maxDoubts    = 20
)

// Markdown writes the preview for a pull request: what is dangerous first, and what takes room folded.
func (w WhatIf) Markdown() string {
	var b strings.Builder
	table, alert := message.MarkdownTable(w.Report, maxWorkloads)
	switch {
	case len(w.Stuck) > 0:
		alert = message.AlertCaution
	case len(w.Doubts) > 0, w.Unmatched != "":
		alert = max(alert, message.AlertWarning)
	}
	b.WriteString(alert.Markdown(w.Heading()))
	section(&b, StuckHeading, w.FirstStuck())
	if table != "" {
		b.WriteString("\n" + table)
	}
	w.doubts(&b)
	w.machines(&b)
	w.timeline(&b)
	w.notes(&b)
	w.pods(&b)
	return b.String()
}

// Heading is the sentence that is enough alone.
func (w WhatIf) Heading() string {
	heading, _ := w.Words()
	return heading
}

// Words are those of the warning of a plan: a sentence that is enough alone, and the table of the
// workloads with what else there is to tell, "" for nothing.
func (w WhatIf) Words() (heading, detail string) {
	summary, detail := message.Preview(w.Subject(), w.Report)
	if w.MachineSets != nil {
		summary, detail = message.RolloutCost(w.Subject(), w.MachineSets.sets, w.MachineSets.atOnce, summary, detail)
	}
	return w.heading(summary), detail
}

// heading returns the summary, or another sentence where there is nothing to warn of.
func (w WhatIf) heading(summary string) string {
	switch {
	case w.Matched == 0:
		return w.Nothing()
	case w.Unmatched != "":
		return message.NoPods(message.Place(w.Target), *w.Drain)
	case w.MachineSets != nil && w.MachineSets.Rollout.Strategy == machineset.TemplateOnly:
		return w.Subject().String() + " leaves the machines that exist as they are, and evicts no pods"
	case summary != "":
		return summary
	case len(w.Report.Nodes) == 0 && w.MachineSets != nil:
		return w.Subject().String() + " changes no machine"
	case len(w.Report.Nodes) == 0:
		return w.Subject().String() + " changes nothing: " + w.already()
	}
	return w.Subject().String() + " " + message.Removes(w.Report) + " no pods"
}

// Nothing reports that there is nothing to change.
func (w WhatIf) Nothing() string {
	if w.Drain != nil {
		return w.noNode() + ": nothing is drained"
	}
	about := w.Subject()
	about.Preposition, about.Where = "", ""
	what := about.String()
	what = strings.ToLower(what[:1]) + what[1:] + " changes nothing"
	switch {
	case w.MachineSets != nil && w.MachineSets.Target.Selector != nil:
		return fmt.Sprintf("No MachineSet matches %q: %s", w.MachineSets.Target.Selector, what)
	case w.MachineSets != nil:
		return "There is no " + w.MachineSets.Target.Place() + ": " + what
	}
	return w.noNode() + ": " + what
}

// noNode reports that no node is meant.
func (w WhatIf) noNode() string {
	if w.Target.Selector != nil {
		return fmt.Sprintf("No node matches %q", w.Target.Selector)
	}
	return "There is no " + message.Place(w.Target)
}

// already reports that the nodes are as the change would make them.
func (w WhatIf) already() string {
	out := message.Agree(w.Matched, "the node already ", "the nodes already ")
	has, lacks := message.Agree(w.Matched, "has ", "have ")+message.Agree(len(w.Taints), "it", "them"), message.Agree(w.Matched, "lacks ", "lack ")+message.Agree(len(w.Absent), "it", "them")
	switch {
	case len(w.Absent) == 0:
		return out + has
	case len(w.Taints) == 0:
		return out + lacks
	}
	return message.Agree(w.Matched, "the node is", "the nodes are") + " already like that"
}

// doubts lists what may go wrong with a rollout or a drain.
func (w WhatIf) doubts(b *strings.Builder) {
	section(b, "What may go wrong", w.FirstDoubts())
}

// StuckHeading is over what a drain waits for without end.
const StuckHeading = "The drain gets stuck"

// FirstStuck is what a reader is told of what a drain waits for without end.
func (w WhatIf) FirstStuck() []string {
	return w.Stuck[:min(len(w.Stuck), maxDoubts)]
}

// FirstDoubts are the doubts that a reader is told.
func (w WhatIf) FirstDoubts() []string {
	return w.Doubts[:min(len(w.Doubts), maxDoubts)]
}

// machines reports what is missing of MachineSets meanwhile.
func (w WhatIf) machines(b *strings.Builder) {
	if w.MachineSets == nil {
		return
	}
	if cost := message.MachineCost(w.MachineSets.sets, w.MachineSets.atOnce); cost != "" {
		b.WriteString("\n**Machines**\n\n")
		for line := range strings.Lines(cost) {
			item, isItem := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "  ")
			if isItem {
				b.WriteString("- ")
			}
			b.WriteString(message.MarkdownText(item) + "\n")
		}
	}
}

// notes reports what the table does not.
func (w WhatIf) notes(b *strings.Builder) {
	notes := message.Asides(w.Subject(), w.Report)
	if len(w.cordoned) > 0 {
		notes = append(notes, w.Cordoned())
	}
	if same := w.Matched - len(w.Report.Nodes); w.MachineSets == nil && same > 0 && len(w.Report.Nodes) > 0 {
		notes = append([]string{message.CountVerb(same, "node needs", "nodes need") + " no change."}, notes...)
	}
	section(b, "Notes", notes)
}

// Cordoned reports which drained nodes take no more pods already, "" for none.
func (w WhatIf) Cordoned() string {
	if len(w.cordoned) == 0 {
		return ""
	}
	return "Cordoned already, by an earlier drain or by another user: " + message.Some(w.cordoned) + "."
}

// section writes a list under a heading, unless it is empty.
func section(b *strings.Builder, heading string, items []string) {
	if len(items) == 0 {
		return
	}
	fmt.Fprintf(b, "\n**%s**\n\n", heading)
	for _, item := range items {
		fmt.Fprintf(b, "- %s\n", message.MarkdownText(item))
	}
}
