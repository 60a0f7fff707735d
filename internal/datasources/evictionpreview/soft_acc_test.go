// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package evictionpreview_test

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
)

// Twelve pods avoid a node with a PreferNoSchedule taint, and leave it to one that needs a whole node. The preview
// does not claim that it is Pending.
func TestAccEvictionPreview_podsAvoidPreferNoSchedule(t *testing.T) {
	t.Parallel()
	m := newMove(t)
	urgent := m.urgent("1Gi", corev1.PreemptLowerPriority)
	m.c.Deployment(t, m.namespace, "web", 12, func(s *corev1.PodSpec) {
		urgent(s)
		s.NodeSelector = map[string]string{"pool": m.pool}
	})
	m.deployment("large", memory("12Gi"))
	m.running(13)
	m.node(m.to, "12Gi", nil)
	m.c.Node(t, acctest.Node{
		Name: m.pool + "-soft", Labels: map[string]string{"pool": m.pool, corev1.LabelHostname: m.pool + "-soft"}, Taints: acctest.Parse(t, "soft:PreferNoSchedule"),
		Allocatable: corev1.ResourceList{"cpu": resource.MustParse("4"), "memory": resource.MustParse("12Gi"), "pods": resource.MustParse("20")},
	})
	tf := &acctest.Terraform{Provider: m.c.Provider(t)}
	preview, d := tf.Data(t, "kubetaint_eviction_preview", map[string]any{"node_name": m.from, "taints": acctest.Objects(t, "dedicated=gpu:NoExecute")})
	if d.Errors() != "" {
		t.Fatal(d.Errors())
	}
	summary := preview["summary"].(map[string]any)
	for name, want := range map[string]int64{"evicted_now": 13, "pending": 0, "pending_max": 1} {
		if summary[name] != want {
			t.Errorf("%s is %v, want %d", name, summary[name], want)
		}
	}
	m.c.Patch(t, m.from, `{"spec":{"taints":[{"key":"dedicated","value":"gpu","effect":"NoExecute"}]}}`)
	acctest.Until(t, "all pods run on other nodes", func(ctx context.Context) (bool, error) {
		return m.count(ctx, func(p *corev1.Pod) bool {
			return p.Spec.NodeName != m.from && p.Status.Phase == corev1.PodRunning && p.DeletionTimestamp == nil
		}) == 13, nil
	})
}
