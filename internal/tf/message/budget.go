// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package message

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/eviction"
)

// approve writes the list that approves the evictions as well, as HCL to paste: whole, whatever its length.
// Where the block sets more, it is the attribute alone, so that pasting it removes no other limit.
func (b Budget) approve(e *eviction.LimitsError, x eviction.Excess) string {
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
	return "To approve these evictions, set" + where + ":\n\n  " + strings.Join(lines, "\n  ")
}

// Budget is the limits on evictions, and where they are set.
type Budget struct {
	eviction.Limits
	// Inherited are the attributes that come from the provider block.
	Inherited []string
	// Ours is set where the resource has an evictions block of its own.
	Ours bool
	// OnlyAlone is set where the block that sets only sets nothing else.
	OnlyAlone bool
}

// Some names the first few of a list and counts the rest.
func Some(all []string) string {
	const few = 5
	if len(all) <= few {
		return strings.Join(all, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(all[:few], ", "), len(all)-few)
}
