// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package controllers

import (
	"slices"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/fakeapi"
)

// Steps of the DaemonSet controller that upstream's cases do not tell from others.
func TestDaemonSet_steps(t *testing.T) {
	t.Parallel()
	const closed = "dedicated=user1:NoSchedule"
	onDelete := appsv1.DaemonSetUpdateStrategy{Type: appsv1.OnDeleteDaemonSetStrategyType}
	one := surging(intstr.FromInt32(1))
	for name, tt := range map[string]struct {
		strategy appsv1.DaemonSetUpdateStrategy
		play     func(s *daemonScene)
	}{
		"OnDelete replaces no pod": {onDelete, func(s *daemonScene) {
			s.step(3, 0)
			s.ready()
			s.rollTo("foo2/bar2", onDelete)
			s.step(0, 0)
		}},
		"one that is being deleted does nothing": {onDelete, func(s *daemonScene) {
			d := s.set()
			d.Finalizers = []string{metav1.FinalizerDeleteDependents}
			s.api.Put(d)
			s.api.Delete(d)
			s.step(0, 0)
		}},
		"a failed pod that waits for a finalizer takes no place": {onDelete, func(s *daemonScene) {
			s.pod("node-0", "failed", 1, failed, terminating, func(p *corev1.Pod) { p.Finalizers = []string{"example.com/keep"} })
			s.step(3, 0)
		}},
		"one that selects all pods does nothing": {onDelete, func(s *daemonScene) {
			s.pod("node-0", "orphan", 1, func(p *corev1.Pod) { p.OwnerReferences = nil })
			s.change(func(spec *appsv1.DaemonSetSpec) { spec.Selector = &metav1.LabelSelector{} })
			s.step(0, 0)
			if got := s.owners("orphan"); len(got) > 0 {
				s.Errorf("the pod has the owners %q", got)
			}
		}},
		"a pod that is adopted or released keeps its other owners": {onDelete, func(s *daemonScene) {
			other := metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: "other", UID: "another"}
			s.pod("node-0", "adopted", 1, func(p *corev1.Pod) { p.OwnerReferences = []metav1.OwnerReference{other} })
			s.pod("node-1", "released", 1, elsewhere, func(p *corev1.Pod) { p.OwnerReferences = append(p.OwnerReferences, other) })
			s.pod("node-2", "unlike", 1, elsewhere, func(p *corev1.Pod) { p.OwnerReferences = nil })
			s.step(2, 0)
			for name, want := range map[string][]string{"adopted": {"other", "foo"}, "released": {"other"}, "unlike": nil} {
				if got := s.owners(name); !slices.Equal(got, want) {
					s.Errorf("%s has the owners %q, want %q", name, got, want)
				}
			}
		}},
		"pods of other namespaces are not adopted": {onDelete, func(s *daemonScene) {
			s.pod("node-0", "orphan", 1, func(p *corev1.Pod) { p.OwnerReferences, p.Namespace = nil, "other" })
			s.step(3, 0)
		}},
		"it adopts nothing after its deletion, also where it was read before": {onDelete, func(s *daemonScene) {
			s.pod("node-0", "orphan", 1, func(p *corev1.Pod) { p.OwnerReferences = nil })
			before := s.set()
			d := s.set()
			d.Finalizers = []string{metav1.FinalizerDeleteDependents}
			s.api.Put(d)
			s.api.Delete(d)
			if got := claim(s.api, before); len(got) > 0 || len(s.owners("orphan")) > 0 {
				s.Errorf("it claims %d pods, and the orphan has the owners %q", len(got), s.owners("orphan"))
			}
		}},
		"surge: older pods that are not ready get new ones beyond the bound": {onDelete, func(s *daemonScene) {
			s.step(3, 0)
			s.rollTo("foo2/bar2", one)
			s.step(3, 0)
			s.step(0, 3)
		}},
		"surge: a pod leaves its node when as many as wanted are ready": {one, func(s *daemonScene) {
			s.step(3, 0)
			s.ready()
			for _, p := range s.pods("node-0", "node-1") {
				p.Status.Conditions = nil
				s.api.Put(p)
			}
			s.taint("node-2", closed)
			s.rollTo("foo2/bar2", one)
			s.step(2, 0)
			s.ready()
			s.step(0, 3)
		}},
		"surge: a pod that is not ready leaves its node immediately": {one, func(s *daemonScene) {
			s.step(3, 0)
			s.taint("node-2", closed)
			s.rollTo("foo2/bar2", one)
			s.step(2, 1)
		}},
		"the status counts pods where none is to run": {onDelete, func(s *daemonScene) {
			s.step(3, 0)
			s.taint("node-2", closed)
			s.step(0, 0)
			if got := s.set().Status; got.DesiredNumberScheduled != 2 || got.NumberMisscheduled != 1 || got.NumberUnavailable != 2 {
				s.Errorf("the status is %+v", got)
			}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tt.play(newDaemonScene(t, 3, tt.strategy))
		})
	}
}

// owners are the names of a pod's owners.
func (s *daemonScene) owners(pod string) (names []string) {
	p, _ := fakeapi.ViewOne[*corev1.Pod](s.api, daemonNamespace, pod)
	for _, r := range p.OwnerReferences {
		names = append(names, r.Name)
	}
	return names
}
