// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package cyclemachineset_test

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/fakeapi/controllers"
)

// TestCycleMachineSet_onlyIsCheckedAtPlanAndAgainBeforeTheFirstWrite by the action's own list, and by that
// of the provider block.
func TestCycleMachineSet_onlyIsCheckedAtPlanAndAgainBeforeTheFirstWrite(t *testing.T) {
	t.Parallel()
	acctest.OnFakeWithControllers(t, func(t *testing.T, c *acctest.Cluster) {
		namespace, apps, tf := c.Namespace(t), c.Namespace(t), &acctest.Terraform{Provider: c.Provider(t)}
		p := c.MachineSet(t, acctest.MachineSet{Namespace: namespace, Name: acctest.Name(t, "ms"), Replicas: 1})
		run := func(app string) {
			c.Deployment(t, apps, app, 1, func(spec *corev1.PodSpec) { spec.NodeSelector = map[string]string{"pool": p.Name} })
			c.Running(t, apps, app, 1)
		}
		run("web")
		config := func(only ...any) map[string]any {
			return map[string]any{"namespace": namespace, "name": p.Name, "rollout": map[string]any{"strategy": "rolling"}, "evictions": map[string]any{"only": only}}
		}
		before := p.Names()
		refused := "1 pod of " + apps + "/Deployment/web would be evicted, and evictions.only = [] allows none"
		acctest.WantAll(t, tf.Invoke(t, typeName, config()).Errors(), `AttributeName("evictions").AttributeName("only")`, refused, "  evictions = {\n    only = [\n      \""+apps+"/Deployment/web\",\n    ]\n  }")
		inherited := &acctest.Terraform{Provider: acctest.With(tf.Provider, map[string]any{"evictions": map[string]any{"only": []any{}}})}
		acctest.WantAll(t, inherited.Invoke(t, typeName, acctest.With(config(), map[string]any{"evictions": nil})).Errors(), refused, "set in the provider block")

		walk := tf.Walk(t)
		walk.Between = func() { run("api") }
		acctest.WantAll(t, walk.Invoke(typeName, config(apps+"/Deployment/web")).Errors(), "1 pod of "+apps+"/Deployment/api would be evicted", "Nothing has been written")
		if now := p.Names(); !slices.Equal(now, before) {
			t.Fatalf("the machines were %v and are %v", before, now)
		}
		if d := inherited.Invoke(t, typeName, config(apps+"/*")); d.Errors() != "" {
			t.Fatal(d.Errors())
		}
		if now := p.Names(); slices.Equal(now, before) {
			t.Fatal("the evictions are approved, and no machine was replaced")
		}
	}, controllers.MachineAPI...)
}

// The pod of a replaced machine preempts another one on a node that is not replaced.
func TestCycleMachineSet_limitsCountWhatPreemptionEvictsElsewhere(t *testing.T) {
	t.Parallel()
	acctest.OnFakeWithControllers(t, func(t *testing.T, c *acctest.Cluster) {
		namespace, tf := c.Namespace(t), &acctest.Terraform{Provider: c.Provider(t)}
		p := c.MachineSet(t, acctest.MachineSet{Namespace: namespace, Name: acctest.Name(t, "ms"), Replicas: 1})
		pods := c.Preempting(t, p.Name, p.Names()[0])
		config := func(evictions map[string]any) map[string]any {
			return map[string]any{"namespace": namespace, "name": p.Name, "rollout": map[string]any{"strategy": "rolling"}, "evictions": evictions}
		}
		before, walk := p.Names(), tf.Walk(t)
		walk.Between = pods.Calm
		acctest.WantAll(t, walk.Invoke(typeName, config(map[string]any{"protected_namespaces": []string{pods.Other}})).Errors(), "protected_namespaces", "1 pod of protected namespaces would be evicted", "Nothing has been written")
		if now := p.Names(); !slices.Equal(now, before) {
			t.Fatalf("the machines were %v and are %v", before, now)
		}
		pods.Exceeded(t, func(evictions map[string]any) string { return tf.Invoke(t, typeName, config(evictions)).Errors() })
	}, controllers.MachineAPI...)
}
