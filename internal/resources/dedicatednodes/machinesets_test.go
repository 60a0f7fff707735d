// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package dedicatednodes_test

import (
	"maps"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
)

// TestDedicatedNodes_machineSetsRefused says at plan what must not be done, writes
// nothing, and names the attribute.
func TestDedicatedNodes_machineSetsRefused(t *testing.T) {
	t.Parallel()
	onFake(t, func(t *testing.T, c *acctest.Cluster) {
		f := newFleet(t, c)
		tf := terraform(t, f.c)
		version := f.Version()
		w := fleetWish{"team=a:NoExecute", "dedicated=gpu"}
		sets := func(change map[string]any) map[string]any {
			config := f.config(w, map[string]any{"strategy": "in_place"})
			all := map[string]any{"namespace": f.Namespace, "name": f.Pool.Name, "rollout": map[string]any{"strategy": "in_place"}}
			maps.Copy(all, change)
			config["machine_sets"] = all
			return config
		}
		taken := f.config(fleetWish{w.taints, "pool=other"}, map[string]any{"strategy": "in_place"})
		for name, tt := range map[string]struct {
			config map[string]any
			parts  []string
		}{
			"a MachineSet that is not there":         {sets(map[string]any{"name": "nowhere"}), []string{"Unable to find MachineSet", "nowhere"}},
			"a parameter of another strategy":        {sets(map[string]any{"rollout": map[string]any{"strategy": "in_place", "max_surge": 1}}), []string{"max_surge"}},
			"a label that nodes have otherwise":      {taken, []string{`Unable to claim label "pool" on node`, "Choose another key"}},
			"neither a name nor a selector":          {sets(map[string]any{"name": nil}), []string{"name"}},
			"a selector that does not parse":         {sets(map[string]any{"name": nil, "selector": "a in"}), []string{"selector"}},
			"MachineSets beside nodes of a selector": {func() map[string]any { c := sets(nil); c["node_selector"] = "a=b"; return c }(), []string{"node_selector"}},
		} {
			t.Log(name)
			acctest.WantAll(t, tf.Plan(t, newInstance(), tt.config).Diagnostics.Errors(), tt.parts...)
		}
		if f.Version() != version {
			t.Fatal("a plan has written to the MachineSet")
		}

		f.c.Change(t, f.Thing, "hive", `{"metadata":{"labels":{"hive.openshift.io/machine-pool":"worker","hive.openshift.io/managed":"true"}}}`)
		acctest.WantAll(t, tf.Plan(t, newInstance(), sets(nil)).Diagnostics.Errors(),
			`[AttributeName("machine_sets").AttributeName("name")] Unable to change the taints of MachineSet`, "Hive manages this MachineSet", "Change the MachinePool instead")
	})
}

// TestDedicatedNodes_whatTemplateOnlyHasLeftOnMachinesGoesLater: a strategy that reaches
// machines takes from them what left the template before.
func TestDedicatedNodes_whatTemplateOnlyHasLeftOnMachinesGoesLater(t *testing.T) {
	t.Parallel()
	onFake(t, func(t *testing.T, c *acctest.Cluster) {
		f := newFleet(t, c)
		tf, i := &acctest.Terraform{Provider: f.c.Provider(t)}, &acctest.Instance{Type: typeName}
		inPlace, templateOnly := map[string]any{"strategy": "in_place"}, map[string]any{"strategy": "template_only"}
		tf.Settle(t, i, f.config(fleetWish{"team=a:NoSchedule", "tier=a"}, inPlace))
		wish := fleetWish{"crew=a:NoSchedule", "tier=a"}
		tf.Settle(t, i, f.config(wish, templateOnly))
		f.WantTemplate(2, foreignTaint+" crew=a:NoSchedule")
		acctest.WantAll(t, tf.Plan(t, i, nil).Diagnostics.Warnings(), "Destroying leaves team=a:NoSchedule on 2 machines of MachineSet")
		tf.Settle(t, i, f.config(wish, inPlace))
		f.want(wish)
	})
}

// TestDedicatedNodes_aReplacementThatStrandsPodsIsRefusedAtPlan: its apply destroys first, and finds no
// taint any more that the stranger tolerates.
func TestDedicatedNodes_aReplacementThatStrandsPodsIsRefusedAtPlan(t *testing.T) {
	t.Parallel()
	onFake(t, func(t *testing.T, c *acctest.Cluster) {
		f := newFleet(t, c)
		tf, i := terraform(t, f.c), newInstance()
		sets := f.config(fleetWish{"team=a:NoExecute", "tier=a"}, map[string]any{"strategy": "in_place"})
		tf.Settle(t, i, sets)
		c.Pod(t, f.Namespace, "stranger", f.Machines()[f.Names()[0]].Status.NodeRef.Name, func(pod *corev1.Pod) {
			pod.Spec.Tolerations = acctest.ParseTolerations(t, "team=a foreign")
		})
		config := f.config(fleetWish{"team=b:NoExecute", "tier=a"}, nil)
		delete(config, "machine_sets")
		config["node_selector"], config["on_conflict"] = "pool="+f.Pool.Name, "adopt"
		acctest.WantAll(t, tf.Plan(t, i, config).Diagnostics.Errors(), "1 pod tolerates the replaced taint, but not the new one")
		config["evictions"] = map[string]any{"stranded": "evict"}
		if d := tf.Plan(t, i, config).Diagnostics; d.Errors() != "" || !strings.Contains(d.Warnings(), "evicts 1 pod") {
			t.Errorf("with stranded = \"evict\": errors %q, warnings %q", d.Errors(), d.Warnings())
		}
		tf.Settle(t, i, config)
		for _, m := range f.Machines() {
			if got := c.Taints(t, m.Status.NodeRef.Name); !strings.Contains(got, "team=b:NoExecute") {
				t.Errorf("node %s has %s", m.Status.NodeRef.Name, got)
			}
		}
	})
}

// TestDedicatedNodes_thePlanNamesWhatStopsAnInterruptedRollout: another writer has scaled the MachineSet
// meanwhile. Without that, the plan names what is ahead.
func TestDedicatedNodes_thePlanNamesWhatStopsAnInterruptedRollout(t *testing.T) {
	t.Parallel()
	onFake(t, func(t *testing.T, c *acctest.Cluster) {
		f := newFleet(t, c)
		tf, i := terraform(t, f.c), newInstance()
		toZero := map[string]any{"strategy": "scale_to_zero"}
		tf.Settle(t, i, f.config(fleetWish{"team=a:NoSchedule", "tier=a"}, toZero))
		id, _ := tf.Attributes(t, i)["id"].(string)
		f.LeaveAtZero(id)
		changed := f.config(fleetWish{"team=b:NoSchedule", "tier=a"}, toZero)
		const continues = "Apply continues an interrupted rollout of MachineSet"
		acctest.WantAll(t, tf.Plan(t, i, changed).Diagnostics.Warnings(), continues, "No old machine is left, and 2 new machines are not ready yet.")
		f.Scale(1)
		told := tf.Plan(t, i, changed).Diagnostics.Warnings()
		acctest.WantAll(t, told, "Apply will stop before it changes MachineSet", "Another writer scaled MachineSet", "to 1 during a rollout", "expects 0 or 2")
		if strings.Contains(told, continues) {
			t.Errorf("the plan tells of a rollout that the apply does not continue: %s", told)
		}
	})
}
