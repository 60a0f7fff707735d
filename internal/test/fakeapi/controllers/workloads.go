// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package controllers

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/flowcontrol"
	"k8s.io/utils/ptr"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/fakeapi"
)

// hashLabel tells the pods of one template from those of another.
const hashLabel = "pod-template-hash"

func workloads(api *fakeapi.Server, failed *flowcontrol.Backoff) (again time.Time) {
	collect(api)
	for _, d := range fakeapi.View[*appsv1.Deployment](api) {
		deployment(api, d)
	}
	for _, s := range fakeapi.View[*appsv1.ReplicaSet](api) {
		replicaSet(api, s)
	}
	for _, s := range fakeapi.View[*appsv1.StatefulSet](api) {
		statefulSet(api, s)
	}
	for _, d := range fakeapi.View[*appsv1.DaemonSet](api) {
		again = earlier(again, daemonSet(api, d, failed))
	}
	for _, j := range fakeapi.View[*batchv1.Job](api) {
		job(api, j)
	}
	return again
}

// collect deletes what is left of workloads that are gone, as the garbage collector does.
func collect(api *fakeapi.Server) {
	there := map[types.UID]bool{}
	note(there, fakeapi.View[*appsv1.Deployment](api))
	note(there, fakeapi.View[*appsv1.StatefulSet](api))
	note(there, fakeapi.View[*appsv1.DaemonSet](api))
	note(there, fakeapi.View[*batchv1.Job](api))
	orphaned := func(o metav1.Object, kinds ...string) bool {
		owner := metav1.GetControllerOf(o)
		return owner != nil && slices.Contains(kinds, owner.Kind) && !there[owner.UID]
	}
	for _, s := range fakeapi.View[*appsv1.ReplicaSet](api) {
		if there[s.UID] = true; orphaned(s, "Deployment") {
			api.Delete(s)
		}
	}
	for _, p := range fakeapi.View[*corev1.Pod](api) {
		if p.DeletionTimestamp == nil && orphaned(p, "ReplicaSet", "StatefulSet", "DaemonSet", "Job") {
			api.Delete(p)
		}
	}
}

func note[T metav1.Object](there map[types.UID]bool, objects []T) {
	for _, o := range objects {
		there[o.GetUID()] = true
	}
}

// templateHash names a template.
type templateHash string

// hash names the template of a workload.
func hash(api *fakeapi.Server, owner runtime.Object, template *corev1.PodTemplateSpec) string {
	return string(fakeapi.Derive(api, owner, func() templateHash {
		raw, err := json.Marshal(template)
		if err != nil {
			panic(err) // Templates can be written.
		}
		h := fnv.New32a()
		_, _ = h.Write(raw)
		return templateHash(fmt.Sprintf("%08x", h.Sum32()))
	}))
}

// owned returns the pods of a controller, those that terminate left out.
func owned(api *fakeapi.Server, owner metav1.Object) []*corev1.Pod {
	var out []*corev1.Pod
	for _, p := range fakeapi.View[*corev1.Pod](api) {
		if metav1.IsControlledBy(p, owner) && p.DeletionTimestamp == nil {
			out = append(out, p)
		}
	}
	return out
}

// podOf makes a pod of a template with this hash.
func podOf(owner metav1.Object, kind, name string, template *corev1.PodTemplateSpec, hash string) *corev1.Pod {
	labels := maps.Clone(template.Labels)
	labels[hashLabel] = hash
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: owner.GetNamespace(), Name: name, Labels: labels, Annotations: template.Annotations,
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(owner, appsv1.SchemeGroupVersion.WithKind(kind))},
		},
		Spec: *template.Spec.DeepCopy(), Status: corev1.PodStatus{Phase: corev1.PodPending},
	}
}

func ready(p *corev1.Pod) bool {
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue {
			return true
		}
	}
	return false
}

func countReady(pods []*corev1.Pod) (n int32) {
	for _, p := range pods {
		if ready(p) {
			n++
		}
	}
	return n
}

// deployment has a ReplicaSet for each template: the newest gets all pods, and the others
// lose theirs once these are ready, or before that with the strategy Recreate.
func deployment(api *fakeapi.Server, d *appsv1.Deployment) {
	current, wants := hash(api, d, &d.Spec.Template), ptr.Deref(d.Spec.Replicas, 1)
	var newest *appsv1.ReplicaSet
	var older []*appsv1.ReplicaSet
	for _, s := range fakeapi.View[*appsv1.ReplicaSet](api) {
		switch {
		case !metav1.IsControlledBy(s, d):
		case s.Labels[hashLabel] == current:
			newest = s
		default:
			older = append(older, s)
		}
	}
	recreates := d.Spec.Strategy.Type == appsv1.RecreateDeploymentStrategyType && !d.Spec.Paused
	if newest == nil && !d.Spec.Paused && (!recreates || !anyPods(api, older)) {
		newest = replicaSetOf(d, current)
		api.Put(newest)
	}
	updated, old := int32(0), int32(0)
	if newest != nil {
		scale(api, newest, wants)
		updated = newest.Status.ReadyReplicas
	}
	for _, s := range older {
		old += s.Status.Replicas
		if recreates || updated >= wants && !d.Spec.Paused {
			scale(api, s, 0)
		}
	}
	if status := (appsv1.DeploymentStatus{
		ObservedGeneration: d.Generation, Replicas: updated + old, UpdatedReplicas: updated,
		ReadyReplicas: updated + old, AvailableReplicas: updated + old,
	}); !apiequality.Semantic.DeepEqual(d.Status, status) {
		d = d.DeepCopy()
		d.Status = status
		api.Put(d)
	}
}

