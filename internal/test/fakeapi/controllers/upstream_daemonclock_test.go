// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package controllers

import (
	"testing"
	"testing/synctest"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/fakeapi"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/upstream"
)

// TestUpstream_daemonSetsWait has the facts of TestDaemonKillFailedPodsBackoff, TestSurgePreservesOldReadyWithUnsatisfiedMinReady and
// TestSurgeDeletesOldReadyWithUnsatisfiedMinReady in k8s.io/kubernetes v1.37.2
// pkg/controller/daemon/daemon_controller_test.go and of TestDaemonSetUpdatesAllOldPodsNotReadyMaxSurge in
// update_test.go: a pod is available after it has been ready for minReadySeconds.
func TestUpstream_daemonSetsWait(t *testing.T) {
	t.Parallel()
	rows := upstream.Cases(t)
	for name, play := range map[string]func(t *testing.T){
		"surge, a new pod that is not ready for long enough": func(t *testing.T) { surgedFor(t, 10*time.Second, "surplus") },
		"surge, a new pod that is ready for long enough":     func(t *testing.T) { surgedFor(t, 20*time.Second, "surplus", "old") },
		"a failed pod, and another one in its pause": func(t *testing.T) {
			for _, strategy := range []appsv1.DaemonSetUpdateStrategy{{Type: appsv1.OnDeleteDaemonSetStrategyType}, unavailable(intstr.FromInt32(1))} {
				s := newDaemonScene(t, 1, strategy)
				s.pod("node-0", "failed", 1, failed)
				// The pause is that of the generation that the status has.
				d := s.set()
				d.Status.ObservedGeneration = d.Generation
				s.api.Put(d)
				s.step(0, 1)
				s.pod("node-0", "again", 1, failed)
				s.step(0, 0)
				time.Sleep(time.Second - time.Nanosecond)
				s.step(0, 0)
				time.Sleep(time.Nanosecond)
				s.step(0, 1)
			}
		},
		"a surge whose new pods are ready for some seconds": surgesOverTime,
	} {
		rows.Run(t, name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, play)
		})
	}
}

// surgedFor has a new pod ready for a time beside two older ones.
func surgedFor(t *testing.T, since time.Duration, deleted ...string) {
	t.Helper()
	s := newDaemonScene(t, 5, surging(intstr.FromInt32(1)))
	s.change(func(spec *appsv1.DaemonSetSpec) { spec.MinReadySeconds = 15 })
	s.pod("node-1", "newest", 100, isReady, func(p *corev1.Pod) { p.Status.Conditions[0].LastTransitionTime = metav1.Now() })
	s.pod("node-1", "old", 50, older, isReady)
	s.pod("node-1", "surplus", 60, older, isReady)
	s.pod("node-2", "other", 100)
	time.Sleep(since)
	s.step(3, len(deleted))
	s.deleted(deleted...)
}

// surgesOverTime rolls out two templates: one whose pods are never ready, and one that counts ready pods
// after 15 seconds.
func surgesOverTime(t *testing.T) {
	t.Helper()
	s := newDaemonScene(t, 5, appsv1.DaemonSetUpdateStrategy{Type: appsv1.OnDeleteDaemonSetStrategyType})
	s.step(5, 0)
	s.rollTo("foo2/bar2", surging(intstr.FromInt32(3)))
	s.step(5, 0)
	s.step(0, 5)
	current := func() string {
		d, _ := fakeapi.ViewOne[*appsv1.DaemonSet](s.api, daemonNamespace, "foo")
		return hash(s.api, d, &d.Spec.Template)
	}
	s.turn(5, true, func(*corev1.Pod) bool { return true })
	s.change(func(spec *appsv1.DaemonSetSpec) {
		spec.MinReadySeconds, spec.Template.Spec.Containers[0].Image = 15, "foo3/bar3"
	})
	time.Sleep(100 * time.Second)
	s.step(3, 0)
	isNew := func(p *corev1.Pod) bool { return p.Labels[hashLabel] == current() }
	surged := map[string]bool{}
	for _, p := range fakeapi.View[*corev1.Pod](s.api) {
		surged[p.Spec.NodeName] = surged[p.Spec.NodeName] || isNew(p)
	}
	s.turn(2, true, isNew)
	s.turn(1, false, func(p *corev1.Pod) bool { return !surged[p.Spec.NodeName] })
	time.Sleep(10 * time.Second)
	s.step(1, 0)
	time.Sleep(10 * time.Second)
	// Two older pods have newer ones that are available, and one that is not ready has a newer one.
	s.step(1, 3)
	s.turn(3, true, isNew)
	time.Sleep(20 * time.Second)
	s.step(0, 2)
	time.Sleep(10 * time.Second)
	s.step(0, 0)
}

// turn makes this many pods ready from now on, or not.
func (s *daemonScene) turn(count int, to bool, which func(*corev1.Pod) bool) {
	s.Helper()
	for _, p := range fakeapi.Objects[*corev1.Pod](s.api) {
		if count == 0 {
			return
		}
		if ready(p) == to || !which(p) {
			continue
		}
		p.Status.Conditions = nil
		if to {
			isReady(p)
			p.Status.Conditions[0].LastTransitionTime = metav1.Now()
		}
		s.api.Put(p)
		count--
	}
	if count > 0 {
		s.Fatalf("%d pods are missing", count)
	}
}

// The controller takes a step when a pod becomes available, although no object changes then.
func TestStart_podsBecomeAvailableWithoutAChange(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newDaemonScene(t, 2, unavailable(intstr.FromInt32(1)))
		s.change(func(spec *appsv1.DaemonSetSpec) { spec.MinReadySeconds = 60 })
		Start(s.api)
		time.Sleep(50 * time.Second)
		synctest.Wait()
		if got := s.set().Status; got.NumberReady != 2 || got.NumberAvailable != 0 {
			t.Errorf("after 50 seconds the status is %+v", got)
		}
		time.Sleep(20 * time.Second)
		synctest.Wait()
		if got := s.set().Status; got.NumberReady != 2 || got.NumberAvailable != 2 {
			t.Errorf("after 70 seconds the status is %+v", got)
		}
	})
}
