// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package workload

import "k8s.io/apimachinery/pkg/util/intstr"

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
