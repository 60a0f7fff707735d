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
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/fakeapi"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/upstream"
)

// pair is two DaemonSets whose selectors are the same, with a pod each on node-0.
type pair struct {
	*testing.T
	api *fakeapi.Server
	// labels are those that the pods of both have: both have the same template.
	labels map[string]string
}

// TestUpstream_daemonSetsAreWoken has the facts of TestAddNode, TestAddPod, TestUpdatePod,
// TestUpdatePodChangeControllerRef and TestDeletePod in k8s.io/kubernetes v1.37.2
// pkg/controller/daemon/daemon_controller_test.go: which changes of nodes and pods concern which DaemonSet.
// They show in what the DaemonSets do.
func TestUpstream_daemonSetsAreWoken(t *testing.T) {
	t.Parallel()
	rows := upstream.Cases(t)
	for name, play := range map[string]func(p *pair){
		"a node that is added": func(p *pair) {
			d := p.set("foo1")
			d.Spec.Template.Spec.NodeSelector = map[string]string{"color": "blue"}
			p.after(d)
			p.after(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-1"}})
			p.want("foo1", 0, "node-1")
			p.after(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-2", Labels: map[string]string{"color": "blue"}}})
			p.want("foo1", 1, "node-2")
		},
		"a pod that is added": func(p *pair) {
			p.each(func(of, other string) {
				kept, there := p.pod(of), p.pod(other)
				surplus := kept.DeepCopy()
				surplus.Name, surplus.UID, surplus.ResourceVersion = of+"-surplus", "", ""
				surplus.CreationTimestamp = metav1.NewTime(time.Now())
				p.after(surplus)
				p.same(kept, there)
			})
		},
		"a pod that changes": func(p *pair) {
			p.each(func(of, other string) {
				for _, ready := range []int32{0, 1} {
					one := p.pod(of)
					one.Status.Conditions = nil
					if ready == 1 {
						isReady(one)
					}
					p.after(one)
					if mine, others := p.set(of).Status.NumberReady, p.set(other).Status.NumberReady; mine != ready || others != 1 {
						p.Errorf("%d and %d pods of %s and %s are ready, want %d and 1", mine, others, of, other, ready)
					}
				}
			})
		},
		"a pod of another controller": func(p *pair) {
			kept, given := p.pod("foo1"), p.pod("foo2")
			given.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(p.set("foo1"), appsv1.SchemeGroupVersion.WithKind("DaemonSet"))}
			given.CreationTimestamp = metav1.NewTime(time.Now())
			p.after(given)
			p.same(kept)
			if p.pod("foo2").UID == given.UID {
				p.Error("the pod is still that of foo2")
			}
		},
		"a pod that goes": func(p *pair) {
			p.each(func(of, other string) {
				gone, there := p.pod(of), p.pod(other)
				p.api.Remove(gone)
				p.after()
				p.same(there)
				if p.pod(of).UID == gone.UID {
					p.Errorf("%s has no new pod", of)
				}
			})
		},
	} {
		rows.Run(t, name, func(t *testing.T) {
			t.Parallel()
			for _, strategy := range []appsv1.DaemonSetUpdateStrategy{{Type: appsv1.OnDeleteDaemonSetStrategyType}, unavailable(intstr.FromInt32(1))} {
				synctest.Test(t, func(t *testing.T) { play(newPair(t, strategy)) })
			}
		})
	}
}

func newPair(t *testing.T, strategy appsv1.DaemonSetUpdateStrategy) *pair {
	t.Helper()
	p := &pair{T: t, api: fakeapi.New()}
	t.Cleanup(p.api.Close)
	p.api.Add(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-0", Labels: map[string]string{"color": "blue"}}})
	for _, name := range []string{"foo1", "foo2"} {
		p.api.Add(&appsv1.DaemonSet{
			ObjectMeta: metav1.ObjectMeta{Namespace: daemonNamespace, Name: name},
			Spec: appsv1.DaemonSetSpec{
				Selector: &metav1.LabelSelector{MatchLabels: daemonLabels}, UpdateStrategy: strategy,
				Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: daemonLabels}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Image: "foo/bar"}}}},
			},
		})
	}
	Start(p.api)
	p.after()
	p.want("foo1", 1, "node-0")
	p.want("foo2", 1, "node-0")
	p.labels = p.pod("foo1").Labels
	return p
}

// each plays for each of the two.
func (p *pair) each(play func(of, other string)) {
	play("foo1", "foo2")
	play("foo2", "foo1")
}

// after puts objects and lets the controllers do what there is to do.
func (p *pair) after(objects ...runtime.Object) {
	for _, object := range objects {
		p.api.Put(object)
	}
	time.Sleep(10 * time.Second)
	synctest.Wait()
}

func (p *pair) set(name string) *appsv1.DaemonSet {
	p.Helper()
	d, there := fakeapi.Get[*appsv1.DaemonSet](p.api, daemonNamespace, name)
	if !there {
		p.Fatalf("%s is not there", name)
	}
	return d
}

// podsOf returns the pods that a DaemonSet controls.
func (p *pair) podsOf(name string) (out []*corev1.Pod) {
	p.Helper()
	d := p.set(name)
	for _, one := range fakeapi.Objects[*corev1.Pod](p.api) {
		if metav1.IsControlledBy(one, d) {
			out = append(out, one)
		}
	}
	return out
}

// pod returns the only pod of a DaemonSet.
func (p *pair) pod(name string) *corev1.Pod {
	p.Helper()
	own := p.podsOf(name)
	if len(own) != 1 {
		p.Fatalf("%s has %d pods", name, len(own))
	}
	return own[0]
}

// same checks that pods are still the only ones of their DaemonSets.
func (p *pair) same(pods ...*corev1.Pod) {
	p.Helper()
	for _, one := range pods {
		if name := metav1.GetControllerOf(one).Name; p.pod(name).UID != one.UID {
			p.Errorf("the pod of %s is another one", name)
		}
	}
}

// want checks how many pods of a DaemonSet are on a node.
func (p *pair) want(name string, want int, node string) {
	p.Helper()
	n := 0
	for _, one := range p.podsOf(name) {
		if one.Spec.NodeName == node {
			n++
		}
	}
	if n != want {
		p.Errorf("%s has %d pods on %s, want %d", name, n, node, want)
	}
}