// scale writes how many pods a ReplicaSet wants, where it wants others.
func scale(api *fakeapi.Server, s *appsv1.ReplicaSet, wants int32) {
	if ptr.Equal(s.Spec.Replicas, &wants) {
		return
	}
	s = s.DeepCopy()
	s.Spec.Replicas = &wants
	api.Put(s)
}

// anyPods reports whether pods of these are there, those that terminate included.
func anyPods(api *fakeapi.Server, sets []*appsv1.ReplicaSet) bool {
	return slices.ContainsFunc(fakeapi.View[*corev1.Pod](api), func(p *corev1.Pod) bool {
		return slices.ContainsFunc(sets, func(s *appsv1.ReplicaSet) bool { return metav1.IsControlledBy(p, s) })
	})
}

func replicaSetOf(d *appsv1.Deployment, hash string) *appsv1.ReplicaSet {
	template := *d.Spec.Template.DeepCopy()
	labels := maps.Clone(template.Labels)
	labels[hashLabel] = hash
	template.Labels = labels
	return &appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: d.Namespace, Name: d.Name + "-" + hash, Labels: labels,
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(d, appsv1.SchemeGroupVersion.WithKind("Deployment"))},
		},
		Spec: appsv1.ReplicaSetSpec{Replicas: d.Spec.Replicas, Selector: &metav1.LabelSelector{MatchLabels: labels}, Template: template},
	}
}

func replicaSet(api *fakeapi.Server, s *appsv1.ReplicaSet) {
	own, wants := owned(api, s), int(ptr.Deref(s.Spec.Replicas, 1))
	for n := len(own); n < wants && !forbidden(api, s.Namespace); n++ {
		// Names are never used twice.
		api.Put(podOf(s, "ReplicaSet", fmt.Sprintf("%s-%05d", s.Name, api.Created(pods)), &s.Spec.Template, hash(api, s, &s.Spec.Template)))
	}
	for n := wants; n < len(own); n++ {
		api.Delete(own[n])
	}
	status := s.Status
	status.Replicas, status.ReadyReplicas, status.ObservedGeneration = int32(len(own)), countReady(own), s.Generation
	if !apiequality.Semantic.DeepEqual(s.Status, status) {
		s = s.DeepCopy()
		s.Status = status
		api.Put(s)
	}
}

// statefulSet replaces one pod at a time, from the last to the first.
func statefulSet(api *fakeapi.Server, s *appsv1.StatefulSet) {
	current, wants := hash(api, s, &s.Spec.Template), int(ptr.Deref(s.Spec.Replicas, 1))
	byName := map[string]*corev1.Pod{}
	for _, p := range fakeapi.View[*corev1.Pod](api) {
		if metav1.IsControlledBy(p, s) {
			byName[p.Name] = p
		}
	}
	complete, updated := true, int32(0)
	var outdated *corev1.Pod
	for n := range wants {
		name := fmt.Sprintf("%s-%d", s.Name, n)
		p := byName[name]
		switch {
		case p == nil:
			if !forbidden(api, s.Namespace) {
				api.Put(podOf(s, "StatefulSet", name, &s.Spec.Template, current))
			}
			complete = false
		case p.DeletionTimestamp != nil || !ready(p):
			complete = false
		case p.Labels[hashLabel] != current:
			outdated = p
		default:
			updated++
		}
	}
	if complete && outdated != nil {
		api.Delete(outdated)
	}
	status := appsv1.StatefulSetStatus{
		ObservedGeneration: s.Generation, Replicas: int32(len(byName)), UpdatedReplicas: updated,
		UpdateRevision: s.Name + "-" + current, CurrentRevision: s.Name + "-" + current,
	}
	for _, p := range byName {
		if ready(p) && p.DeletionTimestamp == nil {
			status.ReadyReplicas++
			status.AvailableReplicas++
		}
	}
	if !apiequality.Semantic.DeepEqual(s.Status, status) {
		s = s.DeepCopy()
		s.Status = status
		api.Put(s)
	}
}
