// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package taint

import (
	"testing"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/upstream"
)

// TestUpstream_kubectlTaint has the facts of TestTaint in k8s.io/kubectl v0.37.2
// pkg/cmd/taint/taint_test.go and of TestReorganizeTaints in utils_test.go. The other
// tables of utils_test.go are those of pkg/util/taints, in upstream_taints_test.go. What
// kubectl removes is what a claim owns and no longer has; --overwrite changes a value that
// a claim owns.
func TestUpstream_kubectlTaint(t *testing.T) {
	t.Parallel()
	dedicated := []string{"dedicated:NoSchedule me/1", "dedicated:PreferNoSchedule me/1"}
	two := []string{"dedicated=namespaceA:NoSchedule", "dedicated=namespaceA:PreferNoSchedule"}
	foo := []string{"foo=bar:NoSchedule"}
	tests := []mergeCase{
		{name: "NoSchedule", claim: mine(t, "foo=bar:NoSchedule"), want: foo, wantRecord: []string{"foo:NoSchedule me/1"}, deviations: []string{"foo:NoSchedule missing"}},
		{name: "PreferNoSchedule", claim: mine(t, "foo=bar:PreferNoSchedule"), want: []string{"foo=bar:PreferNoSchedule"}, wantRecord: []string{"foo:PreferNoSchedule me/1"}, deviations: []string{"foo:PreferNoSchedule missing"}},
		{
			name: "another value, with --overwrite", current: foo, record: []string{"foo:NoSchedule me/1"}, claim: mine(t, "foo=barz:NoSchedule"),
			want: []string{"foo=barz:NoSchedule"}, wantRecord: []string{"foo:NoSchedule me/1"}, deviations: []string{"foo:NoSchedule different"},
		},
		{
			name: "two taints", claim: mine(t, "dedicated=namespaceA:NoSchedule", "foo=bar:PreferNoSchedule"), want: []string{"dedicated=namespaceA:NoSchedule", "foo=bar:PreferNoSchedule"},
			wantRecord: []string{"dedicated:NoSchedule me/1", "foo:PreferNoSchedule me/1"}, deviations: []string{"dedicated:NoSchedule missing", "foo:PreferNoSchedule missing"},
		},
		{
			name: "remove one of two effects", current: two, record: dedicated, claim: mine(t, "dedicated=namespaceA:PreferNoSchedule"),
			want: two[1:], wantRecord: dedicated[1:], deviations: []string{"dedicated:NoSchedule different"},
		},
		{
			name: "remove both effects", current: two, record: dedicated, claim: mine(t),
			want: []string{}, deviations: []string{"dedicated:NoSchedule different", "dedicated:PreferNoSchedule different"},
		},
		{
			name: "change one and remove the other", current: []string{"dedicated=namespaceA:NoSchedule", "foo=bar:PreferNoSchedule"},
			record: []string{"dedicated:NoSchedule me/1", "foo:PreferNoSchedule me/1"}, claim: mine(t, "foo=barz:PreferNoSchedule"),
			want: []string{"foo=barz:PreferNoSchedule"}, wantRecord: []string{"foo:PreferNoSchedule me/1"}, deviations: []string{"dedicated:NoSchedule different", "foo:PreferNoSchedule different"},
		},
		// Without --overwrite kubectl refuses; so does a merge for a taint that it does not own.
		{name: "another value, without --overwrite", current: []string{"foo=bar:NoSchedule"}, claim: mine(t, "foo=barz:NoSchedule"), conflicts: []string{`foo:NoSchedule=bar of ""`}, deviations: []string{"foo:NoSchedule different"}},

		// TestReorganizeTaints.
		{name: "reorganize: nothing, with overwrite", current: foo, claim: mine(t)},
		{name: "reorganize: nothing, without overwrite", current: foo, claim: mine(t)},
		{
			name: "reorganize: add", current: foo, claim: mine(t, "foo_1:NoExecute"), want: []string{"foo=bar:NoSchedule", "foo_1:NoExecute"},
			wantRecord: []string{"foo_1:NoExecute me/1"}, deviations: []string{"foo_1:NoExecute missing"},
		},
		{
			name: "reorganize: delete with an effect", current: foo, record: []string{"foo:NoSchedule me/1"}, claim: mine(t),
			want: []string{}, deviations: []string{"foo:NoSchedule different"},
		},
		{
			// A key alone names no taint here: a claim gives up what it owns, whatever the effect.
			name: "reorganize: delete each effect of a key", current: foo, record: []string{"foo:NoSchedule me/1", "foo:NoExecute me/1"}, claim: mine(t),
			want: []string{}, deviations: []string{"foo:NoExecute different", "foo:NoSchedule different"},
		},
		{
			name: "reorganize: add and delete", current: foo, record: []string{"foo:NoSchedule me/1"}, claim: mine(t, "foo_1:NoSchedule"),
			want: []string{"foo_1:NoSchedule"}, wantRecord: []string{"foo_1:NoSchedule me/1"}, deviations: []string{"foo:NoSchedule different", "foo_1:NoSchedule missing"},
		},
	}
	rows := upstream.Cases(t)
	mergeRows(t, rows, tests)
	for name, in := range map[string]string{"key": "nospecialchars^@=banana:NoSchedule", "effect": "foo=bar:NoExcute", "effect, twice": "foo=barz:NoExcute", "effect, added and removed": "foo=:NoExcute-"} {
		rows.Run(t, "invalid "+name, func(t *testing.T) {
			t.Parallel()
			if _, err := Parse(in); err == nil {
				t.Errorf("%q is taken", in)
			}
		})
	}
}
