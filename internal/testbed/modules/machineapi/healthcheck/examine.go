// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package healthcheck

import (
	"time"

	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
)

// startupTimeout is how long a Machine may be without a Node where nothing else is said.
const startupTimeout = 10 * time.Minute

// target is a Machine that a health check looks at.
type target struct {
	machine *machinev1beta1.Machine
	// node is that of its nodeRef, nil while it has none; lost reports that it is gone.
	node *corev1.Node
	lost bool
}

// finding is what a health check has found.
type finding struct {
	// healthy counts the Machines with a Node and nothing wrong. One that is being
	// deleted is not healthy, nor is one that may become unhealthy.
	healthy   int
	remediate []*machinev1beta1.Machine
	// again is when something may be wrong that is not yet, zero for never.
	again time.Duration
}

// examine looks at all Machines of a health check.
func examine(check *machinev1beta1.MachineHealthCheck, targets []target, now time.Time) finding {
	startup := startupTimeout
	if check.Spec.NodeStartupTimeout != nil {
		startup = check.Spec.NodeStartupTimeout.Duration
	}
	var out finding
	for _, t := range targets {
		unhealthy, again := t.unhealthy(check.Spec.UnhealthyConditions, startup, now)
		switch {
		case unhealthy:
			out.remediate = append(out.remediate, t.machine)
		case again > 0:
			if out.again == 0 || again < out.again {
				out.again = again
			}
		case t.machine.DeletionTimestamp == nil && t.node != nil:
			out.healthy++
		}
	}
	return out
}

// unhealthy reports whether a Machine is to be deleted, or when to look at it again.
func (t target) unhealthy(conditions []machinev1beta1.UnhealthyCondition, startup time.Duration, now time.Time) (bool, time.Duration) {
	switch {
	case ptr.Deref(t.machine.Status.Phase, "") == machinev1beta1.PhaseFailed:
		return true, 0
	case t.node == nil:
		return t.late(startup, now)
	case t.lost:
		return true, 0
	}
	var again time.Duration
	for _, c := range conditions {
		for _, has := range t.node.Status.Conditions {
			if has.Type != c.Type || has.Status != c.Status {
				continue
			}
			left := c.Timeout.Duration - now.Sub(has.LastTransitionTime.Time)
			if left < 0 {
				return true, 0
			}
			if left += time.Second; again == 0 || left < again {
				again = left
			}
		}
	}
	return false, again
}

// late reports whether a Machine has been without a Node for too long. Each change of its
// status lets that time begin anew.
func (t target) late(startup time.Duration, now time.Time) (bool, time.Duration) {
	switch updated := t.machine.Status.LastUpdated; {
	case startup == 0:
		return false, 0
	case updated == nil:
		return false, startup
	case updated.Add(startup).Before(now):
		return true, 0
	default:
		return false, startup - now.Sub(updated.Time) + time.Second
	}
}

// maxUnhealthy returns how many of the Machines may be unhealthy so that any is deleted.
func maxUnhealthy(check *machinev1beta1.MachineHealthCheck, total int) (int, error) {
	if check.Spec.MaxUnhealthy == nil {
		return total, nil
	}
	most, err := intstr.GetScaledValueFromIntOrPercent(check.Spec.MaxUnhealthy, total, false)
	return max(most, 0), err
}
