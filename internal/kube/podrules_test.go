// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package kube

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"
)

// aRelatedSpec draws what relates a pod to others.
func aRelatedSpec(t *rapid.T) *corev1.PodSpec {
	short := func() string { return rapid.SampledFrom([]string{"", "a", "ab"}).Draw(t, "text") }
	terms := func() []corev1.PodAffinityTerm {
		var out []corev1.PodAffinityTerm
		for range rapid.IntRange(0, 2).Draw(t, "terms") {
			out = append(out, corev1.PodAffinityTerm{TopologyKey: short(), Namespaces: rapid.SampledFrom([][]string{nil, {"a"}}).Draw(t, "namespaces")})
		}
		return out
	}
	preferred := func() []corev1.WeightedPodAffinityTerm {
		var out []corev1.WeightedPodAffinityTerm
		for _, term := range terms() {
			out = append(out, corev1.WeightedPodAffinityTerm{Weight: rapid.Int32Range(1, 2).Draw(t, "weight"), PodAffinityTerm: term})
		}
		return out
	}
	spec := &corev1.PodSpec{}
	if rapid.Bool().Draw(t, "affinity") {
		spec.Affinity = &corev1.Affinity{
			PodAffinity:     &corev1.PodAffinity{RequiredDuringSchedulingIgnoredDuringExecution: terms(), PreferredDuringSchedulingIgnoredDuringExecution: preferred()},
			PodAntiAffinity: &corev1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: terms(), PreferredDuringSchedulingIgnoredDuringExecution: preferred()},
		}
	}
	for range rapid.IntRange(0, 1).Draw(t, "spread") {
		action := rapid.SampledFrom([]corev1.UnsatisfiableConstraintAction{corev1.DoNotSchedule, corev1.ScheduleAnyway}).Draw(t, "action")
		spec.TopologySpreadConstraints = append(spec.TopologySpreadConstraints, corev1.TopologySpreadConstraint{MaxSkew: rapid.Int32Range(1, 2).Draw(t, "skew"), TopologyKey: short(), WhenUnsatisfiable: action})
	}
	for range rapid.IntRange(0, 2).Draw(t, "containers") {
		spec.Containers = append(spec.Containers, corev1.Container{Ports: []corev1.ContainerPort{{HostPort: rapid.Int32Range(1, 2).Draw(t, "port"), HostIP: short(), Protocol: corev1.Protocol(short())}}})
	}
	return spec
}

func TestSlimmer_sharesRulesOfPodsThatAreEqualInThem(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := newSlimmer()
		a, b := aRelatedSpec(t), aRelatedSpec(t)
		none := func(spec *corev1.PodSpec) bool { return s.rulesOf(spec) == nil }
		equal := apiequality.Semantic.DeepEqual(a, b) || none(a) && none(b)
		if a.Affinity == nil != (b.Affinity == nil) && !equal {
			return // An affinity without terms is none.
		}
		if shared := s.rulesOf(a) == s.rulesOf(b); shared != equal {
			t.Fatalf("equal %t, shared %t:\n%+v\n%+v", equal, shared, a, b)
		}
		if kept := s.rulesOf(a.DeepCopy()); kept != s.rulesOf(a) {
			t.Fatal("a copy is not shared")
		} else if kept != nil && len(kept.Ports) != len(a.Containers) {
			t.Fatalf("kept %+v for %+v", kept, a)
		}
	})
}

func TestSlimPod_requiresNothingOfOthers(t *testing.T) {
	t.Parallel()
	spec := corev1.PodSpec{
		Containers:     []corev1.Container{{Ports: []corev1.ContainerPort{{ContainerPort: 80}}}},
		InitContainers: []corev1.Container{{Ports: []corev1.ContainerPort{{HostPort: 80}}}},
	}
	if got := newSlimmer().pod(&corev1.Pod{Spec: spec}).Rules; got != nil {
		t.Errorf("kept %+v", got)
	}
}

func TestSlimPod_keepsSinceWhenItWaitsAndForWhichNode(t *testing.T) {
	t.Parallel()
	created, started := metav1.NewTime(time.Unix(100, 0)), metav1.NewTime(time.Unix(200, 0))
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{CreationTimestamp: created}, Spec: corev1.PodSpec{SchedulingGates: []corev1.PodSchedulingGate{{Name: "a"}}}, Status: corev1.PodStatus{NominatedNodeName: "n1"}}
	if got := newSlimmer().pod(p); got.Since != 100 || !got.Gated || got.Nominated != "n1" {
		t.Errorf("a pod that waits: since %d, gated %t, for node %q", got.Since, got.Gated, got.Nominated)
	}
	p.Status.StartTime, p.Spec.SchedulingGates = &started, nil
	if got := newSlimmer().pod(p); got.Since != 200 || got.Gated {
		t.Errorf("a pod that runs: since %d, gated %t", got.Since, got.Gated)
	}
}
