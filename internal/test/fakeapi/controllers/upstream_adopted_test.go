// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package controllers

import (
	"slices"
	"testing"
	"testing/synctest"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/fakeapi"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/upstream"
)

// TestUpstream_daemonSetsAdopt has the facts of TestAddPodOrphan, TestUpdatePodOrphanSameLabels,
// TestUpdatePodOrphanWithNewLabels, TestUpdatePodControllerRefRemoved and TestDeletePodOrphan in k8s.io/kubernetes
// v1.37.2 pkg/controller/daemon/daemon_controller_test.go: which DaemonSets a pod without a controller concerns.
// One pod can be adopted once, so that each of the two DaemonSets is tried while the other one is being deleted.
func TestUpstream_daemonSetsAdopt(t *testing.T) {
	t.Parallel()
	rows := upstream.Cases(t)
	for name, play := range map[string]func(p *pair, of, other string){
		"an orphan that is added": func(p *pair, of, other string) {
			p.third()
			p.leave(other)
			p.adopts(of, p.orphan(p.labels))
		},
		"an orphan whose labels change": func(p *pair, of, other string) {
			p.leave(other)
			orphan := p.orphan(map[string]string{"foo2": "bar2"})
			if controller := metav1.GetControllerOf(orphan); controller != nil {
				p.Errorf("%s has adopted a pod of other labels", controller.Name)
			}
			orphan.Labels = p.labels
			p.after(orphan)
			p.adopts(of, orphan)
		},
		"an orphan that changes, but not its labels": func(p *pair, of, other string) {
			// It is an orphan still because both DaemonSets are being deleted.
			p.leave(of)
			p.leave(other)
			orphan := p.orphan(p.labels)
			p.unmoved(func() {
				orphan.Annotations = map[string]string{"changed": "yes"}
				p.after(orphan)
			})
			if controller := metav1.GetControllerOf(p.read(orphan)); controller != nil {
				p.Errorf("%s has adopted the pod", controller.Name)
			}
		},
		"an orphan that goes": func(p *pair, _, _ string) {
			p.third()
			// It is an orphan still because it terminates.
			orphan := p.orphan(p.labels, func(o *corev1.Pod) {
				terminating(o)
				o.Finalizers = []string{"example.com/keep"}
			})
			p.unmoved(func() {
				orphan.Finalizers = nil
				p.after(orphan)
			})
			if _, there := fakeapi.Get[*corev1.Pod](p.api, daemonNamespace, "orphan"); there {
				p.Error("the pod is still there")
			}
		},
		"a pod whose controller is removed": func(p *pair, of, other string) {
			p.leave(other)
			orphan := p.pod("foo1")
			orphan.OwnerReferences = nil
			p.after(orphan)
			p.adopts(of, orphan)
		},
	} {
		rows.Run(t, name, func(t *testing.T) {
			t.Parallel()
			for _, strategy := range []appsv1.DaemonSetUpdateStrategy{{Type: appsv1.OnDeleteDaemonSetStrategyType}, unavailable(intstr.FromInt32(1))} {
				synctest.Test(t, func(t *testing.T) { play(newPair(t, strategy), "foo1", "foo2") })
				synctest.Test(t, func(t *testing.T) { play(newPair(t, strategy), "foo2", "foo1") })
			}
		})
	}
}

// third adds a DaemonSet whose selector is another one. It runs on no node.
func (p *pair) third() {
	d := p.set("foo1")
	d.Name, d.UID, d.ResourceVersion = "foo3", "", ""
	d.Spec.Selector.MatchLabels = map[string]string{"name": "simple-daemon2"}
	d.Spec.Template.Labels, d.Spec.Template.Spec.NodeName = d.Spec.Selector.MatchLabels, "none"
	p.after(d)
}

// leave has a DaemonSet being deleted from now on.
func (p *pair) leave(name string) {
	d := p.set(name)
	d.Finalizers = []string{metav1.FinalizerDeleteDependents}
	p.api.Put(d)
	p.api.Delete(d)
	p.after()
}

// orphan adds a pod without a controller that is older than the others, and returns it as it is then.
func (p *pair) orphan(labels map[string]string, changes ...func(*corev1.Pod)) *corev1.Pod {
	p.Helper()
	orphan := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: daemonNamespace, Name: "orphan", Labels: labels, CreationTimestamp: metav1.Unix(0, 0)},
		Spec:       corev1.PodSpec{NodeName: "node-0", Containers: []corev1.Container{{Image: "foo/bar"}}},
	}
	for _, change := range changes {
		change(orphan)
	}
	p.after(orphan)
	return p.read(orphan)
}

func (p *pair) read(pod *corev1.Pod) *corev1.Pod {
	p.Helper()
	now, there := fakeapi.Get[*corev1.Pod](p.api, pod.Namespace, pod.Name)
	if !there {
		p.Fatalf("the pod %s is gone", pod.Name)
	}
	return now
}

// adopts checks that a DaemonSet has this pod alone: its own one is younger, or by name behind it.
func (p *pair) adopts(name string, orphan *corev1.Pod) {
	p.Helper()
	if controller := metav1.GetControllerOf(p.read(orphan)); controller == nil || controller.UID != p.set(name).UID {
		p.Errorf("the pod is controlled by %v, want %s", controller, name)
	}
	if got := p.pod(name).Name; got != orphan.Name {
		p.Errorf("%s has the pod %s, want %s alone", name, got, orphan.Name)
	}
}

// unmoved checks that no DaemonSet writes anything after a change.
func (p *pair) unmoved(change func()) {
	p.Helper()
	before := p.versions()
	change()
	if after := p.versions(); !slices.Equal(before, after) {
		p.Errorf("DaemonSets and their pods are %q, want %q", after, before)
	}
}

// versions are those of all DaemonSets and of the pods that they control.
func (p *pair) versions() (out []string) {
	for _, d := range fakeapi.View[*appsv1.DaemonSet](p.api) {
		out = append(out, d.Name+" "+d.ResourceVersion)
		for _, one := range p.podsOf(d.Name) {
			out = append(out, one.Name+" "+one.ResourceVersion)
		}
	}
	return out
}
