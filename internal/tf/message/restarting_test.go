// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package message

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	corev1 "k8s.io/api/core/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/eviction"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
)

func restartingPods(counts ...int) []eviction.Restarting {
	var out []eviction.Restarting
	for i, n := range counts {
		out = append(out, eviction.Restarting{WorkloadKey: snapshot.WorkloadKey{Namespace: "shop", Owner: snapshot.Owner{Kind: "Deployment", Name: fmt.Sprintf("web-%d", i)}}, Pods: n})
	}
	return out
}

// TestPreview_ofPodsThatRestartInTheSameRun beside pods that are evicted, and without any.
func TestPreview_ofPodsThatRestartInTheSameRun(t *testing.T) {
	t.Parallel()
	const subject = `Applying dedicated=gpu:NoExecute to node "worker-3"`
	for name, tt := range map[string]struct {
		evicted    int
		restarting []eviction.Restarting
		summary    string
	}{
		"none":                {evicted: 1, summary: " evicts 1 pod"},
		"beside evicted ones": {evicted: 1, restarting: restartingPods(1, 2), summary: " evicts 1 pod, and may evict 3 more that restart in the same run"},
		"alone":               {restarting: restartingPods(1), summary: " evicts no pods, but may evict 1 pod that restarts in the same run"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := aCluster().node("worker-3", 4).pods("worker-3", "shop/Deployment/db", tt.evicted, 2)
			report := eviction.Evaluate(c.Snapshot, eviction.Scenario{Taints: map[string][]corev1.Taint{"worker-3": taintsOf(t, "dedicated=gpu:NoExecute")}}, eviction.ComparisonOff)
			report.Restarting = tt.restarting
			summary, detail := Preview(applying(t, `node "worker-3"`, "dedicated=gpu:NoExecute"), report)
			if summary != subject+tt.summary {
				t.Errorf("the summary is %q", summary)
			}
			if named := strings.Contains(detail, "\n  Deployment shop/web-0: up to 1 pod"); named != (tt.restarting != nil) {
				t.Errorf("the detail names them: %t\n%s", named, detail)
			}
		})
	}
}

// TestWarnRestartedOnto_namesTenWorkloads at most.
func TestWarnRestartedOnto_namesTenWorkloads(t *testing.T) {
	t.Parallel()
	var diags diag.Diagnostics
	WarnRestartedOnto("Changing the tolerations of something", nil, nil, &diags)
	if len(diags) > 0 {
		t.Fatalf("of no pods: %v", diags)
	}
	WarnRestartedOnto("Changing the tolerations of something", restartingPods(1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 2, 2), []string{"worker-3"}, &diags)
	if got, want := diags[0].Summary(), "Changing the tolerations of something restarts pods: other resources of this plan may evict 14 new pods"; got != want {
		t.Errorf("the summary is %q", got)
	}
	if detail := diags[0].Detail(); strings.Count(detail, "up to") != 10 || !strings.Contains(detail, "\n  and 2 other workloads\n") || !strings.Contains(detail, "taint or drain these: worker-3.") {
		t.Errorf("the detail is %s", detail)
	}
}
