// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package nodetaints_test

import (
	"strings"
	"testing"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/fakeapi/controllers"
)

func TestNodeTaints_absentTaintIsRefusedWhereTheMachineWouldPutItBack(t *testing.T) {
	t.Parallel()
	acctest.OnFake(t, func(t *testing.T, c *acctest.Cluster) {
		tf, name, namespace := terraform(t, c), acctest.Name(t, "node"), c.Namespace(t)
		c.Node(t, acctest.Node{Name: name, Taints: acctest.Parse(t, "dedicated=gpu:NoSchedule spot:NoSchedule")})
		c.Machine(t, namespace, "machine-1", acctest.Parse(t, "dedicated=gpu:NoSchedule"))
		c.Patch(t, name, `{"metadata":{"annotations":{"machine.openshift.io/machine":"`+namespace+`/machine-1"}}}`)
		absent := func(key string) map[string]any {
			return map[string]any{"node_name": name, "absent_taints": []any{map[string]any{"key": key, "effect": "NoSchedule"}}}
		}
		acctest.WantAll(t, tf.Plan(t, newInstance(), absent("dedicated")).Diagnostics.Errors(), "absent_taints", namespace+"/machine-1", "puts it back")
		i := newInstance()
		tf.Settle(t, i, absent("spot"))
		wantTaints(t, c, name, "dedicated=gpu:NoSchedule")
		tf.Destroy(t, i)
	}, controllers.MachineAPI...)
}

func TestNodeTaints_planWarnsOfATaintThatTheMachinePutsBack(t *testing.T) {
	t.Parallel()
	acctest.OnFake(t, func(t *testing.T, c *acctest.Cluster) {
		tf, name, namespace := terraform(t, c), acctest.Name(t, "node"), c.Namespace(t)
		c.Node(t, acctest.Node{Name: name, Taints: acctest.Parse(t, "dedicated=gpu:NoSchedule spot:NoSchedule")})
		c.Machine(t, namespace, "machine-1", acctest.Parse(t, "dedicated=gpu:NoSchedule"))
		c.Patch(t, name, `{"metadata":{"annotations":{"machine.openshift.io/machine":"`+namespace+`/machine-1"}}}`)
		config := func(taints string) map[string]any {
			return map[string]any{"node_name": name, "on_conflict": "adopt", "taints": acctest.Objects(t, taints)}
		}
		i := newInstance()
		tf.Settle(t, i, config("dedicated=gpu:NoSchedule spot:NoSchedule"))
		planned := tf.Plan(t, i, config("spot:NoSchedule"))
		acctest.WantAll(t, planned.Diagnostics.Warnings(), "OpenShift will put back 1 taint that this plan removes", "node "+name+": dedicated:NoSchedule")
		if d := tf.Plan(t, i, config("dedicated=gpu:NoSchedule")); strings.Contains(d.Diagnostics.Warnings(), "put back") {
			t.Errorf("spot is not of the Machine: %s", d.Diagnostics.Warnings())
		}
		tf.Destroy(t, i)
	}, controllers.MachineAPI...)
}
