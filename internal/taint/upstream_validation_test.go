// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package taint

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/upstream"
)

// TestUpstream_validationOfTolerations has the facts about tolerations of TestValidatePod and
// TestNumericTolerationsWithFeatureGate in k8s.io/kubernetes v1.37.2
// pkg/apis/core/validation/validation_test.go. The API does not show whether the feature gate is
// off: what holds then is tested in internal/tf/session.
func TestUpstream_validationOfTolerations(t *testing.T) {
	t.Parallel()
	rows := upstream.Cases(t)
	const sla = "node.kubernetes.io/sla"
	lasting := func(t corev1.Toleration, seconds int64) corev1.Toleration {
		t.TolerationSeconds = &seconds
		return t
	}
	tests := []struct {
		name  string
		in    corev1.Toleration
		wrong []string
	}{
		{name: "Exists for a time", in: lasting(tol("foo", "Exists", "", noEx), 60)},
		{name: "Equal for a time", in: lasting(tol("foo", "Equal", "bar", noEx), 60)},
		{name: "Equal", in: tol("foo", "Equal", "bar", noSched)},
		{name: "Exists without a key", in: tol("", "Exists", "", noSched)},
		{name: "no operator", in: tol("foo", "", "bar", noSched)},
		{name: "no effect", in: tol("foo", "Equal", "bar", "")},
		{name: "negative seconds", in: lasting(tol("node.kubernetes.io/not-ready", "Exists", "", noEx), -2)},
		{name: "a key that is no name", in: tol("nospecialchars^=@", "Equal", "bar", noSched), wrong: []string{"key"}},
		{name: "an operator that is none", in: tol("foo", "In", "bar", noSched), wrong: []string{"operator"}},
		{name: "Exists with a value", in: tol("foo", "Exists", "bar", noSched), wrong: []string{"value"}},
		{name: "Equal without a key", in: tol("", "Equal", "bar", noSched), wrong: []string{"operator"}},
		{name: "seconds with NoSchedule", in: lasting(tol("node.kubernetes.io/not-ready", "Exists", "", noSched), 20), wrong: []string{"effect"}},

		{name: "Gt", in: tol(sla, "Gt", "950", noSched)},
		{name: "Lt", in: tol(sla, "Lt", "800", noSched)},
		{name: "Gt, negative", in: tol("test-key", "Gt", "-100", noSched)},
		{name: "Gt, a word", in: tol(sla, "Gt", "high", noSched), wrong: []string{"value"}},
		{name: "Gt, a leading zero", in: tol(sla, "Gt", "0950", noSched), wrong: []string{"value"}},
		{name: "Gt, zero", in: tol("test-key", "Gt", "0", noSched)},
		{name: "Gt, a fraction", in: tol(sla, "Gt", "95.5", noSched), wrong: []string{"value"}},
		{name: "Gt, a minus sign alone", in: tol("test-key", "Gt", "-", noSched), wrong: []string{"value"}},
		{name: "Gt, a plus sign", in: tol("test-key", "Gt", "+100", noSched), wrong: []string{"value"}},
		{name: "Gt, a space", in: tol("test-key", "Gt", "95 0", noSched), wrong: []string{"value"}},
		{name: "Gt, no value", in: tol("test-key", "Gt", "", noSched), wrong: []string{"value"}},
		{name: "Gt, the largest number", in: tol("test-key", "Gt", "9223372036854775807", noSched)},
		{name: "Gt, one more than the largest number", in: tol("test-key", "Gt", "9223372036854775808", noSched), wrong: []string{"value"}},
	}
	for _, tt := range tests {
		rows.Run(t, tt.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tt.wrong, fields(ValidateToleration(tt.in))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestUpstream_validationOfTaints has the facts about taints of TestValidateNode in the
// same file.
func TestUpstream_validationOfTaints(t *testing.T) {
	t.Parallel()
	rows := upstream.Cases(t)
	for _, tt := range []struct {
		name   string
		taints []corev1.Taint
		wrong  []string
		twice  []string
	}{
		{name: "a valid taint", taints: []corev1.Taint{{Key: "GPU", Value: "true", Effect: noSched}}},
		{name: "no key", taints: []corev1.Taint{{Value: "special-user-1", Effect: noSched}}, wrong: []string{"key", "key"}},
		{name: "a key with an equals sign", taints: []corev1.Taint{{Key: "NoUppercaseOrSpecialCharsLike=Equals", Value: "special-user-1", Effect: noSched}}, wrong: []string{"key"}},
		{name: "a value with backslashes", taints: []corev1.Taint{{Key: "dedicated", Value: `some\bad\value`, Effect: noSched}}, wrong: []string{"value"}},
		{name: "no effect", taints: []corev1.Taint{{Key: "dedicated", Value: "special-user-3"}}, wrong: []string{"effect"}},
		{name: "an effect that is none", taints: []corev1.Taint{{Key: "dedicated", Value: "special-user-3", Effect: "NoScheduleNoAdmit"}}, wrong: []string{"effect"}},
		{name: "the same key and effect twice", taints: list(t, "dedicated=special-user-1:NoSchedule", "dedicated=special-user-2:NoSchedule"), twice: []string{"dedicated:NoSchedule"}},
	} {
		rows.Run(t, tt.name, func(t *testing.T) {
			t.Parallel()
			var wrong []string
			for _, x := range tt.taints {
				wrong = append(wrong, fields(Validate(x))...)
			}
			if diff := cmp.Diff(tt.wrong, wrong) + cmp.Diff(ids(t, tt.twice...), Duplicates(tt.taints)); diff != "" {
				t.Error(diff)
			}
		})
	}
}
