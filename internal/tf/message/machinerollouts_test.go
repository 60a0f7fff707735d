// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package message

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/kube"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/machineset"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/rollout"
)

func TestExplainMachines(t *testing.T) {
	t.Parallel()
	set := func(strategy machineset.Strategy, replicas int) *machineset.Set {
		s := &machineset.Set{Namespace: "ns", Name: "gpu", Replicas: replicas}
		if strategy != "" {
			s.Marker = &machineset.Marker{Strategy: strategy, OriginalReplicas: 3}
		}
		return s
	}
	late := func(e rollout.MachinesError) *rollout.MachinesError {
		if e.Err == nil {
			e.Err = context.DeadlineExceeded
		}
		return &e
	}
	const again, over = "\n\nApply again.\n\nOriginal error: context deadline exceeded", "Unable to do it: the rollout timed out"
	for name, tt := range map[string]struct {
		err             error
		summary, detail string
	}{
		"a surge that is held": {
			late(rollout.MachinesError{Set: set(machineset.Surge, 4), Begun: true, Left: 1, Waiting: []string{"a is being deleted"}, Holds: []string{"pod shop/db is terminating"}}), over,
			"The rollout last waited for machines:\n  a is being deleted\n\nWhat blocks the deletion of machines:\n  pod shop/db is terminating\n\n" +
				"To fix this, allow the evictions (scale their workload up, or relax the PodDisruptionBudget) and remove a stuck lifecycle hook. Or set a longer timeout.\n\n" +
				"1 of 3 machines still has to be replaced, and spec.replicas is 4 (3 before the rollout)." + again,
		},
		"machines that do not come": {
			late(rollout.MachinesError{Set: set(machineset.Rolling, 3), Begun: true, Left: 2, Waiting: []string{"a is Provisioning"}}), over,
			"The rollout last waited for machines:\n  a is Provisioning\n\nTo fix this, find out why these machines are not ready (kubectl describe machine.machine.openshift.io NAME -n ns); or set a longer timeout.\n\n" +
				"2 of 3 machines still have to be replaced, and spec.replicas is 3." + again,
		},
		"a machine that its controller does not make": {
			late(rollout.MachinesError{Set: set(machineset.Surge, 4), Begun: true, Left: 3, Waiting: []string{"there are 3, and 4 are wanted"}, Controller: true}), over,
			"The rollout last waited for the controller of MachineSet \"ns/gpu\":\n  there are 3, and 4 are wanted\n\nTo fix this, find out what stops it (kubectl describe machineset.machine.openshift.io gpu -n ns shows its events); or set a longer timeout. " +
				"OpenShift's Machine API operator has its controllers watch the namespace openshift-machine-api alone.\n\n" +
				"3 of 3 machines still have to be replaced, and spec.replicas is 4 (3 before the rollout)." + again,
		},
		"a count that is brought back": {
			late(rollout.MachinesError{Set: set(machineset.ScaleToZero, 3), Begun: true, Restored: true}), over,
			"No old machine is left, and spec.replicas has been restored to 3." + again,
		},
		"a count that could not be brought back": {
			late(rollout.MachinesError{Set: set(machineset.ScaleToZero, 0), Begun: true, Left: 3}), over,
			"3 of 3 machines still have to be replaced, and spec.replicas is 0 (3 before the rollout)." + again,
		},
		"in place":          {late(rollout.MachinesError{Set: set(machineset.InPlace, 3), Begun: true, Left: 2}), over, "2 of 3 machines still have to be changed, and spec.replicas is 3." + again},
		"before it began":   {late(rollout.MachinesError{Set: set("", 3)}), over, `This run has written nothing to MachineSet "ns/gpu".` + again},
		"without a rollout": {late(rollout.MachinesError{Set: set("", 3), Begun: true}), over, again[2:]},
		"interrupted": {
			late(rollout.MachinesError{Set: set(machineset.Rolling, 3), Begun: true, Left: 1, Waiting: []string{"a is Provisioning"}, Err: context.Canceled}), "Unable to do it: the run was interrupted",
			"The rollout last waited for machines:\n  a is Provisioning\n\n1 of 3 machines still has to be replaced, and spec.replicas is 3.\n\nApply again.\n\nOriginal error: context canceled",
		},
		"stopped":                   {&rollout.StoppedError{Why: "Another writer scaled it."}, "Unable to do it", "Another writer scaled it."},
		"stopped, and brought back": {&rollout.RestoredError{Replicas: 3, Err: &rollout.StoppedError{Why: "Another writer scaled it."}}, "Unable to do it", "Another writer scaled it.\n\nspec.replicas has been restored to 3."},
		"gone":                      {&rollout.SetGoneError{Key: "ns/gpu"}, "Unable to do it", "MachineSet ns/gpu is not there. If it was deleted, what was written to it is gone with it. Check the name and the namespace (kubectl get machinesets.machine.openshift.io -A), then plan and apply again."},
		"recreated":                 {&rollout.SetGoneError{Key: "ns/gpu", Recreated: true}, "Unable to do it", "MachineSet ns/gpu has been deleted and recreated in the meantime. What was written to the old one is gone with it. Plan and apply again."},
		"another error":             {&rollout.RestoredError{Replicas: 3, Err: errors.New("no")}, "Unable to do it", "spec.replicas has been restored to 3.\n\nApply again.\n\nOriginal error: no"},
		"a count that is left at zero": {
			&rollout.AtZeroError{Set: set(machineset.ScaleToZero, 0), Replicas: 3, Err: errors.New("no")}, `Unable to do it: MachineSet "ns/gpu" is left with 0 of 3 replicas`,
			"spec.replicas could not be restored. Set it yourself: kubectl scale machineset.machine.openshift.io gpu -n ns --replicas=3\n\nApply again.\n\nOriginal error: no",
		},
		"a request": {kube.ErrForbidden, "Unable to do it", Advise(kube.ErrForbidden) + "\n\nApply again.\n\nOriginal error: " + kube.ErrForbidden.Error()},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			said := ExplainMachines("Unable to do it", "Apply again.", tt.err)
			if diff := cmp.Diff([]string{tt.summary, tt.detail}, []string{said.Summary(), said.Detail()}); diff != "" {
				t.Error(diff)
			}
		})
	}
}
