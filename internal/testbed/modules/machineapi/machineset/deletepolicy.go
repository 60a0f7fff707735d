// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package machineset

import (
	"fmt"
	"math"
	"sort"
	"time"

	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
)

const (
	// deleteAnnotation marks a Machine that goes first when its MachineSet is
	// scaled down, if its value is not empty.
	deleteAnnotation = "machine.openshift.io/delete-machine"
	// oldDeleteAnnotation is its former name, which still works.
	oldDeleteAnnotation = "machine.openshift.io/cluster-api-delete-machine"
)

// priority reports how soon a Machine goes: the highest goes first.
type priority float64

const (
	mustDelete    priority = 100
	betterDelete  priority = 50
	preferDelete  priority = 40
	couldDelete   priority = 20
	mustNotDelete priority = 0
)

// hundredDays is how long it takes until the priority by age has reached 63 % of
// its limit.
const hundredDays = 100 * 24 * time.Hour

// policy gives a Machine its priority at a time.
type policy func(m *machinev1beta1.Machine, now time.Time) priority

// policyOf returns the policy that a MachineSet names.
func policyOf(ms *machinev1beta1.MachineSet) (policy, error) {
	switch machinev1beta1.MachineSetDeletePolicy(ms.Spec.DeletePolicy) {
	case machinev1beta1.RandomMachineSetDeletePolicy, "":
		return randomPriority, nil
	case machinev1beta1.NewestMachineSetDeletePolicy:
		return newestPriority, nil
	case machinev1beta1.OldestMachineSetDeletePolicy:
		return oldestPriority, nil
	default:
		return nil, fmt.Errorf("unsupported delete policy %s, must be one of 'Random', 'Newest', or 'Oldest'", ms.Spec.DeletePolicy)
	}
}

func annotated(m *machinev1beta1.Machine) bool {
	return m.Annotations[deleteAnnotation] != "" || m.Annotations[oldDeleteAnnotation] != ""
}

func failed(m *machinev1beta1.Machine) bool {
	return m.Status.ErrorReason != nil || m.Status.ErrorMessage != nil
}

// urgent reports whether a Machine goes before all others by age.
func urgent(m *machinev1beta1.Machine) bool {
	return !m.DeletionTimestamp.IsZero() || annotated(m) || failed(m)
}

func randomPriority(m *machinev1beta1.Machine, _ time.Time) priority {
	switch {
	case !m.DeletionTimestamp.IsZero():
		return mustDelete
	case annotated(m), failed(m):
		return betterDelete
	case m.Status.NodeRef == nil:
		return preferDelete
	default:
		return couldDelete
	}
}

func oldestPriority(m *machinev1beta1.Machine, now time.Time) priority {
	if urgent(m) {
		return mustDelete
	}
	if m.CreationTimestamp.IsZero() || now.Before(m.CreationTimestamp.Time) {
		return mustNotDelete
	}
	age := now.Sub(m.CreationTimestamp.Time)
	return priority(float64(betterDelete) * (1 - math.Exp(-age.Seconds()/hundredDays.Seconds())))
}

func newestPriority(m *machinev1beta1.Machine, now time.Time) priority {
	if urgent(m) {
		return mustDelete
	}
	return mustDelete - oldestPriority(m, now)
}

// surplus returns the count Machines that go first. Who goes first among equals
// is left to chance, as the real controller leaves it to an unstable sort.
func surplus(machines []*machinev1beta1.Machine, count int, by policy, now time.Time) []*machinev1beta1.Machine {
	if count >= len(machines) {
		return machines
	}
	if count <= 0 {
		return nil
	}
	// Sorted in place, as there: the status is computed from the same list, and
	// does not depend on the order.
	sort.Slice(machines, func(i, j int) bool { return by(machines[j], now) < by(machines[i], now) })
	return machines[:count]
}
