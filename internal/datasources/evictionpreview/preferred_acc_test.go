// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package evictionpreview_test

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
)

// Twelve pods prefer the one node that a pod can use which is evicted later, and leave it no room: the preview has this
// pod in its range, and the real scheduler leaves it Pending. A spread of their own keeps them from the scheduler's default one.
func TestAccEvictionPreview_podsFollowPreferredNodeAffinity(t *testing.T) {
	t.Parallel()
	m := newMove(t)
	m.c.Deployment(t, m.namespace, "web", 12, func(s *corev1.PodSpec) {
		memory("1Gi")(s)
		s.NodeSelector = map[string]string{"pool": m.pool}
		s.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{PreferredDuringSchedulingIgnoredDuringExecution: []corev1.PreferredSchedulingTerm{{
			Weight: 1, Preference: corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{{Key: "disk", Operator: corev1.NodeSelectorOpIn, Values: []string{"ssd"}}}},
		}}}}
		s.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{
			MaxSkew: 100, TopologyKey: "pool", WhenUnsatisfiable: corev1.DoNotSchedule, LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}},
		}}
	})
	m.deployment("later", func(s *corev1.PodSpec) {
		memory("1Gi")(s)
		s.Tolerations = []corev1.Toleration{{Key: "dedicated", Operator: corev1.TolerationOpExists, TolerationSeconds: new(int64(5)), Effect: corev1.TaintEffectNoExecute}}
		s.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
			MatchExpressions: []corev1.NodeSelectorRequirement{{Key: corev1.LabelHostname, Operator: corev1.NodeSelectorOpIn, Values: []string{m.from, m.pool + "-ssd"}}},
		}}}}}
	})
	m.running(13)
	m.node(m.to, "12Gi", nil)
	m.c.Node(t, acctest.Node{
		Name: m.pool + "-ssd", Labels: map[string]string{"pool": m.pool, corev1.LabelHostname: m.pool + "-ssd", "disk": "ssd"},
		Allocatable: corev1.ResourceList{"cpu": resource.MustParse("4"), "memory": resource.MustParse("12Gi"), "pods": resource.MustParse("20")},
	})
	tf := &acctest.Terraform{Provider: m.c.Provider(t)}
	preview, d := tf.Data(t, "kubetaint_eviction_preview", map[string]any{"node_name": m.from, "taints": acctest.Objects(t, "dedicated=gpu:NoExecute closed=yes:NoSchedule")})
	if d.Errors() != "" {
		t.Fatal(d.Errors())
	}
	summary := preview["summary"].(map[string]any)
	// In some orders pods choose any node.
	for name, want := range map[string]int64{"evicted_now": 12, "evicted_after": 1, "pending": 0, "pending_max": 1} {
		if summary[name] != want {
			t.Errorf("%s is %v, want %d", name, summary[name], want)
		}
	}
	m.c.Patch(t, m.from, `{"spec":{"taints":[{"key":"dedicated","value":"gpu","effect":"NoExecute"},{"key":"closed","value":"yes","effect":"NoSchedule"}]}}`)
	acctest.Until(t, "all pods but one run on other nodes", func(ctx context.Context) (bool, error) {
		return m.count(ctx, func(p *corev1.Pod) bool {
			return p.Spec.NodeName != m.from && p.Status.Phase == corev1.PodRunning && p.DeletionTimestamp == nil
		}) == 12, nil
	})
	acctest.Until(t, "the other pod is Pending", func(ctx context.Context) (bool, error) {
		return m.count(ctx, func(p *corev1.Pod) bool {
			return p.Labels["app"] == "later" && condition(p, corev1.PodScheduled).Status == corev1.ConditionFalse && p.DeletionTimestamp == nil
		}) == 1, nil
	})
}
