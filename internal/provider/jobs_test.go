// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package provider_test

import (
	"strings"
	"testing"
)

// jobs are the configurations of the guide with the common jobs, by their headings.
func jobs(t *testing.T) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, guide := range files(t, "docs", "common-jobs.md") {
		for _, section := range strings.Split(guide, "\n## ")[1:] {
			heading, text, _ := strings.Cut(section, "\n")
			blocks := fence.FindAllStringSubmatch(text, -1)
			if len(blocks) != 1 || blocks[0][1] != "terraform" {
				t.Fatalf("%q has %d blocks, want one in Terraform's language", heading, len(blocks))
			}
			out[heading] = blocks[0][2]
		}
	}
	return out
}

// TestJobs_haveFourteenLinesOrFewer: what is longer is no answer at a glance.
func TestJobs_haveFourteenLinesOrFewer(t *testing.T) {
	t.Parallel()
	const most = 14
	all := jobs(t)
	for heading, config := range all {
		if lines := strings.Count(strings.TrimSpace(config), "\n") + 1; lines > most {
			t.Errorf("%s: %d lines, and it may have %d", heading, lines, most)
		}
	}
	if len(all) != 5 {
		t.Errorf("the guide has %d jobs, want 5", len(all))
	}
}
