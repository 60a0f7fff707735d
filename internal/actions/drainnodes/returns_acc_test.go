// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package drainnodes_test

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
)

// TestAccDrainNodes_podsThatTolerateACordonReturn: the plan reports it, with the way out, and the drain ends with other pods on the
// drained node.
func TestAccDrainNodes_podsThatTolerateACordonReturn(t *testing.T) {
	t.Parallel()
	acctest.NeedKwok(t, "nodes of a chosen size")
	e := &ending{T: t, c: acctest.Connect(t), pool: acctest.Name(t, "pool")}
	e.namespace = e.c.Namespace(t)
	e.node(e.drained(), 3)
	e.c.Deployment(e, e.namespace, "agent", 2, func(s *corev1.PodSpec) {
		s.NodeSelector = map[string]string{"pool": e.pool}
		s.Tolerations = []corev1.Toleration{{Key: corev1.TaintNodeUnschedulable, Operator: corev1.TolerationOpExists}}
	})
	e.c.Running(e, e.namespace, "agent", 2)
	before := e.byUID()
	d := (&acctest.Terraform{Provider: e.c.Provider(t)}).Invoke(t, "kubetaint_drain_nodes", map[string]any{"node_name": e.drained(), "timeout": "150s"})
	for _, want := range []string{"evicts 2 pods: 2 back on drained nodes", "recreated on a drained node", "Remove this toleration"} {
		if !strings.Contains(d.Warnings(), want) {
			t.Errorf("the plan does not report %q: %s", want, d.Warnings())
		}
	}
	if d.Errors() != "" {
		t.Errorf("the drain reports %q", d.Errors())
	}
	e.c.Running(e, e.namespace, "agent", 2)
	for uid, node := range e.byUID() {
		if node != e.drained() || before[uid] != "" {
			t.Errorf("a pod is on %q, it was on %q before", node, before[uid])
		}
	}
}

// byUID returns the nodes of the pods that are not being deleted.
func (e *ending) byUID() map[string]string {
	e.Helper()
	pods, err := e.c.Admin.CoreV1().Pods(e.namespace).List(e.Context(), metav1.ListOptions{})
	e.must(err)
	out := map[string]string{}
	for i := range pods.Items {
		if pods.Items[i].DeletionTimestamp == nil {
			out[string(pods.Items[i].UID)] = pods.Items[i].Spec.NodeName
		}
	}
	return out
}
