// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package message

import (
	"fmt"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/eviction"
)

// takesRoom reports what becomes of replacements of pods that other resources evict.
func takesRoom(report *eviction.Report) string {
	n := report.Outcome().Others.Caused().Max
	return CountVerb(n, "replacement of a pod that another resource evicts is", "replacements of pods that other resources evict are") + " pending"
}

// together reports how many replacements are missing of all that the run evicts so far, "" where none is or no other
// resource evicts pods.
func together(report *eviction.Report) string {
	others := report.Outcome().Others
	if others.Replacements == 0 || others.All.Max == 0 {
		return ""
	}
	return fmt.Sprintf("Other resources of this plan evict %s as well: %s pending in all.", Count(others.Replacements, "pod"), Number(others.All))
}
