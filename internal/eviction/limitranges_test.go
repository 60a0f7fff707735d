// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package eviction

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/admission"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
)

// demanding is a pod with the demand of another one.
func demanding(p corev1.Pod) podOption {
	return func(pod *snapshot.Pod) { pod.Demand = snapshot.DemandOf(&p) }
}

// LimitRanger comes before PodTolerationRestriction, which adds memory-pressure to a pod that is not BestEffort
// by then, and rejects it where the namespace does not allow that
// (k8s.io/kubernetes v1.37.2 pkg/kubeapiserver/options/plugins.go, AllOrderedPlugins).
func TestEvaluate_limitRangesCountBeforeTolerationsAreRestricted(t *testing.T) {
	t.Parallel()
	w := newWorld(node("n1"), node("n2")).run(pod("p", "n1", tolerating(exists("b", "")), demanding(corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c"}}}})))
	w.Admission = &admission.Rules{}
	w = w.allowing(exists("b", ""))
	for name, rejected := range map[string]bool{"app": true, "other": false} {
		w.LimitRanges = snapshot.LimitRanges{name: {{Name: "r", Limits: []corev1.LimitRangeItem{{Type: corev1.LimitTypeContainer, DefaultRequest: corev1.ResourceList{"cpu": resource.MustParse("100m")}}}}}}
		if v := Evaluate(w.Snapshot, tainting("n1", "a:NoExecute"), ComparisonOff).Pods[0]; v.Rejected() != rejected {
			t.Errorf("with a LimitRange in %s, rejected is %t: %s", name, v.Rejected(), v.Reason)
		}
	}
}

// A GPU that devices are claimed for is requested by the container all the same, which is what the expressions
// of policies read.
func TestEvaluate_policiesByRequestsMeanPodsWhoseResourcesAreDevices(t *testing.T) {
	t.Parallel()
	gpu := corev1.ResourceList{"nvidia.com/gpu": resource.MustParse("1")}
	w := newWorld(node("n1"), node("n2", "b:NoSchedule")).run(pod("p", "n1", demanding(corev1.Pod{
		Spec:   corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Resources: corev1.ResourceRequirements{Requests: gpu, Limits: gpu}}}},
		Status: corev1.PodStatus{ExtendedResourceClaimStatus: &corev1.PodExtendedResourceClaimStatus{RequestMappings: []corev1.ContainerExtendedResourceRequest{{ContainerName: "c", ResourceName: "nvidia.com/gpu"}}}},
	}))).admitting(func(p *admission.Policy) { p.Match = admission.Match{Requests: []string{"nvidia.com/gpu"}} })
	r := Evaluate(w.Snapshot, tainting("n1", "a:NoExecute"), ComparisonOff)
	if got := r.Placement(r.Pods[0]); got != "fits" {
		t.Errorf("the placement is %q: %s", got, r.Why(r.Pods[0]))
	}
}
