// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package kube

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/admission"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
)

// TestRestricts: OpenShift leaves installer pods behind that ask for memory and tolerate everything, for which the plug-in
// adds nothing.
func TestRestricts(t *testing.T) {
	t.Parallel()
	asks := corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("100M")}
	pod := func(requests, overhead corev1.ResourceList, tolerations ...corev1.Toleration) *snapshot.Pod {
		spec := corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Resources: corev1.ResourceRequirements{Requests: requests}}}, Overhead: overhead}
		return &snapshot.Pod{Demand: snapshot.DemandOf(&corev1.Pod{Spec: spec}), Scheduling: &snapshot.Scheduling{Tolerations: tolerations}}
	}
	everything, each := corev1.Toleration{Operator: corev1.TolerationOpExists}, corev1.Toleration{Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoSchedule}
	shows, plain := pod(asks, nil, admission.MemoryPressure), pod(asks, nil)
	for name, tt := range map[string]struct {
		pods []*snapshot.Pod
		want bool
	}{
		"no pod":                         {},
		"a pod with the toleration":      {[]*snapshot.Pod{shows}, true},
		"one without":                    {[]*snapshot.Pod{shows, plain}, false},
		"one that tolerates everything":  {[]*snapshot.Pod{shows, pod(asks, nil, everything)}, true},
		"all NoSchedule taints":          {[]*snapshot.Pod{shows, pod(asks, nil, each)}, true},
		"such a pod alone shows nothing": {[]*snapshot.Pod{pod(asks, nil, everything)}, false},
		"a BestEffort pod":               {[]*snapshot.Pod{shows, pod(nil, nil)}, true},
		"one with overhead":              {[]*snapshot.Pod{shows, pod(nil, asks)}, true},
	} {
		if got := restricts(tt.pods); got != tt.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}
