// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package controllers

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/fakeapi"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/upstream"
)

// podRows has the cases of daemon_controller_test.go about pods of others, about pods that are refused, and
// about a DaemonSet of the same name.
func podRows(t *testing.T, rows *upstream.Rows, strategies []appsv1.DaemonSetUpdateStrategy) {
	t.Helper()
	// Upstream's owner references name nothing, and its third pod is bound to no node.
	controlled := func(p *corev1.Pod) { p.OwnerReferences = []metav1.OwnerReference{{Controller: new(true)}} }
	unbound := func(p *corev1.Pod) { p.Spec.NodeName = "" }
	for _, tt := range []struct {
		name  string
		nodes int
		play  func(s *daemonScene)
	}{
		{"a full node, and another pod goes", 1, func(s *daemonScene) { s.outlives(func(*corev1.Pod) {}, func(*corev1.Pod) {}) }},
		{"a full node, and a pod of another controller goes", 1, func(s *daemonScene) { s.outlives(controlled, controlled) }},
		{"a full node, and a pod that waits for a node goes", 1, func(s *daemonScene) { s.outlives(controlled, unbound) }},
		{"a DaemonSet of the same name as one before", 1, func(s *daemonScene) {
			s.step(1, 0)
			before := s.set()
			s.api.Remove(before)
			again := before.DeepCopy()
			again.UID, again.ResourceVersion = "another", ""
			s.api.Add(again)
			s.step(1, 0)
		}},
		{"pods that are refused", 100, func(s *daemonScene) {
			s.quota(10)
			s.step(10, 0)
			if got := s.set().Status; got.DesiredNumberScheduled != 100 || got.CurrentNumberScheduled != 10 || got.UpdatedNumberScheduled != 10 {
				s.Errorf("the status is %+v", got)
			}
		}},
		{"pods of its own, of others and of none", 2, func(s *daemonScene) {
			claimed := s.manyPods()
			var of []string
			for node, all := range daemonsOf(s.api, s.set(), s.failed).pods {
				for _, p := range all {
					of = append(of, p.Name)
					if p.Spec.NodeName != node {
						s.Errorf("the pod %s of %s is among those of %s", p.Name, p.Spec.NodeName, node)
					}
				}
			}
			s.names(of, slices.DeleteFunc(claimed, func(name string) bool { return strings.HasPrefix(name, "ended") })...)
		}},
		{"pods of its own, completed ones that terminate included", 2, func(s *daemonScene) {
			claimed := s.manyPods()
			var of []string
			for _, p := range claim(s.api, s.set()) {
				of = append(of, p.Name)
			}
			s.names(of, claimed...)
		}},
		{"a pod that waits for a node that is gone", 1, func(s *daemonScene) {
			s.pod("node-0", "runs", 1)
			s.pod("node-1", "ran", 1)
			s.pod("", "waits", 1, func(p *corev1.Pod) {
				p.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{
					NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchFields: []corev1.NodeSelectorRequirement{{Key: metav1.ObjectNameField, Operator: corev1.NodeSelectorOpIn, Values: []string{"node-2"}}}}},
				}}}
			})
			s.step(0, 1)
			s.deleted("waits")
		}},
		{"pods that are refused and then are not", 100, func(s *daemonScene) {
			s.quota(10)
			s.step(10, 0)
			s.step(0, 0)
			s.quota(1000)
			s.step(90, 0)
		}},
	} {
		rows.Run(t, tt.name, func(t *testing.T) {
			t.Parallel()
			for _, strategy := range strategies {
				tt.play(newDaemonScene(t, tt.nodes, strategy))
			}
		})
	}
}

// quota allows this many pods.
func (s *daemonScene) quota(pods int64) {
	hard := corev1.ResourceList{corev1.ResourcePods: *resource.NewQuantity(pods, resource.DecimalSI)}
	s.api.Put(&corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: daemonNamespace, Name: "pods"}, Status: corev1.ResourceQuotaStatus{Hard: hard}})
}

// outlives has the DaemonSet's pod come to a node that is full of others, and one of another kind go.
func (s *daemonScene) outlives(other, gone func(*corev1.Pod)) {
	requests := corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("50m")}}
	pod := func(name string, change func(*corev1.Pod)) *corev1.Pod {
		p := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: daemonNamespace, Name: name},
			Spec:       corev1.PodSpec{NodeName: "node-0", Containers: []corev1.Container{{Name: "main", Resources: requests}}},
		}
		change(p)
		return p
	}
	n, _ := fakeapi.Get[*corev1.Node](s.api, "", "node-0")
	n.Status.Allocatable = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("200m")}
	s.api.Put(n)
	for i := range 4 {
		s.api.Add(pod(fmt.Sprintf("pod-%d", i), other))
	}
	going := pod("gone", gone)
	s.api.Add(going)
	s.change(func(spec *appsv1.DaemonSetSpec) { spec.Template.Spec.Containers[0].Resources = requests })
	s.step(1, 0)
	s.api.Remove(going)
	s.step(0, 0)
}

// manyPods puts pods of the DaemonSet, of another one and of none on two nodes, and returns the names of those
// that the DaemonSet claims. Those whose names begin with "ended" are completed and terminate.
func (s *daemonScene) manyPods() (claimed []string) {
	ended := func(phase corev1.PodPhase) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			terminating(p)
			p.Status.Phase, p.Finalizers = phase, []string{"example.com/keep"}
		}
	}
	orphan := func(p *corev1.Pod) { p.OwnerReferences = nil }
	others := func(p *corev1.Pod) { p.OwnerReferences[0].UID, p.OwnerReferences[0].Name = "another", "foo2" }
	for _, one := range []struct {
		name, node string
		changes    []func(*corev1.Pod)
		claimed    bool
	}{
		{"own-0", "node-0", nil, true},
		{"own-1", "node-1", nil, true},
		{"orphan-0", "node-0", []func(*corev1.Pod){orphan}, true},
		{"orphan-1", "node-1", []func(*corev1.Pod){orphan}, true},
		{"succeeded-0", "node-0", []func(*corev1.Pod){func(p *corev1.Pod) { p.Status.Phase = corev1.PodSucceeded }}, true},
		{"failed-1", "node-1", []func(*corev1.Pod){failed}, true},
		{"ended-succeeded-0", "node-0", []func(*corev1.Pod){ended(corev1.PodSucceeded)}, true},
		{"ended-failed-1", "node-1", []func(*corev1.Pod){ended(corev1.PodFailed)}, true},
		{"own-elsewhere-0", "node-0", []func(*corev1.Pod){elsewhere}, false},
		{"orphan-elsewhere-1", "node-1", []func(*corev1.Pod){elsewhere, orphan}, false},
		{"others-0", "node-0", []func(*corev1.Pod){others}, false},
	} {
		if s.pod(one.node, one.name, 1, one.changes...); one.claimed {
			claimed = append(claimed, one.name)
		}
	}
	return claimed
}

// names checks the names of pods.
func (s *daemonScene) names(got []string, want ...string) {
	s.Helper()
	slices.Sort(got)
	if slices.Sort(want); !slices.Equal(got, want) {
		s.Errorf("the pods are %q, want %q", got, want)
	}
}
