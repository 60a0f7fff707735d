// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package message

import (
	"fmt"
	"strings"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/eviction"
)

// Alert is one of the kinds of alerts that GitHub and GitLab give a colour, the calmest first
// (https://docs.github.com/en/get-started/writing-on-github/getting-started-with-writing-and-formatting-on-github/basic-writing-and-formatting-syntax#alerts,
// https://docs.gitlab.com/user/markdown/#alerts).
type Alert int

// The kinds that a preview is given.
const (
	AlertNote Alert = iota
	AlertWarning
	AlertCaution
)

// Markdown writes a text that is no Markdown as an alert.
func (a Alert) Markdown(text string) string {
	return "> [!" + [...]string{"NOTE", "WARNING", "CAUTION"}[a] + "]\n> **" + MarkdownText(text) + "**\n"
}

// alert returns the kind that the gravest workload deserves: no pod runs in the place of these,
// others cost an interruption.
func (d danger) alert() Alert {
	if d <= pendingPods {
		return AlertCaution
	}
	return AlertWarning
}

// MarkdownTable writes the rows of the table of Preview as Markdown, with the names of
// PodDisruptionBudgets, for which there is room here, and at most so many. It returns an empty
// table where no workload is affected.
func MarkdownTable(report *eviction.Report, most int) (table string, alert Alert) {
	rows := rowsOf(report, told{budgets: true})
	if len(rows) == 0 {
		return "", AlertNote
	}
	var b strings.Builder
	b.WriteString("| Danger | Pods | Workload | When | Why |\n| --- | ---: | --- | ---: | --- |\n")
	shown := rows[:min(len(rows), most)]
	for _, r := range shown {
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", r.danger, r.count, MarkdownText(r.name), r.when, MarkdownText(r.why))
	}
	if rest := remainder(rows[len(shown):]); rest != "" {
		b.WriteString("\n" + rest + "\n")
	}
	return b.String(), rows[0].danger.alert()
}
