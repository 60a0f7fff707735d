// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package cyclemachineset_test

import (
	"strings"
	"testing"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/fakeapi/controllers"
)

// TestCycleMachineSet_thePlanNamesWhatStopsAnInterruptedRollout: another writer has scaled the MachineSet
// meanwhile. Without that, the plan names what is ahead.
func TestCycleMachineSet_thePlanNamesWhatStopsAnInterruptedRollout(t *testing.T) {
	t.Parallel()
	acctest.OnFakeWithControllers(t, func(t *testing.T, c *acctest.Cluster) {
		tf := &acctest.Terraform{Provider: c.Provider(t)}
		p := c.MachineSet(t, acctest.MachineSet{Namespace: c.Namespace(t), Name: acctest.Name(t, "ms"), Replicas: 3})
		p.LeaveAtZero("terraform/cycle_machine_set/" + p.Namespace + "/" + p.Name)
		config := map[string]any{"namespace": p.Namespace, "name": p.Name, "rollout": map[string]any{"strategy": "scale_to_zero"}}
		const continues = "The action continues an interrupted rollout of MachineSet"
		acctest.WantAll(t, tf.Walk(t).PlanAction(typeName, config).Warnings(), continues, "now it is 0. No old machine is left, and 3 new machines are not ready yet.")
		p.Scale(2)
		told := tf.Walk(t).PlanAction(typeName, config)
		acctest.WantAll(t, told.Errors(), "Unable to replace the machines of MachineSet", "Nothing has been written: Another writer scaled MachineSet", "to 2 during a rollout", "expects 0 or 3")
		if strings.Contains(told.Warnings(), continues) {
			t.Errorf("the plan tells of a rollout that the action does not continue: %s", told.Warnings())
		}
	}, controllers.MachineAPI...)
}
