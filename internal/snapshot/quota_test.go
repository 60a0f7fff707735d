// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package snapshot

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// Quotas of BestEffort pods count by requests and limits of cpu and memory alone
// (k8s.io/kubernetes v1.37.2 pkg/apis/core/v1/helper/qos/qos.go, ComputePodQOS).
func TestQuota_Counts_podsByTheirClass(t *testing.T) {
	t.Parallel()
	scoped := func(name corev1.ResourceQuotaScope) Quota {
		return Quota{Scopes: []corev1.ScopedResourceSelectorRequirement{{ScopeName: name, Operator: corev1.ScopeSelectorOpExists}}}
	}
	best, notBest := scoped(corev1.ResourceQuotaScopeBestEffort), scoped(corev1.ResourceQuotaScopeNotBestEffort)
	kata := list("cpu", "250m", "memory", "160Mi")
	for name, tt := range map[string]struct {
		pod, defaulted string
		overhead       corev1.ResourceList
		bestEffort     bool
	}{
		"a container without requests":                            {pod: "", bestEffort: true},
		"the overhead of a RuntimeClass is no request":            {pod: "", overhead: kata, bestEffort: true},
		"overhead beside requests":                                {pod: "memory=1Gi:", overhead: kata},
		"other resources do not count":                            {pod: "ephemeral-storage=1Gi:2Gi example.com/gpu=1:1", bestEffort: true},
		"a request of nothing is none":                            {pod: "cpu=0:0 memory=0:", bestEffort: true},
		"a limit":                                                 {pod: "cpu=:1"},
		"a request of one container of two":                       {pod: ",cpu=1m:"},
		"a request of an init container":                          {pod: "init cpu=1m:,"},
		"a request of the whole pod":                              {pod: "whole memory=1Gi:,"},
		"the containers count where the whole pod sets none":      {pod: "whole ephemeral-storage=1Gi:,cpu=1:"},
		"what a LimitRange has added, where it could not be read": {pod: "cpu=1:", defaulted: "LimitRanger plugin set: cpu request for container c"},
	} {
		p := sizedPod(t, tt.pod)
		p.Spec.Overhead, p.Annotations = tt.overhead, map[string]string{LimitRangerAnnotation: tt.defaulted}
		d := DemandOf(p)
		if counts, known := best.Counts(d); counts != tt.bestEffort || !known {
			t.Errorf("%s: a quota of BestEffort pods counts it: %v, known %v", name, counts, known)
		}
		if counts, known := notBest.Counts(d); counts == tt.bestEffort || !known {
			t.Errorf("%s: a quota of NotBestEffort pods counts it: %v, known %v", name, counts, known)
		}
	}
}

// Without the LimitRange that gave an earlier pod its request, the new one is of another class.
func TestQuota_Counts_podsAsLimitRangesAdmitThem(t *testing.T) {
	t.Parallel()
	best := Quota{Scopes: []corev1.ScopedResourceSelectorRequirement{{ScopeName: corev1.ResourceQuotaScopeBestEffort, Operator: corev1.ScopeSelectorOpExists}}}
	p := sizedPod(t, "cpu=1:")
	p.Annotations = map[string]string{LimitRangerAnnotation: "LimitRanger plugin set: cpu request for container c"}
	p.Spec.Overhead = list("cpu", "250m")
	gives := []LimitRange{{Name: "r", Limits: []corev1.LimitRangeItem{item(t, corev1.LimitTypeContainer, "defaultRequest.cpu=1")}}}
	for name, tt := range map[string]struct {
		ranges []LimitRange
		want   bool
	}{"no LimitRange": {nil, true}, "one with a default": {gives, false}} {
		d, _, _ := DemandOf(p).Admit(tt.ranges)
		if counts, known := best.Counts(d); counts != tt.want || !known {
			t.Errorf("%s: counts %v, known %v", name, counts, known)
		}
	}
}
