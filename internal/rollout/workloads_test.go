// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package rollout

import (
	"fmt"
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/fakeapi"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/toleration"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/workload"
)

// namespace has all workloads.
const namespace = "shop"

// aSet tolerates taints; we own the tolerations after a "*", another resource owns those
// after a "!".
func aSet(name string, replicas int32, notations ...string) *appsv1.StatefulSet {
	s := &appsv1.StatefulSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, UID: types.UID("uid-" + name)},
		Spec:       appsv1.StatefulSetSpec{Replicas: &replicas, Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": name}}},
	}
	var record toleration.Record
	for _, one := range notations {
		t := tolerating(strings.TrimLeft(one, "*!~"))
		s.Spec.Template.Spec.Tolerations = append(s.Spec.Template.Spec.Tolerations, t)
		mark := toleration.Mark{Key: t.Key, Operator: t.Operator, Value: t.Value, Effect: t.Effect, Owner: "me", Generation: generation}
		switch one[0] {
		case '!', '~':
			mark.Owner, mark.Generation, mark.Retiring = "other", "g9", one[0] == '~'
			fallthrough
		case '*':
			record = append(record, mark)
		}
	}
	if len(record) > 0 {
		s.Annotations = map[string]string{toleration.OwnedAnnotation: record.String()}
	}
	return s
}

// tolerating is the toleration for a taint.
func tolerating(notation string) corev1.Toleration {
	one, err := taint.Parse(notation)
	if err != nil {
		panic(err)
	}
	return taint.TolerationFor(one)
}

// wanting is the claim that StatefulSets of these names tolerate a taint.
func wanting(notation string, names ...string) []Tolerations {
	kind, _ := workload.Lookup("apps/v1", "StatefulSet")
	claim := toleration.Claim{Owner: "me", Generation: generation}
	if notation == "" {
		claim.Release = true
	} else {
		claim.Tolerations = []corev1.Toleration{tolerating(notation)}
	}
	var out []Tolerations
	for _, name := range names {
		ref := workload.Ref{APIVersion: "apps/v1", Kind: "StatefulSet", Namespace: namespace, Name: name}
		out = append(out, Tolerations{Ref: ref, Path: kind.Path, Claim: claim, NoWait: claim.Release})
	}
	return out
}

// addSets adds StatefulSets with their pods.
func (a *testServer) addSets(sets ...*appsv1.StatefulSet) {
	for _, s := range sets {
		a.Put(s)
		a.roll(s.Name)
	}
}

// editSet is a write of another client to a StatefulSet, without a guard. The controller
// does not act on it.
func (a *testServer) editSet(name string, change func(*appsv1.StatefulSet)) {
	fakeapi.Edit(a.Server, namespace, name, change)
}

// removeSet removes a StatefulSet with its pods.
func (a *testServer) removeSet(name string) {
	a.removePods(name)
	a.Remove(a.set(name))
}

func (a *testServer) set(name string) *appsv1.StatefulSet {
	s, _ := fakeapi.Get[*appsv1.StatefulSet](a.Server, namespace, name)
	return s
}

// roll is the controller: it replaces all pods of a StatefulSet.
func (a *testServer) roll(name string) {
	a.removePods(name)
	a.editSet(name, func(s *appsv1.StatefulSet) { s.Status.ObservedGeneration = s.Generation })
	s := a.set(name)
	for range *s.Spec.Replicas {
		a.addPod(s)
	}
}

// addPod makes a pod of a StatefulSet on the node n1.
func (a *testServer) addPod(s *appsv1.StatefulSet) {
	a.mu.Lock()
	a.made++
	number := a.made
	a.mu.Unlock()
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: fmt.Sprintf("%s-pod-%d", s.Name, number),
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(s, appsv1.SchemeGroupVersion.WithKind("StatefulSet"))},
		},
		Spec: *s.Spec.Template.Spec.DeepCopy(), Status: corev1.PodStatus{Phase: corev1.PodRunning},
	}
	p.Spec.NodeName = "n1"
	a.Put(p)
}

// podsOf returns the pods of a StatefulSet, ordered by name.
func (a *testServer) podsOf(set string) []*corev1.Pod {
	var out []*corev1.Pod
	for _, p := range fakeapi.Objects[*corev1.Pod](a.Server) {
		if strings.HasPrefix(p.Name, set+"-pod-") {
			out = append(out, p)
		}
	}
	return out
}

func (a *testServer) removePods(set string) {
	for _, p := range a.podsOf(set) {
		a.Remove(p)
	}
}

// touchPods changes the pods of a StatefulSet in a way that does not matter.
func (a *testServer) touchPods(set string, times int) {
	for _, p := range a.podsOf(set) {
		p.Labels = map[string]string{"touched": strconv.Itoa(times)}
		a.Put(p)
	}
}

// tolerations returns the tolerations of each template, with a "*" before those that we own
// and a "-" before those that are retained.
func (a *testServer) tolerations() map[string]string {
	out := map[string]string{}
	for _, s := range fakeapi.Objects[*appsv1.StatefulSet](a.Server) {
		record, _ := toleration.ParseRecord(s.Annotations[toleration.OwnedAnnotation])
		var parts []string
		for _, one := range s.Spec.Template.Spec.Tolerations {
			text := taint.FormatToleration(one)
			for _, mark := range record {
				if toleration.Equal(mark.Toleration(), one) && mark.Generation == generation {
					text = map[bool]string{false: "*", true: "-"}[mark.Retiring] + text
				}
			}
			parts = append(parts, text)
		}
		out[s.Name] = strings.Join(parts, " ")
	}
	return out
}

// evicted returns the pods that the taints of their node evict.
func (a *testServer) evicted() []string {
	taints := map[string][]corev1.Taint{}
	for _, n := range fakeapi.Objects[*corev1.Node](a.Server) {
		taints[n.Name] = n.Spec.Taints
	}
	var out []string
	for _, p := range fakeapi.Objects[*corev1.Pod](a.Server) {
		for _, one := range taint.Untolerated(taints[p.Spec.NodeName], p.Spec.Tolerations, false) {
			if one.Effect == corev1.TaintEffectNoExecute {
				out = append(out, p.Name)
			}
		}
	}
	return out
}
