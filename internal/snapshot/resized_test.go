// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package snapshot

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// The API server counts changes of a pod's spec from 1 on. No resize gives a BestEffort pod requests.
func TestDemandOf_podsThatMayHaveBeenResized(t *testing.T) {
	t.Parallel()
	one := corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1")}
	for name, tt := range map[string]struct {
		generation int64
		requests   corev1.ResourceList
		want       bool
	}{
		"as it was created":           {1, one, false},
		"before pods had generations": {0, one, false},
		"changed since":               {2, one, true},
		"changed, and BestEffort":     {2, nil, false},
	} {
		p := &corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Resources: corev1.ResourceRequirements{Requests: tt.requests}}}}}
		p.Generation = tt.generation
		if got := DemandOf(p).Resized; got != tt.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}
