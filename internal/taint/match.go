// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package taint

import (
	"strings"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/printable"
)

// Tolerates reports whether one toleration matches one taint. It is the only
// place that calls ToleratesTaint of k8s.io/api, whose signature has changed
// between releases. comparison reports whether the cluster's feature gate
// TaintTolerationComparisonOperators is on; where it is off, Lt and Gt match
// nothing (KEP-5471).
func Tolerates(toleration corev1.Toleration, t corev1.Taint, comparison bool) bool {
	return toleration.ToleratesTaint(logr.Discard(), &t, comparison)
}

// FirstMatch returns the index of the first toleration that matches the taint,
// or -1. The taint-eviction controller uses the first match in list order, not
// the most generous one (k8s.io/kubernetes v1.37.1
// pkg/apis/core/v1/helper/helpers.go, GetMatchingTolerations).
func FirstMatch(tolerations []corev1.Toleration, t corev1.Taint, comparison bool) int {
	for i := range tolerations {
		if Tolerates(tolerations[i], t, comparison) {
			return i
		}
	}
	return -1
}

// Untolerated returns the taints that none of the tolerations matches, in the
// order in which they were given. PreferNoSchedule is treated like the others:
// whether it matters is the caller's question.
func Untolerated(taints []corev1.Taint, tolerations []corev1.Toleration, comparison bool) []corev1.Taint {
	var out []corev1.Taint
	for _, t := range taints {
		if FirstMatch(tolerations, t, comparison) < 0 {
			out = append(out, t)
		}
	}
	return out
}

// Compares reports whether a toleration uses an operator that depends on the
// feature gate TaintTolerationComparisonOperators.
func Compares(toleration corev1.Toleration) bool {
	return toleration.Operator == corev1.TolerationOpLt || toleration.Operator == corev1.TolerationOpGt
}

// TolerationFor returns the narrowest toleration that matches the taint for
// ever: same key, value and effect.
func TolerationFor(t corev1.Taint) corev1.Toleration {
	return corev1.Toleration{Key: t.Key, Operator: corev1.TolerationOpEqual, Value: t.Value, Effect: t.Effect}
}

// FormatToleration writes a toleration for a reader, such as
// "dedicated=gpu:NoExecute for 60s", "Exists" or "dedicated Exists", as it can be printed.
func FormatToleration(t corev1.Toleration) string {
	var b strings.Builder
	b.WriteString(t.Key)
	switch t.Operator {
	case corev1.TolerationOpExists:
		if t.Key != "" {
			b.WriteString(" ")
		}
		b.WriteString("Exists")
	case corev1.TolerationOpLt:
		b.WriteString("<" + t.Value)
	case corev1.TolerationOpGt:
		b.WriteString(">" + t.Value)
	default:
		if t.Value != "" {
			b.WriteString("=" + t.Value)
		}
	}
	if t.Effect != "" {
		b.WriteString(":" + string(t.Effect))
	}
	if t.TolerationSeconds != nil {
		b.WriteString(" for " + seconds(*t.TolerationSeconds))
	}
	return printable.Line(b.String())
}
