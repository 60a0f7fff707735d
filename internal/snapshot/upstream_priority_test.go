// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package snapshot

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/upstream"
)

// TestUpstream_podPriority has the facts of TestPodPriority in k8s.io/component-helpers v0.37.2
// scheduling/corev1/helpers_test.go.
func TestUpstream_podPriority(t *testing.T) {
	t.Parallel()
	rows := upstream.Cases(t)
	for name, tt := range map[string]struct {
		priority *int32
		want     int32
	}{
		"no priority": {nil, 0},
		"a priority":  {new(int32(20)), 20},
	} {
		rows.Run(t, name, func(t *testing.T) {
			t.Parallel()
			if got := DemandOf(&corev1.Pod{Spec: corev1.PodSpec{Priority: tt.priority}}).Priority; got != tt.want {
				t.Errorf("got %d, want %d", got, tt.want)
			}
		})
	}
}
