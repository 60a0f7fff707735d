// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package admission

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/toleration"
)

// The list must allow what admission adds to every pod, in a namespace without pods as well.
func TestLists_rejecting(t *testing.T) {
	t.Parallel()
	gone := exists(corev1.TaintNodeNotReady, noEx)
	unreachable := exists(corev1.TaintNodeUnreachable, noEx)
	const both = "node.kubernetes.io/not-ready Exists:NoExecute for 300s, node.kubernetes.io/unreachable Exists:NoExecute for 300s"
	for name, tt := range map[string]struct {
		defaults, allowed    []corev1.Toleration
		bestEffort, requests string
	}{
		"no limit":                              {nil, nil, "", ""},
		"another key alone":                     {nil, []corev1.Toleration{exists("team", "")}, both, "node.kubernetes.io/memory-pressure Exists:NoSchedule, " + both},
		"what every pod has":                    {nil, []corev1.Toleration{gone, unreachable}, "", "node.kubernetes.io/memory-pressure Exists:NoSchedule"},
		"that of pods with requests as well":    {nil, []corev1.Toleration{gone, unreachable, MemoryPressure}, "", ""},
		"everything":                            {nil, []corev1.Toleration{exists("", "")}, "", ""},
		"a default that covers them is allowed": {[]corev1.Toleration{exists("", "")}, []corev1.Toleration{exists("", "")}, "", ""},
		"a default that is not allowed":         {[]corev1.Toleration{exists("old", noSched)}, []corev1.Toleration{gone, unreachable, MemoryPressure}, "old Exists:NoSchedule", "old Exists:NoSchedule"},
	} {
		l := Lists{Default: tt.defaults, Allowed: tt.allowed}
		if got := toleration.Format(l.Rejecting(true)); got != tt.bestEffort {
			t.Errorf("%s: BestEffort pods are rejected for %q, want %q", name, got, tt.bestEffort)
		}
		if got := toleration.Format(l.Rejecting(false)); got != tt.requests {
			t.Errorf("%s: pods with requests are rejected for %q, want %q", name, got, tt.requests)
		}
	}
}
