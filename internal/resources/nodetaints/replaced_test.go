// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package nodetaints_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
)

// TestNodeTaints_aReplacementKeepsRetiredTolerations destroys the last taint that pods need a retired
// toleration for, and creates another one for which they need it: the toleration stays, and no pod is
// evicted. When that taint goes as well, so does the toleration.
func TestNodeTaints_aReplacementKeepsRetiredTolerations(t *testing.T) {
	t.Parallel()
	acctest.OnFakeWithControllers(t, func(t *testing.T, c *acctest.Cluster) {
		tf, node, namespace := terraform(t, c), acctest.Name(t, "node"), c.Namespace(t)
		c.Node(t, acctest.Node{Name: node, Labels: map[string]string{"only": node}})
		c.Deployment(t, namespace, "web", 2, func(spec *corev1.PodSpec) { spec.NodeSelector = map[string]string{"only": node} })
		tolerations, taints := &acctest.Instance{Type: "kubetaint_workload_tolerations"}, newInstance()
		tolerated := func(what map[string]any) map[string]any {
			return acctest.With(tolerationsOf(namespace, ""), map[string]any{"tolerations": []any{acctest.With(what, map[string]any{"key": "dedicated"})}})
		}
		apply(t, tf, tolerations, tolerated(map[string]any{"operator": "Exists"}))
		linked := func(target map[string]any, taint string) map[string]any {
			return acctest.With(target, map[string]any{"taints": acctest.Objects(t, taint), "tolerated_by": []any{tf.Attributes(t, tolerations)["id"]}})
		}
		apply(t, tf, taints, linked(map[string]any{"node_selector": "only=" + node}, "dedicated:NoExecute"))

		evicted := c.Evictions(t, namespace)
		fewer := tolerated(map[string]any{"value": "a"})
		replacing := linked(map[string]any{"node_name": node}, "dedicated=b:NoExecute")
		walk := tf.Walk(t)
		planned := []acctest.Planned{walk.Plan(tolerations, fewer), walk.Plan(taints, replacing)}
		if !planned[1].Replace {
			t.Fatal("the taints are not replaced")
		}
		walk = tf.Walk(t)
		for _, d := range []acctest.Diagnostics{
			walk.ApplyChange(tolerations, planned[0], fewer),
			walk.ApplyChange(taints, acctest.Planned{Private: planned[1].Private}, nil),
			walk.ApplyChange(taints, planned[1], replacing),
		} {
			if d.Errors() != "" {
				t.Fatal(d.Errors())
			}
		}
		time.Sleep(time.Minute)
		wantTaints(t, c, node, "dedicated=b:NoExecute")
		if names := evicted(); len(names) > 0 {
			t.Errorf("%v are evicted", names)
		}
		if has := c.Tolerations(t, namespace, "Deployment", "web"); has != "dedicated Exists, dedicated=a" {
			t.Errorf("the pods have %s", has)
		}
		tf.Destroy(t, taints)
		if has := c.Tolerations(t, namespace, "Deployment", "web"); has != "dedicated=a" {
			t.Errorf("in the end the pods have %s", has)
		}
	})
}
