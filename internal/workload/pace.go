// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package workload

import (
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// paceOf reads how many pods a rolling update replaces at a time: a percentage of the surge is rounded up, one of
// the unavailable ones down. At least one pod may be unavailable where none may be surplus
// (k8s.io/kubernetes v1.37.2 pkg/controller/deployment/util/deployment_util.go, ResolveFenceposts, and
// pkg/controller/statefulset/stateful_set_utils.go, getStatefulSetMaxUnavailable). It is nil for what cannot be read.
func paceOf(surge, unavailable *intstr.IntOrString, wants int) *Pace {
	none := intstr.FromInt32(0)
	more, err := intstr.GetScaledValueFromIntOrPercent(intstr.ValueOrDefault(surge, none), wants, true)
	if err != nil {
		return nil
	}
	fewer, err := intstr.GetScaledValueFromIntOrPercent(intstr.ValueOrDefault(unavailable, none), wants, false)
	if err != nil {
		return nil
	}
	if more == 0 {
		fewer = max(fewer, 1)
	}
	return &Pace{Surge: more, Unavailable: fewer}
}

// daemonPaceOf reads the same of a DaemonSet, both of whose percentages are rounded up
// (k8s.io/kubernetes v1.37.2 pkg/controller/daemon/util/daemonset_util.go, UnavailableCount and SurgeCount). It is nil for
// OnDelete.
func daemonPaceOf(s appsv1.DaemonSetUpdateStrategy, wants int) *Pace {
	if s.Type == appsv1.OnDeleteDaemonSetStrategyType {
		return nil
	}
	none, one := intstr.FromInt32(0), intstr.FromInt32(1)
	out := &Pace{Unavailable: 1}
	if s.RollingUpdate == nil {
		return out
	}
	var err error
	if out.Surge, err = intstr.GetScaledValueFromIntOrPercent(intstr.ValueOrDefault(s.RollingUpdate.MaxSurge, none), wants, true); err != nil {
		return nil
	}
	if out.Unavailable, err = intstr.GetScaledValueFromIntOrPercent(intstr.ValueOrDefault(s.RollingUpdate.MaxUnavailable, one), wants, true); err != nil {
		return nil
	}
	if out.Surge == 0 {
		out.Unavailable = max(out.Unavailable, 1)
	}
	return out
}
