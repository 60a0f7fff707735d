// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package condition

import (
	"testing"
	"time"

	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestSet_keepsTheTimeOfWhatDoesNotChange(t *testing.T) {
	t.Parallel()
	long := metav1.NewTime(time.Now().Add(-time.Hour))
	there := False(machinev1beta1.MachineDrainable, "HookPresent", "blocked")
	there.LastTransitionTime = long
	m := &machinev1beta1.Machine{Status: machinev1beta1.MachineStatus{Conditions: []machinev1beta1.Condition{there}}}

	Set(m, False(machinev1beta1.MachineDrainable, "HookPresent", "blocked"))
	if got := Get(m, machinev1beta1.MachineDrainable); !got.LastTransitionTime.Equal(&long) {
		t.Errorf("the same condition changed at %s, want %s", got.LastTransitionTime, long)
	}
	Set(m, False(machinev1beta1.MachineDrainable, "HookPresent", "blocked by more"))
	if got := Get(m, machinev1beta1.MachineDrainable); got.LastTransitionTime.Equal(&long) {
		t.Error("a condition with another message keeps its time")
	}
	Set(m, True(machinev1beta1.InstanceExistsCondition, ""))
	Set(m, True(machinev1beta1.MachineDrained, ""))
	var kinds []machinev1beta1.ConditionType
	for _, c := range m.Status.Conditions {
		kinds = append(kinds, c.Type)
	}
	if len(kinds) != 3 || kinds[0] != "Drainable" || kinds[1] != "Drained" || kinds[2] != "InstanceExists" {
		t.Errorf("the conditions are %v, want them once each and sorted", kinds)
	}
}
