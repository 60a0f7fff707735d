// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package message

import (
	"errors"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/eviction"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
)

// TestPreview_countsWhatOtherResourcesEvict from worker-2: worker-3 has room for one pod.
func TestPreview_countsWhatOtherResourcesEvict(t *testing.T) {
	t.Parallel()
	uid := func(p *snapshot.Pod) { p.UID = types.UID(p.Name) }
	others := &snapshot.Others{
		Taints:  map[string][]corev1.Taint{"worker-2": taintsOf(t, "dedicated=web:NoExecute")},
		Evicted: map[string]map[types.UID]snapshot.Departure{"worker-2": {"web-0": {}}},
	}
	for name, tt := range map[string]struct {
		own               int
		summary, detail   string
		others            *snapshot.Others
		exceedsMaxPending string
	}{
		"both evict pods": {
			own: 1, others: others, summary: `Applying dedicated=gpu:NoExecute to node "worker-3" evicts 1 pod: 1 pending, 1 pending of other resources`,
			detail: "Other resources of this plan evict 1 pod as well: 2 pending in all.", exceedsMaxPending: "2 pods would stay Pending, and max_pending allows 0 (1 evicted by other resources)",
		},
		"others alone do": {
			others: others, summary: `Applying dedicated=gpu:NoExecute to node "worker-3" evicts no pods, but takes room: 1 replacement of a pod that another resource evicts is pending`,
			detail: "Other resources of this plan evict 1 pod as well: 1 pending in all.", exceedsMaxPending: "1 pod would stay Pending, and max_pending allows 0 (1 evicted by other resources)",
		},
		"no other resource does": {own: 1, summary: `Applying dedicated=gpu:NoExecute to node "worker-3" evicts 1 pod`},
		"nothing does":           {},
	} {
		c := aCluster().node("worker-2", 4).node("worker-3", 4).pods("worker-2", "shop/Deployment/web", 1, 2, uid).pods("worker-3", "shop/Deployment/db", tt.own, 2, uid)
		c.Nodes["worker-1"].Unschedulable = true
		report := eviction.Evaluate(c.Beside(tt.others), eviction.Scenario{Taints: map[string][]corev1.Taint{"worker-3": taintsOf(t, "dedicated=gpu:NoExecute")}}, eviction.ComparisonOff)
		summary, detail := Preview(applying(t, `node "worker-3"`, "dedicated=gpu:NoExecute"), report)
		if summary != tt.summary {
			t.Errorf("%s: the summary is %q", name, summary)
		}
		if !strings.Contains(detail, tt.detail) || tt.detail == "" && strings.Contains(detail, "Other resources") {
			t.Errorf("%s: the detail is %s", name, detail)
		}
		over := new(eviction.LimitsError)
		if exceeded := errors.As(eviction.Limits{MaxPending: of(0)}.Check(report), &over); exceeded != (tt.exceedsMaxPending != "") {
			t.Errorf("%s: max_pending is exceeded: %t", name, exceeded)
		} else if exceeded && exceeds(over, over.Exceeded[0]) != tt.exceedsMaxPending {
			t.Errorf("%s: it says %q", name, exceeds(over, over.Exceeded[0]))
		}
	}
}
