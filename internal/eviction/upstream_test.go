// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package eviction

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// leftOut names the cases of an upstream table that a test here does not have, with
// the reasons.
type leftOut map[string]string

// share fails where a test has fewer than 90 % of the cases of its upstream table.
func (l leftOut) share(t *testing.T, carried int) {
	t.Helper()
	if all := carried + len(l); carried*10 < all*9 {
		t.Errorf("%d of %d cases are here, want 90 %%", carried, all)
	}
	for name, reason := range l {
		if reason == "" {
			t.Errorf("%s is left out without a reason", name)
		}
	}
}

// upstreamCase is a pod on node n whose taints change.
type upstreamCase struct {
	name          string
	tolerations   []corev1.Toleration
	options       []podOption
	before, after []string
	want          string
}

func runUpstream(t *testing.T, cases []upstreamCase) {
	t.Helper()
	for _, tt := range cases {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			one := pod("web", "n", append([]podOption{tolerating(tt.tolerations...)}, tt.options...)...)
			v := only(t, Evaluate(newWorld(node("n", tt.before...)).run(one).Snapshot, tainting("n", tt.after...), ComparisonOff))
			if got := verdictOf(v); got != tt.want {
				t.Errorf("got %s (%s), want %s", got, v.Reason, tt.want)
			}
		})
	}
}
