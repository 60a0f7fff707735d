// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package nodetaints_test

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
)

// TestNodeTaints_namesThePodThatStopsALinkedRollout: the template has the tolerations, so that their
// own plan is empty, and the controller of the StatefulSet replaces no pod while one is not ready.
func TestNodeTaints_namesThePodThatStopsALinkedRollout(t *testing.T) {
	t.Parallel()
	acctest.OnFakeWithControllers(t, func(t *testing.T, c *acctest.Cluster) {
		const stops = "stops until web-0 is ready"
		h := newHeld(t, c, "StatefulSet", func(namespace string) { unready(t, c, namespace) })
		if behind := h.without(); len(behind) != 2 {
			t.Fatalf("%v do not carry the tolerations", behind)
		}
		planned := h.told().Plan(newInstance(), h.taints)
		acctest.WantAll(t, planned.Diagnostics.Warnings(), `AttributeName("tolerated_by")`, `The rollout of StatefulSet "`+h.namespace+`/web" `+stops,
			"OrderedReady", "kubectl delete pod web-0 -n "+h.namespace, "No taint is written before the rollout has finished.")
		if d := planned.Diagnostics.Errors(); d != "" {
			t.Fatal(d)
		}
		// The way out is one.
		if err := c.Admin.CoreV1().Pods(h.namespace).Delete(t.Context(), "web-0", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		if d := h.tf.Apply(t, newInstance(), h.taints); d.Errors() != "" {
			t.Fatal(d.Errors())
		}
		// Pods that carry the tolerations are not waited for.
		unready(t, c, h.namespace)
		other := acctest.With(h.taints, map[string]any{"taints": acctest.Objects(t, "other=gpu:NoExecute")})
		if d := h.told().Plan(newInstance(), other).Diagnostics; strings.Contains(d.Warnings(), stops) {
			t.Fatalf("all pods carry the tolerations, and the plan says: %s", d.Warnings())
		}
	})
}

// unready does what a kubelet does to the first pod of a StatefulSet whose readiness probe fails.
func unready(t *testing.T, c *acctest.Cluster, namespace string) {
	t.Helper()
	pods := c.Admin.CoreV1().Pods(namespace)
	pod, err := pods.Get(t.Context(), "web-0", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionFalse}}
	if _, err := pods.UpdateStatus(t.Context(), pod, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
}
