// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package evictionpreview_test

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
)

// The scheduler lets pods back to a node whose taint they tolerate for seconds, and taint eviction evicts them again.
func TestAccEvictionPreview_aTolerationForSecondsEvictsRepeatedly(t *testing.T) {
	t.Parallel()
	m := newMove(t)
	seconds := int64(2)
	m.c.Deployment(t, m.namespace, "web", 1, func(s *corev1.PodSpec) {
		s.NodeSelector = map[string]string{"pool": m.pool}
		s.Tolerations = []corev1.Toleration{{Key: "leaving", Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute, TolerationSeconds: &seconds}}
	})
	m.running(1)
	tf := &acctest.Terraform{Provider: m.c.Provider(t)}
	for taints, want := range map[string][3]int64{"leaving:NoExecute": {1, 1, 0}, "leaving:NoExecute leaving:NoSchedule": {1, 0, 1}} {
		preview, d := tf.Data(t, "kubetaint_eviction_preview", map[string]any{"node_name": m.from, "taints": acctest.Objects(t, taints)})
		if d.Errors() != "" {
			t.Fatal(d.Errors())
		}
		for attribute, of := range map[string]any{"workloads": preview["workloads"].([]any)[0], "summary": preview["summary"]} {
			for i, name := range []string{"evicted_after", "evicted_again", "pending"} {
				if got := of.(map[string]any)[name]; got != want[i] {
					t.Errorf("%s: %s.%s is %v, want %d", taints, attribute, name, got, want[i])
				}
			}
		}
	}
	d := tf.Settle(t, &acctest.Instance{Type: "kubetaint_node_taints"}, map[string]any{"node_name": m.from, "taints": acctest.Objects(t, "leaving:NoExecute")})
	acctest.WantAll(t, d.Warnings(), "evicts 1 pod: 1 evicted repeatedly", "AGAIN 1  Deployment "+m.namespace+"/web", "recreated on a tainted node", "untolerated NoSchedule taint")
	m.seesThree()
}

// A template with spec.nodeName needs no scheduler: no taint keeps its pods away, though another node has room.
func TestAccEvictionPreview_aTemplateThatNamesItsNodeReturnsItsPods(t *testing.T) {
	t.Parallel()
	m := newMove(t)
	m.c.Deployment(t, m.namespace, "web", 1, func(s *corev1.PodSpec) { s.NodeName = m.from })
	m.running(1)
	tf := &acctest.Terraform{Provider: m.c.Provider(t)}
	tainting := map[string]any{"node_name": m.from, "taints": acctest.Objects(t, "leaving:NoExecute leaving:NoSchedule")}
	preview, d := tf.Data(t, "kubetaint_eviction_preview", tainting)
	if summary := preview["summary"].(map[string]any); d.Errors() != "" || summary["evicted_again"] != int64(1) || summary["pending"] != int64(0) {
		t.Fatalf("%s: %v", d.Errors(), summary)
	}
	d = tf.Settle(t, &acctest.Instance{Type: "kubetaint_node_taints"}, tainting)
	acctest.WantAll(t, d.Warnings(), "evicts 1 pod: 1 evicted repeatedly", "AGAIN 1  Deployment "+m.namespace+"/web", "recreated on a tainted node", "spec.nodeName", "bypasses the scheduler")
	m.seesThree()
	// Its controller creates pods without end.
	if err := m.c.Admin.AppsV1().Deployments(m.namespace).Delete(t.Context(), "web", metav1.DeleteOptions{}); err != nil {
		t.Error(err)
	}
}

// seesThree waits until three pods in turn have been on the node.
func (m *move) seesThree() {
	m.t.Helper()
	seen := map[types.UID]bool{}
	acctest.Until(m.t, "the replacement has been evicted as well", func(ctx context.Context) (bool, error) {
		m.count(ctx, func(p *corev1.Pod) bool {
			if p.Spec.NodeName == m.from {
				seen[p.UID] = true
			}
			return true
		})
		return len(seen) >= 3, nil
	})
}
