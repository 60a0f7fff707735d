// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package drainnodes_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
)

// TestDrainNodes_onlyIsCheckedAtPlanAndAgainBeforeTheFirstWrite by the action's own list, and by that of
// the provider block.
func TestDrainNodes_onlyIsCheckedAtPlanAndAgainBeforeTheFirstWrite(t *testing.T) {
	t.Parallel()
	acctest.OnFakeWithControllers(t, func(t *testing.T, c *acctest.Cluster) {
		name, apps, tf := acctest.Name(t, "node"), c.Namespace(t), &acctest.Terraform{Provider: c.Provider(t)}
		c.Node(t, acctest.Node{Name: name, Labels: map[string]string{"pool": name}})
		run := func(app string) {
			c.Deployment(t, apps, app, 1, func(spec *corev1.PodSpec) { spec.NodeSelector = map[string]string{"pool": name} })
			c.Running(t, apps, app, 1)
		}
		run("web")
		config := func(only ...any) map[string]any {
			return map[string]any{"node_name": name, "evictions": map[string]any{"only": only}}
		}
		refused := "1 pod of " + apps + "/Deployment/web would be evicted, and evictions.only = [] allows none"
		acctest.WantAll(t, tf.Invoke(t, "kubetaint_drain_nodes", config()).Errors(), `AttributeName("evictions").AttributeName("only")`, refused, "  evictions = {\n    only = [\n      \""+apps+"/Deployment/web\",\n    ]\n  }")
		inherited := &acctest.Terraform{Provider: acctest.With(tf.Provider, map[string]any{"evictions": map[string]any{"only": []any{}}})}
		acctest.WantAll(t, inherited.Invoke(t, "kubetaint_drain_nodes", map[string]any{"node_name": name}).Errors(), refused, "set in the provider block")

		walk := tf.Walk(t)
		walk.Between = func() { run("api") }
		acctest.WantAll(t, walk.Invoke("kubetaint_drain_nodes", config(apps+"/Deployment/web")).Errors(), "1 pod of "+apps+"/Deployment/api would be evicted", "Nothing has been written")
		if c.Get(t, name).Spec.Unschedulable {
			t.Fatal("the node is cordoned")
		}
		if d := inherited.Invoke(t, "kubetaint_drain_nodes", config(apps+"/Deployment/*")); d.Errors() != "" {
			t.Fatal(d.Errors())
		}
		if !c.Get(t, name).Spec.Unschedulable {
			t.Fatal("the evictions are approved, and the node is not cordoned")
		}
	})
}
