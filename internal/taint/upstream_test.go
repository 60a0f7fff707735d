// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package taint

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

// tol returns a toleration.
func tol(key string, operator corev1.TolerationOperator, value string, effect corev1.TaintEffect) corev1.Toleration {
	return corev1.Toleration{Key: key, Operator: operator, Value: value, Effect: effect}
}

const noSched = corev1.TaintEffectNoSchedule
