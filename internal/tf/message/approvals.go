// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package message

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/eviction"
)

func isOnly(x eviction.Excess) bool { return x.Limit == eviction.Only }

// unlisted reports what the summary does not: that only is exceeded too, and which of the workloads are
// not approved where that are not all in the table.
func unlisted(e *eviction.LimitsError, x eviction.Excess) (lines []string) {
	if len(e.Exceeded) > 1 {
		lines = append(lines, exceeds(e, x)+".")
	}
	if n := len(x.Workloads); n > 1 && n < len(rowsOf(e.Report, told{})) {
		lines = append(lines, "Not approved: "+Some(byDanger(e.Report, x.Workloads))+".")
	}
	return lines
}

// unapproved words which workloads an approval is missing for, without a full stop.
func unapproved(e *eviction.LimitsError, x eviction.Excess, verb string) string {
	of := byDanger(e.Report, x.Workloads)
	names := of[0]
	if rest := len(of) - 1; rest > 0 {
		names += " and " + Count(rest, "more workload")
	}
	lacks := "evictions.only does not list " + Agree(x.Count, "it", "them")
	if len(e.Limits.Only) == 0 {
		lacks = "evictions.only = [] allows none"
	}
	return fmt.Sprintf("%s of %s %s be %s%s, and %s", Count(x.Count, "pod"), names, verb, Removed(e.Report), Elsewhere(x), lacks)
}

// byDanger writes workloads in the order of the table's rows.
func byDanger(report *eviction.Report, workloads []eviction.Approval) []string {
	rank := map[string]int{}
	for i, r := range rowsOf(report, told{}) {
		rank[r.name] = i
	}
	at := func(a eviction.Approval) int {
		if i, is := rank[rowName(a.Kind, a.Namespace, a.Name)]; is {
			return i
		}
		return len(rank)
	}
	sorted := slices.Clone(workloads)
	slices.SortStableFunc(sorted, func(a, b eviction.Approval) int { return at(a) - at(b) })
	out := make([]string, len(sorted))
	for i, a := range sorted {
		out[i] = a.String()
	}
	return out
}

// removals names what a limit is about.
func removals(e *eviction.LimitsError) string {
	if e.Report.Deletes {
		return "deletions"
	}
	return "evictions"
}

// approve writes the list that approves the evictions as well, as HCL to paste: whole, whatever its length.
// Beside other attributes of the block, it is this attribute alone: pasting it removes no other limit.
func (b Limits) approve(e *eviction.LimitsError, x eviction.Excess) string {
	var entries []string
	for _, a := range slices.Concat(e.Limits.Only, x.Workloads) {
		entries = append(entries, a.String())
	}
	slices.Sort(entries)
	lines := []string{"only = ["}
	for _, entry := range slices.Compact(entries) {
		lines = append(lines, "  \""+entry+"\",")
	}
	lines = append(lines, "]")
	own, where := b.own(x.Limit), " in evictions"
	switch {
	case b.OnlyAlone && own:
		where = ""
	case b.OnlyAlone:
		where = " in the provider block"
	case !own:
		where += " of the provider block"
	}
	if b.OnlyAlone {
		for i := range lines {
			lines[i] = "  " + lines[i]
		}
		lines = append(append([]string{"evictions = {"}, lines...), "}")
	}
	return "To approve these " + removals(e) + ", set" + where + ":\n\n  " + strings.Join(lines, "\n  ")
}
