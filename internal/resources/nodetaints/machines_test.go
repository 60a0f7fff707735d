// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package nodetaints_test

import (
	"slices"
	"testing"

	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/fakeapi/controllers"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/messages"
)

func TestNodeTaints_absentTaintIsRefusedWhereTheMachineWouldPutItBack(t *testing.T) {
	t.Parallel()
	messages.Expect(t, "Unable to keep taint … off …")
	acctest.OnFake(t, func(t *testing.T, c *acctest.Cluster) {
		tf, name, namespace := terraform(t, c), acctest.Name(t, "node"), c.Namespace(t)
		c.Node(t, acctest.Node{Name: name, Taints: acctest.Parse(t, "dedicated=gpu:NoSchedule spot:NoSchedule")})
		c.Machine(t, namespace, "machine-1", acctest.Parse(t, "dedicated=gpu:NoSchedule"))
		c.Patch(t, name, `{"metadata":{"annotations":{"machine.openshift.io/machine":"`+namespace+`/machine-1"}}}`)
		absent := func(key string) map[string]any {
			return map[string]any{"node_name": name, "absent_taints": []any{map[string]any{"key": key, "effect": "NoSchedule"}}}
		}
		acctest.WantAll(t, tf.Plan(t, newInstance(), absent("dedicated")).Diagnostics.Errors(), "absent_taints", namespace+"/machine-1", "restores it")
		i := newInstance()
		tf.Settle(t, i, absent("spot"))
		wantTaints(t, c, name, "dedicated=gpu:NoSchedule")
		tf.Destroy(t, i)
	}, controllers.MachineAPI...)
}

// TestNodeTaints_aTaintThatTheMachineCarriesIsNotDropped: one that was adopted, and the Machine
// carries, stays in the configuration until the Machine has lost it.
func TestNodeTaints_aTaintThatTheMachineCarriesIsNotDropped(t *testing.T) {
	t.Parallel()
	for _, imported := range []bool{false, true} {
		t.Run(map[bool]string{false: "adopted", true: "imported"}[imported], func(t *testing.T) {
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
				if imported {
					var d acctest.Diagnostics
					if i, d = tf.Import(t, i.Type, "node/"+name+"/dedicated:NoSchedule,spot:NoSchedule"); d.Errors() != "" {
						t.Fatal(d.Errors())
					}
					// An import gets its marks with the next change.
					tf.Settle(t, i, config("dedicated=gpu:NoSchedule spot:NoSchedule extra:NoSchedule"))
				}
				tf.Settle(t, i, config("dedicated=gpu:NoSchedule spot:NoSchedule"))
				acctest.WantAll(t, tf.Plan(t, i, config("spot:NoSchedule")).Diagnostics.Errors(), `Unable to remove taint "dedicated:NoSchedule" from node "`+name+`"`,
					"the node's Machine "+namespace+"/machine-1 has it", "remove it from the MachineSet's template and the Machine's spec.taints first", "until then, leave it in the configuration")
				wantTaints(t, c, name, "dedicated=gpu:NoSchedule, spot:NoSchedule")
				tf.Settle(t, i, config("dedicated=gpu:NoSchedule"))
				wantTaints(t, c, name, "dedicated=gpu:NoSchedule")

				c.Change(t, acctest.Thing{APIVersion: machinev1beta1.GroupVersion.String(), Kind: "Machine", Namespace: namespace, Name: "machine-1"}, "x", `{"spec":{"taints":null}}`)
				again := terraform(t, c)
				again.Settle(t, i, config("other:NoSchedule"))
				wantTaints(t, c, name, "other:NoSchedule")
				again.Destroy(t, i)
			}, controllers.MachineAPI...)
		})
	}
}

// TestNodeTaints_aDestroyNeedsNoRightForMachines: absent taints are promised with the right to read
// Machines alone; a destroy removes and restores all the same.
func TestNodeTaints_aDestroyNeedsNoRightForMachines(t *testing.T) {
	t.Parallel()
	messages.Expect(t, "OpenShift may restore …")
	acctest.OnFake(t, func(t *testing.T, c *acctest.Cluster) {
		name, namespace, i := acctest.Name(t, "node"), c.Namespace(t), newInstance()
		c.Node(t, acctest.Node{Name: name, Taints: acctest.Parse(t, "spot:NoSchedule")})
		c.Machine(t, namespace, "machine-1", nil)
		c.Patch(t, name, `{"metadata":{"annotations":{"machine.openshift.io/machine":"`+namespace+`/machine-1"}}}`)
		config := map[string]any{"node_name": name, "taints": acctest.Objects(t, "own:NoSchedule"), "absent_taints": []any{map[string]any{"key": "spot", "effect": "NoSchedule"}}}
		rights := slices.DeleteFunc(c.Rights(t), func(r rbacv1.PolicyRule) bool { return slices.Contains(r.APIGroups, machinev1beta1.GroupName) })
		few := &acctest.Terraform{Provider: c.ProviderAt(t, c.REST.Host, c.TokenWith(t, rights...))}
		acctest.WantAll(t, few.Plan(t, newInstance(), config).Diagnostics.Errors(), "read the Machines of")
		terraform(t, c).Settle(t, i, config)
		acctest.WantAll(t, few.Plan(t, i, nil).Diagnostics.Warnings(), "OpenShift may restore taint own:NoSchedule, which this plan removes from 1 node: no permission to list Machines",
			"node "+name, "Grant list of machines and machinesets in machine.openshift.io")
		few.Destroy(t, i)
		wantTaints(t, c, name, "spot:NoSchedule")
	}, controllers.MachineAPI...)
}

// TestNodeTaints_aNodeThatComesWithItsMachineIsLookedAtBeforeTheWrite: the plan waits for a node, which
// comes with a taint that must be absent and that its Machine carries.
func TestNodeTaints_aNodeThatComesWithItsMachineIsLookedAtBeforeTheWrite(t *testing.T) {
	t.Parallel()
	acctest.OnFake(t, func(t *testing.T, c *acctest.Cluster) {
		tf, name, namespace, i := terraform(t, c), acctest.Name(t, "node"), c.Namespace(t), newInstance()
		config := map[string]any{"node_name": name, "absent_taints": []any{map[string]any{"key": "spot", "effect": "NoSchedule"}}}
		planned := tf.Plan(t, i, config)
		if planned.Diagnostics.Errors() != "" {
			t.Fatal(planned.Diagnostics.Errors())
		}
		walk := tf.Walk(t)
		walk.Between = func() {
			c.Machine(t, namespace, "machine-1", acctest.Parse(t, "spot:NoSchedule"))
			c.Node(t, acctest.Node{Name: name, Taints: acctest.Parse(t, "spot:NoSchedule")})
			c.Patch(t, name, `{"metadata":{"annotations":{"machine.openshift.io/machine":"`+namespace+`/machine-1"}}}`)
		}
		acctest.WantAll(t, walk.ApplyChange(i, planned, config).Errors(), namespace+"/machine-1", "restores it")
		wantTaints(t, c, name, "spot:NoSchedule")
	}, controllers.MachineAPI...)
}
