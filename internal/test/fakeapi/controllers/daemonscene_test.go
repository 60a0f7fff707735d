// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package controllers

import (
	"fmt"
	"slices"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/util/flowcontrol"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/fakeapi"
)

// daemonScene is a DaemonSet whose controller takes one step at a time. Its pods are not ready at first, and
// those that it deletes are gone after the step.
type daemonScene struct {
	*testing.T
	api *fakeapi.Server
	// removed are the pods that the last step deleted.
	removed []string
	failed  *flowcontrol.Backoff
}

const daemonNamespace = metav1.NamespaceDefault

var daemonLabels = map[string]string{"name": "simple-daemon"}

func newDaemonScene(t *testing.T, nodes int, strategy appsv1.DaemonSetUpdateStrategy) *daemonScene {
	t.Helper()
	s := &daemonScene{T: t, api: fakeapi.New(), failed: newPauses()}
	t.Cleanup(s.api.Close)
	for n := range nodes {
		s.api.Add(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("node-%d", n)}})
	}
	s.api.Add(&appsv1.DaemonSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: daemonNamespace, Name: "foo"},
		Spec: appsv1.DaemonSetSpec{
			Selector: &metav1.LabelSelector{MatchLabels: daemonLabels}, UpdateStrategy: strategy,
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: daemonLabels}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Image: "foo/bar"}}}},
		},
	})
	return s
}

func (s *daemonScene) set() *appsv1.DaemonSet {
	d, _ := fakeapi.Get[*appsv1.DaemonSet](s.api, daemonNamespace, "foo")
	return d
}

// change changes the DaemonSet.
func (s *daemonScene) change(change func(*appsv1.DaemonSetSpec)) {
	d := s.set().DeepCopy()
	change(&d.Spec)
	s.api.Put(d)
}

// rollTo gives it another image, and a strategy.
func (s *daemonScene) rollTo(image string, strategy appsv1.DaemonSetUpdateStrategy) {
	s.change(func(spec *appsv1.DaemonSetSpec) {
		spec.Template.Spec.Containers[0].Image, spec.UpdateStrategy = image, strategy
	})
}

// pod puts a pod on a node that was made at a second, of the template as it is now.
func (s *daemonScene) pod(node, name string, second int64, changes ...func(*corev1.Pod)) {
	d, _ := fakeapi.ViewOne[*appsv1.DaemonSet](s.api, daemonNamespace, "foo")
	p := podOf(d, "DaemonSet", name, &d.Spec.Template, hash(s.api, d, &d.Spec.Template))
	p.Spec.NodeName, p.CreationTimestamp = node, metav1.Unix(second, 0)
	for _, change := range changes {
		change(p)
	}
	terminating := p.DeletionTimestamp != nil
	p.DeletionTimestamp = nil
	if s.api.Put(p); terminating {
		s.api.Delete(p)
	}
}

func older(p *corev1.Pod)       { delete(p.Labels, hashLabel) }
func elsewhere(p *corev1.Pod)   { p.Labels = map[string]string{"type": "production"} }
func failed(p *corev1.Pod)      { p.Status.Phase = corev1.PodFailed }
func terminating(p *corev1.Pod) { p.DeletionTimestamp = new(metav1.Now()) }
func isReady(p *corev1.Pod) {
	p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
}

// taint gives a node these taints alone.
func (s *daemonScene) taint(node string, taints ...string) {
	s.Helper()
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: node}}
	for _, text := range taints {
		t, err := taint.Parse(text)
		if err != nil {
			s.Fatal(err)
		}
		n.Spec.Taints = append(n.Spec.Taints, t)
	}
	s.api.Put(n)
}

// step lets the controller take a step that makes and deletes this many pods.
func (s *daemonScene) step(creates, deletes int) {
	s.Helper()
	before := map[string]bool{}
	for _, p := range fakeapi.View[*corev1.Pod](s.api) {
		before[p.Name] = p.DeletionTimestamp != nil
	}
	d, _ := fakeapi.ViewOne[*appsv1.DaemonSet](s.api, daemonNamespace, "foo")
	daemonSet(s.api, d, s.failed)
	created := 0
	s.removed = nil
	for _, p := range fakeapi.View[*corev1.Pod](s.api) {
		was, there := before[p.Name]
		if delete(before, p.Name); !there {
			created++
		}
		if !was && p.DeletionTimestamp != nil {
			s.removed = append(s.removed, p.Name)
			s.api.Remove(p)
		}
	}
	// Completed pods have no grace period.
	for name := range before {
		s.removed = append(s.removed, name)
	}
	slices.Sort(s.removed)
	if created != creates || len(s.removed) != deletes {
		s.Errorf("it creates %d pods and deletes %q, want %d and %d", created, s.removed, creates, deletes)
	}
}

// deleted checks which pods the last step deleted.
func (s *daemonScene) deleted(names ...string) {
	s.Helper()
	if slices.Sort(names); !slices.Equal(s.removed, names) {
		s.Errorf("it deletes %q, want %q", s.removed, names)
	}
}

// ready has all pods ready.
func (s *daemonScene) ready() {
	for _, p := range fakeapi.Objects[*corev1.Pod](s.api) {
		isReady(p)
		s.api.Put(p)
	}
}

// pods returns those of some nodes.
func (s *daemonScene) pods(nodes ...string) (out []*corev1.Pod) {
	for _, p := range fakeapi.Objects[*corev1.Pod](s.api) {
		if slices.Contains(nodes, p.Spec.NodeName) {
			out = append(out, p)
		}
	}
	return out
}

// readyPods are those that are ready, by name.
func (s *daemonScene) readyPods() (names []string) {
	for _, p := range fakeapi.View[*corev1.Pod](s.api) {
		if ready(p) {
			names = append(names, p.Name)
		}
	}
	slices.Sort(names)
	return names
}

func unavailable(value intstr.IntOrString) appsv1.DaemonSetUpdateStrategy {
	return appsv1.DaemonSetUpdateStrategy{Type: appsv1.RollingUpdateDaemonSetStrategyType, RollingUpdate: &appsv1.RollingUpdateDaemonSet{MaxUnavailable: &value}}
}

func surging(value intstr.IntOrString) appsv1.DaemonSetUpdateStrategy {
	s := unavailable(intstr.FromInt32(0))
	s.RollingUpdate.MaxSurge = &value
	return s
}
