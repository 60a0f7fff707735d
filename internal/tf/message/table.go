// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package message

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/eviction"
)

const (
	// tableWidth is how wide a table is: command lines put two columns before it, and terminals have 80.
	tableWidth = 78
	// leastWhy is what is left for the last column at least, if it needs as much; names that leave less
	// have a line of their own.
	leastWhy = 24
)

// table writes the workloads of a report, the gravest first: those that there is something to tell about.
func table(b *strings.Builder, report *eviction.Report, refusesStranded bool) {
	rows := rowsOf(report, told{stranded: refusesStranded})
	shown := rows[:min(len(rows), maxLines)]
	w := widthsOf(shown)
	for _, r := range shown {
		w.write(b, r)
	}
	if rest := remainder(rows[len(shown):]); rest != "" {
		b.WriteString("\n  " + rest)
	}
}

// remainder counts the rows that are not shown, "" where all are.
func remainder(rest []row) string {
	if len(rest) == 0 {
		return ""
	}
	pods, calm := 0, ""
	for _, r := range rest {
		pods += r.pods
	}
	if rest[0].danger == fine {
		calm = ", all ok"
	}
	return fmt.Sprintf("… %s (%s)%s", Count(len(rest), "more workload"), Count(pods, "pod"), calm)
}

// widths are those of the columns.
type widths struct{ status, count, name, when int }

func widthsOf(rows []row) widths {
	var w widths
	why := 0
	for _, r := range rows {
		w.status, w.count, w.when = max(w.status, width(r.danger.String())), max(w.count, width(r.count)), max(w.when, width(r.when))
		w.name, why = max(w.name, width(r.name)), max(why, width(r.why))
	}
	w.name = min(w.name, tableWidth-w.status-w.count-w.when-min(why, leastWhy)-9)
	return w
}

func width(s string) int { return utf8.RuneCountInString(s) }

// write writes a row, and what does not fit into its columns on a second line.
func (w widths) write(b *strings.Builder, r row) {
	begin := fmt.Sprintf("  %-*s %*s  ", w.status, r.danger, w.count, r.count)
	indent := strings.Repeat(" ", width(begin))
	columns := fmt.Sprintf("%s%-*s  %*s  ", begin, w.name, r.name, w.when, r.when)
	switch {
	case width(r.name) > w.name:
		b.WriteString("\n" + begin + cut(r.name, tableWidth-width(begin)))
		columns = indent + r.when + "  "
	case width(columns)+width(r.why) > tableWidth:
		b.WriteString("\n" + strings.TrimRight(columns, " "))
		columns = indent
	}
	b.WriteString("\n" + columns + cut(r.why, tableWidth-width(columns)))
}

// cut shortens a text to so many columns.
func cut(s string, columns int) string {
	if width(s) <= columns {
		return s
	}
	return string([]rune(s)[:columns-1]) + "…"
}
