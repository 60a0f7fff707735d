// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package evictionpreview_test

import (
	"testing"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
)

// TestAccEvictionPreview_builtInTaints: what if the node goes away, is not ready, runs short
// of something, or is taken out of service. Pods are judged by what admission and the
// DaemonSet controller have really given them.
func TestAccEvictionPreview_builtInTaints(t *testing.T) {
	t.Parallel()
	c := acctest.Connect(t)
	tf := &acctest.Terraform{Provider: c.Provider(t)}
	node, namespace := c.Station(t)
	const stays, stranded = "stays", "stays no place"
	for taints, want := range map[string]map[string]string{
		"node.kubernetes.io/unreachable:NoExecute": {"web": "evicted_after 300", "quick": "evicted_after 3", "agent": stays, "network": stays, "bare": "evicted_after 300"},
		"node.kubernetes.io/not-ready:NoExecute":   {"web": "evicted_after 300", "quick": "evicted_after 4", "agent": stays, "network": stays, "bare": "evicted_after 300"},
		// The node lifecycle controller sets both effects.
		"node.kubernetes.io/unreachable:NoSchedule":         {"web": stranded, "quick": stranded, "agent": stays, "network": stays, "bare": stranded},
		"node.kubernetes.io/memory-pressure:NoSchedule":     {"web": stranded, "quick": stranded, "agent": stays, "network": stays, "bare": stranded},
		"node.kubernetes.io/disk-pressure:NoSchedule":       {"web": stranded, "quick": stranded, "agent": stays, "network": stays, "bare": stranded},
		"node.kubernetes.io/pid-pressure:NoSchedule":        {"web": stranded, "quick": stranded, "agent": stays, "network": stays, "bare": stranded},
		"node.kubernetes.io/unschedulable:NoSchedule":       {"web": stranded, "quick": stranded, "agent": stays, "network": stays, "bare": stranded},
		"node.kubernetes.io/network-unavailable:NoSchedule": {"web": stranded, "quick": stranded, "agent": stays, "network": stays, "bare": stranded},
		"node.kubernetes.io/out-of-service:NoExecute":       {"web": "evicted_now no place", "quick": "evicted_now no place", "agent": "evicted_now no place", "network": "evicted_now no place", "bare": "evicted_now"},
	} {
		t.Run(taints, func(t *testing.T) {
			t.Parallel()
			got := tf.Verdicts(t, c, node, namespace, taints)
			for app, said := range want {
				if got[app] != said {
					t.Errorf("%s: the preview says %q, want %q", app, got[app], said)
				}
			}
		})
	}
	// Writing them is another matter.
	for _, reserved := range []string{"node.kubernetes.io/unreachable:NoExecute", "node.kubernetes.io/memory-pressure:NoSchedule", "node.kubernetes.io/out-of-service:NoExecute"} {
		d := tf.Plan(t, &acctest.Instance{Type: "kubetaint_node_taints"}, map[string]any{"node_name": node, "taints": acctest.Objects(t, reserved)}).Diagnostics
		if d.Errors() == "" {
			t.Errorf("%s may be written", reserved)
		}
	}
}
