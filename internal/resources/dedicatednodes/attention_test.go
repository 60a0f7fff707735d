// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package dedicatednodes_test

import (
	"testing"
	"time"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/fakeapi/controllers"
)

// TestDedicatedNodes_warnsOfMachineSetsThatNoControllerActsOn, and waits for none: neither
// before it ends nor before it gives up labels.
func TestDedicatedNodes_warnsOfMachineSetsThatNoControllerActsOn(t *testing.T) {
	t.Parallel()
	acctest.OnFake(t, func(t *testing.T, c *acctest.Cluster) {
		set := c.Unattended(t, c.Namespace(t))
		c.MachineOf(t, set, "m1")
		time.Sleep(time.Minute)
		tf, i := &acctest.Terraform{Provider: c.Provider(t)}, &acctest.Instance{Type: typeName}
		config := map[string]any{
			"machine_sets": map[string]any{"namespace": set.Namespace, "name": set.Name, "rollout": map[string]any{"strategy": "in_place"}},
			"taints":       acctest.Objects(t, "team=a:NoSchedule"), "labels": map[string]any{"team": "a"},
		}
		planned := tf.Plan(t, i, config)
		acctest.WantAll(t, planned.Diagnostics.Warnings(), `No controller acts on MachineSet "`+set.Namespace+"/"+set.Name+`": its machines are changed, and no new one will come`)
		began := time.Now()
		tf.Settle(t, i, config)
		tf.Destroy(t, i)
		if took := time.Since(began); took > 5*time.Minute {
			t.Errorf("it waited for %s", took)
		}
	}, controllers.MachineAPI...)
}

// TestDedicatedNodes_warnsOfANamespaceThatRejectsEveryPod: the restart would lose the pods.
func TestDedicatedNodes_warnsOfANamespaceThatRejectsEveryPod(t *testing.T) {
	t.Parallel()
	onFake(t, func(t *testing.T, c *acctest.Cluster) {
		p := newPool(t, c, "StatefulSet")
		c.Allow(t, p.namespace, `[{"key":"team","operator":"Exists"}]`)
		planned := terraform(t, c).Plan(t, newInstance(), p.config(wish{taints: "team=a:NoExecute", workloads: map[string]string{"StatefulSet": tolerating}}))
		acctest.WantAll(t, planned.Diagnostics.Warnings(), `Namespace "`+p.namespace+`" rejects every new pod of StatefulSet "`+p.namespace+`/statefulset"`, "node.kubernetes.io/not-ready Exists:NoExecute for 300s")
	})
}
