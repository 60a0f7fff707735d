// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package taint

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/upstream"
)

// TestUpstream_componentHelpers has the facts of TestFindMatchingUntoleratedTaint in
// k8s.io/component-helpers v0.37.2 scheduling/corev1/helpers_test.go. The effects are
// those that the case's filter lets through.
func TestUpstream_componentHelpers(t *testing.T) {
	t.Parallel()
	rows := upstream.Cases(t)
	every := Effects()
	fooNoSched, sla := tol("foo", "Exists", "", noSched), "node.kubernetes.io/sla"
	tests := []struct {
		name        string
		tolerations []corev1.Toleration
		taints      []corev1.Taint
		effects     []string
		tolerated   bool
	}{
		{name: "neither tolerations nor taints", effects: every, tolerated: true},
		{name: "no taints", tolerations: []corev1.Toleration{fooNoSched}, effects: every, tolerated: true},
		{name: "all taints match", tolerations: []corev1.Toleration{fooNoSched}, taints: list(t, "foo:NoSchedule"), effects: every, tolerated: true},
		{name: "another taint that does not count", tolerations: []corev1.Toleration{fooNoSched}, taints: list(t, "bar:NoSchedule"), tolerated: true},
		{name: "another taint, without a filter", tolerations: []corev1.Toleration{fooNoSched}, taints: list(t, "bar:NoSchedule"), effects: every},
		{name: "the taint that counts matches", tolerations: []corev1.Toleration{tol("foo", "Exists", "", noEx)}, taints: list(t, "foo:NoExecute", "bar:NoSchedule"), effects: []string{string(noEx)}, tolerated: true},
		{name: "Gt below", tolerations: []corev1.Toleration{tol(sla, "Gt", "950", noSched)}, taints: list(t, sla+"=800:NoSchedule"), effects: every},
		{name: "Gt above", tolerations: []corev1.Toleration{tol(sla, "Gt", "750", noSched)}, taints: list(t, sla+"=950:NoSchedule"), effects: every, tolerated: true},
		{name: "Lt above", tolerations: []corev1.Toleration{tol(sla, "Lt", "800", noSched)}, taints: list(t, sla+"=950:NoSchedule"), effects: every},
		{name: "Gt of a word", tolerations: []corev1.Toleration{tol(sla, "Gt", "950", noSched)}, taints: list(t, sla+"=high:NoSchedule"), effects: every},
	}
	for _, tt := range tests {
		rows.Run(t, tt.name, func(t *testing.T) {
			t.Parallel()
			left := slices.DeleteFunc(Untolerated(tt.taints, tt.tolerations, true), func(x corev1.Taint) bool {
				return !slices.Contains(tt.effects, string(x.Effect))
			})
			if got := len(left) == 0; got != tt.tolerated {
				t.Errorf("tolerated %t, want %t: %s", got, tt.tolerated, FormatAll(left))
			}
		})
	}
}

