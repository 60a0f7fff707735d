// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package acctest

import (
	"regexp"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
)

// Labels of the cluster of a provider block at the end of a summary: alone, or after another label.
var (
	clusterAlone = regexp.MustCompile(` \((?:host|config_path|snapshot) [^()\s]+\)`)
	clusterLast  = regexp.MustCompile(`, (?:host|config_path|snapshot) [^()\s]+\)`)
)

// unlabelled returns a text without the clusters of provider blocks: tests compare summaries, and
// the cluster of a test has another address in each run.
func unlabelled(text string) string {
	return clusterLast.ReplaceAllString(clusterAlone.ReplaceAllString(text, ""), ")")
}

// bare removes the block's cluster from the summaries of warnings, unless the test is about it.
func (w *Walk) bare(all []*tfprotov6.Diagnostic) {
	if w.labels {
		return
	}
	for _, one := range all {
		one.Summary = unlabelled(one.Summary)
	}
}
