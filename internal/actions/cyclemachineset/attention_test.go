// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package cyclemachineset_test

import (
	"testing"
	"time"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/fakeapi/controllers"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/messages"
)

// TestCycleMachineSet_replacesNothingWhereNoControllerActs, and says so while it is planned.
func TestCycleMachineSet_replacesNothingWhereNoControllerActs(t *testing.T) {
	t.Parallel()
	acctest.OnFake(t, func(t *testing.T, c *acctest.Cluster) {
		set := c.Unattended(t, c.Namespace(t))
		c.MachineOf(t, set, "m1")
		// No time passes for it: see acctest.OnFake.
		time.Sleep(time.Minute)
		before := c.Look(t, set)
		told := (&acctest.Terraform{Provider: c.Provider(t)}).Invoke(t, "kubetaint_cycle_machine_set", map[string]any{"namespace": set.Namespace, "name": set.Name, "rollout": map[string]any{"strategy": "rolling"}})
		acctest.WantAll(t, told.Errors(), "Unable to replace the machines of MachineSet", "No controller acts on MachineSet", "openshift-machine-api alone")
		if now := c.Look(t, set); now.GetResourceVersion() != before.GetResourceVersion() {
			t.Errorf("it wrote the MachineSet: %v", now.Object)
		}
	}, controllers.MachineAPI...)
}

// TestCycleMachineSet_warnsWhereNoControllerActsAnyMore, and ends when its time is over.
func TestCycleMachineSet_warnsWhereNoControllerActsAnyMore(t *testing.T) {
	t.Parallel()
	messages.Expect(t, "the rollout timed out", "Unable to replace the machines of")
	acctest.OnFake(t, func(t *testing.T, c *acctest.Cluster) {
		set := c.Unattended(t, c.Namespace(t))
		c.MachineOf(t, set, "m1")
		c.Change(t, set, "kubectl", `{"spec":{"replicas":1}}`)
		c.ChangeStatus(t, set, `{"status":{"observedGeneration":1}}`)
		time.Sleep(time.Minute)
		told := (&acctest.Terraform{Provider: c.Provider(t)}).Invoke(t, "kubetaint_cycle_machine_set", map[string]any{"namespace": set.Namespace, "name": set.Name, "rollout": map[string]any{"strategy": "rolling"}})
		acctest.WantAll(t, told.Warnings(), "No controller acts on MachineSet", "Its status.observedGeneration is older than its generation")
		acctest.WantAll(t, told.Errors(), "the rollout timed out", "The rollout last waited for the controller of MachineSet", "its controller has not seen the template yet")
	}, controllers.MachineAPI...)
}
