// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package taint

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/upstream"
)

// mergeRows runs merges as rows that have the facts of upstream's cases.
func mergeRows(t *testing.T, rows *upstream.Rows, tests []mergeCase) {
	t.Helper()
	for _, tt := range tests {
		rows.Run(t, tt.name, tt.run)
	}
}

// tol returns a toleration.
func tol(key string, operator corev1.TolerationOperator, value string, effect corev1.TaintEffect) corev1.Toleration {
	return corev1.Toleration{Key: key, Operator: operator, Value: value, Effect: effect}
}

const noSched = corev1.TaintEffectNoSchedule
