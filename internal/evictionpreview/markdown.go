// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package evictionpreview

import (
	"fmt"
	"strings"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/fw"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/machineset"
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

// markdown writes the preview for a pull request: what is dangerous first, and what takes room folded.
func (w whatIf) markdown() string {
	var b strings.Builder
	table, alert := fw.MarkdownTable(w.report, maxWorkloads)
	if w.fleet != nil && len(w.fleet.doubts) > 0 {
		alert = max(alert, fw.AlertWarning)
	}
	b.WriteString(alert.Markdown(w.heading()))
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

// nothing reports that there is nothing to change.
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

// already reports that the nodes are as the change would make them.
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

// doubts lists what may go wrong with a rollout.
func (w whatIf) doubts(b *strings.Builder) {
	if w.fleet != nil {
		section(b, "What may go wrong", w.fleet.doubts[:min(len(w.fleet.doubts), maxDoubts)])
	}
}

// machines reports what is missing of MachineSets meanwhile.
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
			b.WriteString(fw.MarkdownText(item) + "\n")
		}
	}
}

// notes reports what the table does not.
func (w whatIf) notes(b *strings.Builder) {
	notes := fw.Asides(w.subject(), w.report)
	if same := w.matched - len(w.report.Nodes); w.fleet == nil && same > 0 && len(w.report.Nodes) > 0 {
		notes = append([]string{fw.CountVerb(same, "node needs", "nodes need") + " no change."}, notes...)
	}
	section(b, "Notes", notes)
}

// section writes a list under a heading, unless it is empty.
func section(b *strings.Builder, heading string, items []string) {
	if len(items) == 0 {
		return
	}
	fmt.Fprintf(b, "\n**%s**\n\n", heading)
	for _, item := range items {
		fmt.Fprintf(b, "- %s\n", fw.MarkdownText(item))
	}
}
