// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package healthcheck

import (
	"testing"
	"time"

	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
)

func TestExamine(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 26, 2, 0, 0, 0, time.UTC)
	before := func(d time.Duration) metav1.Time { return metav1.NewTime(now.Add(-d)) }
	machine := func(change func(*machinev1beta1.Machine)) *machinev1beta1.Machine {
		m := &machinev1beta1.Machine{}
		m.Status.LastUpdated = ptr.To(before(time.Hour))
		if change != nil {
			change(m)
		}
		return m
	}
	node := func(ready corev1.ConditionStatus, since time.Duration) *corev1.Node {
		n := &corev1.Node{}
		n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: ready, LastTransitionTime: before(since)}}
		return n
	}
	for name, tt := range map[string]struct {
		target
		startup *metav1.Duration

		healthy, remediate bool
		again              time.Duration
	}{
		"a ready node":                        {target: target{machine: machine(nil), node: node(corev1.ConditionTrue, time.Hour)}, healthy: true},
		"a node that has just become unready": {target: target{machine: machine(nil), node: node(corev1.ConditionFalse, 2*time.Minute)}, again: 3*time.Minute + time.Second},
		"a node unready for too long":         {target: target{machine: machine(nil), node: node(corev1.ConditionFalse, 6*time.Minute)}, remediate: true},
		"a condition that is not listed":      {target: target{machine: machine(nil), node: node(corev1.ConditionUnknown, time.Hour)}, healthy: true},
		"a node that is gone":                 {target: target{machine: machine(nil), node: &corev1.Node{}, lost: true}, remediate: true},
		"a failed machine":                    {target: target{machine: machine(func(m *machinev1beta1.Machine) { m.Status.Phase = ptr.To(machinev1beta1.PhaseFailed) })}, remediate: true},
		"no node for too long":                {target: target{machine: machine(nil)}, remediate: true},
		"no node yet": {
			target: target{machine: machine(func(m *machinev1beta1.Machine) { m.Status.LastUpdated = ptr.To(before(4 * time.Minute)) })}, again: 6*time.Minute + time.Second,
		},
		"no status yet":                  {target: target{machine: machine(func(m *machinev1beta1.Machine) { m.Status.LastUpdated = nil })}, again: 10 * time.Minute},
		"a startup of its own":           {target: target{machine: machine(func(m *machinev1beta1.Machine) { m.Status.LastUpdated = ptr.To(before(4 * time.Minute)) })}, startup: &metav1.Duration{Duration: time.Minute}, remediate: true},
		"no limit of the startup":        {target: target{machine: machine(nil)}, startup: &metav1.Duration{}},
		"one deleted is not healthy":     {target: target{machine: machine(func(m *machinev1beta1.Machine) { m.DeletionTimestamp = ptr.To(before(time.Minute)) }), node: node(corev1.ConditionTrue, time.Hour)}},
		"the condition's time is not up": {target: target{machine: machine(nil), node: node(corev1.ConditionFalse, 5*time.Minute)}, again: time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			check := &machinev1beta1.MachineHealthCheck{Spec: machinev1beta1.MachineHealthCheckSpec{
				NodeStartupTimeout:  tt.startup,
				UnhealthyConditions: []machinev1beta1.UnhealthyCondition{{Type: corev1.NodeReady, Status: corev1.ConditionFalse, Timeout: metav1.Duration{Duration: 5 * time.Minute}}},
			}}
			got := examine(check, []target{tt.target}, now)
			if healthy, remediate := got.healthy == 1, len(got.remediate) == 1; healthy != tt.healthy || remediate != tt.remediate || got.again != tt.again {
				t.Errorf("healthy %t, remediated %t, looked at again after %s; want %t, %t, %s", healthy, remediate, got.again, tt.healthy, tt.remediate, tt.again)
			}
		})
	}
}

func TestExamine_looksAgainWhenTheFirstMayBeUnhealthy(t *testing.T) {
	t.Parallel()
	now := time.Now()
	var targets []target
	for _, since := range []time.Duration{time.Minute, 3 * time.Minute, 2 * time.Minute} {
		m := &machinev1beta1.Machine{}
		m.Status.LastUpdated = ptr.To(metav1.NewTime(now.Add(-since)))
		targets = append(targets, target{machine: m})
	}
	if got := examine(&machinev1beta1.MachineHealthCheck{}, targets, now).again; got != 7*time.Minute+time.Second {
		t.Errorf("it looks again after %s", got)
	}
}

func TestMaxUnhealthy(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		most *intstr.IntOrString
		want int
	}{
		"all where nothing is said": {nil, 5},
		"a count":                   {ptr.To(intstr.FromInt32(2)), 2},
		"a share, rounded down":     {ptr.To(intstr.FromString("50%")), 2},
		"less than none is none":    {ptr.To(intstr.FromInt32(-1)), 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := maxUnhealthy(&machinev1beta1.MachineHealthCheck{Spec: machinev1beta1.MachineHealthCheckSpec{MaxUnhealthy: tt.most}}, 5)
			if err != nil || got != tt.want {
				t.Errorf("%d, %v, want %d", got, err, tt.want)
			}
		})
	}
	if _, err := maxUnhealthy(&machinev1beta1.MachineHealthCheck{Spec: machinev1beta1.MachineHealthCheckSpec{MaxUnhealthy: ptr.To(intstr.FromString("many"))}}, 5); err == nil {
		t.Error("it takes what is neither a count nor a share")
	}
}