// TestUpstream_toleratesTaint has the facts of TestTolerationToleratesTaint in
// k8s.io/api v0.37.2 core/v1/toleration_test.go.
func TestUpstream_toleratesTaint(t *testing.T) {
	t.Parallel()
	rows := upstream.Cases(t)
	const sla = "node.kubernetes.io/sla"
	for _, tt := range []struct {
		name       string
		toleration corev1.Toleration
		taint      string
		want       bool
	}{
		{"Exists, taint without a value", tol("foo", "Exists", "", noSched), "foo:NoSchedule", true},
		{"Exists, taint with a value", tol("foo", "Exists", "", noSched), "foo=bar:NoSchedule", true},
		{"Exists without a key", tol("", "Exists", "", noSched), "foo=bar:NoSchedule", true},
		{"Equal with the same value", tol("foo", "Equal", "bar", noSched), "foo=bar:NoSchedule", true},
		{"Equal with another value", tol("foo", "Equal", "value1", noSched), "foo=value2:NoSchedule", false},
		{"Equal with another effect", tol("foo", "Equal", "bar", noSched), "foo=bar:NoExecute", false},
		{"Gt, less", tol(sla, "Gt", "950", noSched), sla + "=800:NoSchedule", false},
		{"Gt, more", tol(sla, "Gt", "750", noSched), sla + "=950:NoSchedule", true},
		{"Lt, more", tol(sla, "Lt", "800", noSched), sla + "=950:NoSchedule", false},
		{"Lt, less", tol(sla, "Lt", "950", noSched), sla + "=800:NoSchedule", true},
		{"Gt, equal", tol(sla, "Gt", "950", noSched), sla + "=950:NoSchedule", false},
		{"Gt, a word", tol(sla, "Gt", "950", noSched), sla + "=high:NoSchedule", false},
		// "-200" is no label value, so no cluster has this taint: it is made by hand below.
		{"Gt, negative and less", tol("test-key", "Gt", "-100", noSched), "", false},
		{"Gt, a large number", tol("test-key", "Gt", "9223372036854775806", noSched), "test-key=100:NoSchedule", false},
	} {
		rows.Run(t, tt.name, func(t *testing.T) {
			t.Parallel()
			x := corev1.Taint{Key: "test-key", Value: "-200", Effect: noSched}
			if tt.taint != "" {
				x = must(t, tt.taint)
			}
			if got := Tolerates(tt.toleration, x, true); got != tt.want {
				t.Errorf("got %t, want %t", got, tt.want)
			}
		})
	}
}

// TestUpstream_compareNumericValues has the facts of TestCompareNumericValues in the
// same file.
func TestUpstream_compareNumericValues(t *testing.T) {
	t.Parallel()
	rows := upstream.Cases(t)
	tests := []struct {
		name, toleration, taint string
		operator                corev1.TolerationOperator
		want                    bool
	}{
		{"Gt, more", "100", "200", "Gt", true},
		{"Gt, less", "200", "100", "Gt", false},
		{"Gt, equal", "100", "100", "Gt", false},
		{"Gt, negative and more", "-100", "-50", "Gt", true},
		{"Gt, negative and less", "-50", "-100", "Gt", false},
		{"Gt, one after zero", "0", "1", "Gt", true},
		{"Gt, the largest number", "9223372036854775806", "9223372036854775807", "Gt", true},
		{"Lt, less", "200", "100", "Lt", true},
		{"Lt, more", "100", "200", "Lt", false},
		{"Lt, equal", "100", "100", "Lt", false},
		{"Lt, negative and less", "-50", "-100", "Lt", true},
		{"Lt, negative and more", "-100", "-50", "Lt", false},
		{"Lt, one before zero", "0", "-1", "Lt", true},
		{"a toleration with a word", "abc", "100", "Gt", false},
		{"a toleration without a value", "", "100", "Gt", false},
		{"a toleration with a leading zero", "0100", "200", "Gt", false},
		{"a toleration with a plus sign", "+100", "200", "Gt", false},
		{"a toleration with a fraction", "100.5", "200", "Gt", false},
		{"a toleration with a minus sign alone", "-", "100", "Gt", false},
		{"a taint with a word", "100", "xyz", "Gt", false},
		{"a taint without a value", "100", "", "Gt", false},
		{"a taint with a leading zero", "100", "0200", "Gt", false},
		{"a taint with a plus sign", "100", "+200", "Lt", false},
		{"a taint with spaces", "100", " 200 ", "Lt", false},
		{"Gt, both zero", "0", "0", "Gt", false},
		{"Lt, both zero", "0", "0", "Lt", false},
		{"Gt, the largest number of a taint", "0", "9223372036854775807", "Gt", true},
		{"Lt, the smallest number of a taint", "0", "-9223372036854775808", "Lt", true},
	}
	for _, tt := range tests {
		rows.Run(t, tt.name, func(t *testing.T) {
			t.Parallel()
			if got := Tolerates(tol("k", tt.operator, tt.toleration, noSched), corev1.Taint{Key: "k", Value: tt.taint, Effect: noSched}, true); got != tt.want {
				t.Errorf("got %t, want %t", got, tt.want)
			}
		})
	}
}
