// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package acctest

import (
	"regexp"
	"strings"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/messages"
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

// names matches what tells the summaries of two blocks apart: a name, selector or id in quotes, a taint or toleration, an
// entry or object of a list, or the cluster, which is one for all blocks.
var names = regexp.MustCompile(strings.Join([]string{
	`"[^"]+"`, `\S:(?:NoSchedule|PreferNoSchedule|NoExecute)\b`, `\b(?:cluster|snapshot)\b`, `\bdata\.\w`,
	`(?:Removing|restore|,) (?:label|node selector|toleration) \S`, `\bnodes (?:\S+, |\()\S`, `\S/\S`, `: [\w.-]+(?:, [\w.-]+)*(?: and \d+ more)?$`,
}, "|"))

// receive takes the diagnostics of one call: each of the process passes here. It removes the block's cluster from
// summaries, unless the test is about it.
func (w *Walk) receive(all []*tfprotov6.Diagnostic) {
	w.t.Helper()
	for _, one := range all {
		if !w.labels {
			one.Summary = unlabelled(one.Summary)
		}
		messages.Got(w.t, one.Summary)
		messages.GotDetail(w.t, one.Detail)
		if bare(one) {
			w.t.Errorf("the summary names no object, taint or id, so that two blocks of one run would share it: %s", one.Summary)
		}
	}
}

// bare reports whether a summary says nothing of the block that it is about. Command lines print errors one by one, with the
// block: those with an attribute, as validators return them, need nothing more.
func bare(d *tfprotov6.Diagnostic) bool {
	if d.Severity == tfprotov6.DiagnosticSeverityError && (d.Attribute != nil || d.Summary == "Missing Attribute Configuration") {
		return false
	}
	return !names.MatchString(d.Summary)
}
