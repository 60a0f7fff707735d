// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package controllers

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
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
