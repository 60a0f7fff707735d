// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package snapshot

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
)

func TestFormatAmount_neverLooksAsIfItFitted(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  corev1.ResourceName
		value int64
		up    bool
		want  string
	}{
		{"memory", 0, true, "0"},
		{"memory", 1023, true, "1023"},
		{"memory", 8 << 30, true, "8Gi"},
		{"memory", 8<<30 + 1, true, "8.1Gi"},
		{"memory", 8<<30 - 1, true, "8Gi"},
		{"memory", 8<<30 - 1, false, "7.9Gi"},
		{"memory", 3<<30 + 1<<29, false, "3.5Gi"},
		{"ephemeral-storage", 1<<62 - 1, false, "4095.9Pi"},
		{"hugepages-2Mi", 4 << 20, true, "4Mi"},
		{"cpu", 2000, true, "2"},
		{"cpu", 2500, true, "2500m"},
		{"example.com/gpu", 3, true, "3"},
	} {
		if got := FormatAmount(tt.name, tt.value, tt.up); got != tt.want {
			t.Errorf("%s %d: %q, want %q", tt.name, tt.value, got, tt.want)
		}
	}
}
