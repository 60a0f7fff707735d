// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package workloadtolerations_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
)

// TestAccWorkloadTolerations_aStatefulSetStopsAtAPodThatIsNotReady: its controller replaces
// no other pod, plan and error name the one and the way out, and the way out is one.
func TestAccWorkloadTolerations_aStatefulSetStopsAtAPodThatIsNotReady(t *testing.T) {
	t.Parallel()
	acctest.NeedKwok(t, "a test makes a pod not ready")
	s := openShop(t)
	thing := s.make("StatefulSet", "db", 2, "", nil)
	s.unready("db-0")
	way := []string{"OrderedReady", "kubectl delete pod db-0 -n " + s.namespace}
	s.warned(s.manage(thing, "team=a:NoExecute", nil), append(way, "stops until db-0 is ready")...)

	i := s.fresh()
	config := s.manage(thing, "team=a:NoExecute", map[string]any{"timeouts": map[string]any{"create": "3s"}})
	d := s.tf.Apply(t, i, config)
	says(t, "error", d.Errors(), append(way, "the rollout did not finish", "1 pod not ready or terminating: db-0")...)
	if !s.revised("db", 2) {
		t.Fatal("the controller has not seen the template, so that nothing is shown")
	}
	for _, p := range s.live("db") {
		if tolerates(p, "team") {
			t.Fatalf("%s has been replaced, and the error says that it cannot be", p.Name)
		}
	}
	if err := s.c.Admin.CoreV1().Pods(s.namespace).Delete(t.Context(), "db-0", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	s.apply(i, s.manage(thing, "team=a:NoExecute", nil))
	s.wantPods("db", 2, "team=a:NoExecute", "StatefulSet")
}

// unready does what a kubelet does to a pod whose readiness probe fails.
func (s *shop) unready(pod string) {
	s.t.Helper()
	s.until(pod+" is not ready", func() bool {
		p, err := s.c.Admin.CoreV1().Pods(s.namespace).Get(s.t.Context(), pod, metav1.GetOptions{})
		if err != nil {
			return false
		}
		p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionFalse, LastTransitionTime: metav1.Now()}}
		_, err = s.c.Admin.CoreV1().Pods(s.namespace).UpdateStatus(s.t.Context(), p, metav1.UpdateOptions{})
		return err == nil
	})
}
