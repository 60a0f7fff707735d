// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package taint

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const noEx = corev1.TaintEffectNoExecute

// must reads a taint in kubectl's notation.
func must(t *testing.T, notation string) corev1.Taint {
	t.Helper()
	out, err := Parse(notation)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// list reads taints in kubectl's notation.
func list(t *testing.T, notations ...string) []corev1.Taint {
	t.Helper()
	var out []corev1.Taint
	for _, n := range notations {
		out = append(out, must(t, n))
	}
	return out
}

// ids reads identities.
func ids(t *testing.T, notations ...string) []ID {
	t.Helper()
	var out []ID
	for _, n := range notations {
		out = append(out, IDOf(must(t, n)))
	}
	return out
}

// added gives a taint a time of addition.
func added(t corev1.Taint, unix int64) corev1.Taint {
	moment := metav1.Unix(unix, 0)
	t.TimeAdded = &moment
	return t
}

func fields(problems []Problem) []string {
	var out []string
	for _, p := range problems {
		out = append(out, p.Field)
	}
	return out
}
