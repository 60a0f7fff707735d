// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package controllers

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/fakeapi"
)

// MachineAPI are the kinds of OpenShift's Machine API, for fakeapi.New.
var MachineAPI = []fakeapi.Kind{
	fakeapi.CustomKind(machinev1beta1.GroupVersion.String(), "MachineSet", "machinesets"),
	fakeapi.CustomKind(machinev1beta1.GroupVersion.String(), "Machine", "machines"),
}

// Machines is the resource of Machines.
var Machines = machinev1beta1.GroupVersion.WithResource("machines")

const (
	// PoolLabel has the MachineSet's name on the nodes of its machines, as on a cloud.
	PoolLabel = "pool"

	deleteAnnotation  = "machine.openshift.io/delete-machine"
	machineAnnotation = "machine.openshift.io/machine"
)

// machines goes one step for each MachineSet, Machine and node of one, with the habits of
// openshift/machine-api-operator: counts leave deleting machines out, scale-down takes
// those with the annotation first, and nodelink only adds taints.
func machines(api *fakeapi.Server) {
	if !serves(api) {
		return
	}
	all := objects[machinev1beta1.Machine](api, "machines")
	for _, s := range objects[machinev1beta1.MachineSet](api, "machinesets") {
		machineSet(api, s, all)
	}
	for _, m := range objects[machinev1beta1.Machine](api, "machines") {
		if m.DeletionTimestamp != nil {
			endMachine(api, m)
			continue
		}
		link(api, startMachine(api, m))
	}
}

func serves(api *fakeapi.Server) bool {
	return api.Serves(machinev1beta1.GroupVersion.WithResource("machinesets"))
}

// objects returns all objects of a kind, which must not be changed.
func objects[T any](api *fakeapi.Server, plural string) []*T {
	var out []*T
	for _, u := range api.ViewCustom(machinev1beta1.GroupVersion.WithResource(plural)) {
		out = append(out, fakeapi.Derive(api, u, func() *T {
			object := new(T)
			if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, object); err != nil {
				panic(err) // The kinds are those of the Machine API.
			}
			return object
		}))
	}
	return out
}

func put(api *fakeapi.Server, object any, kind string) {
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		panic(err)
	}
	u := &unstructured.Unstructured{Object: fields}
	u.SetGroupVersionKind(machinev1beta1.GroupVersion.WithKind(kind))
	api.Put(u)
}

func machineSet(api *fakeapi.Server, s *machinev1beta1.MachineSet, all []*machinev1beta1.Machine) {
	var own []*machinev1beta1.Machine
	for _, m := range all {
		if metav1.IsControlledBy(m, s) && m.DeletionTimestamp == nil {
			own = append(own, m)
		}
	}
	if s.DeletionTimestamp != nil {
		return
	}
	wants := int(ptr.Deref(s.Spec.Replicas, 1))
	for n := len(own); n < wants; n++ {
		// Names are never used twice.
		put(api, machineOf(s, api.Created(Machines)), "Machine")
	}
	slices.SortStableFunc(own, func(a, b *machinev1beta1.Machine) int {
		return cmp.Compare(len(b.Annotations[deleteAnnotation]), len(a.Annotations[deleteAnnotation]))
	})
	for n := range max(len(own)-wants, 0) {
		u := &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"namespace": own[n].Namespace, "name": own[n].Name}}}
		u.SetGroupVersionKind(machinev1beta1.GroupVersion.WithKind("Machine"))
		api.Delete(u)
	}
	ready := int32(0)
	for _, m := range own {
		if m.Status.NodeRef != nil {
			ready++
		}
	}
	status := s.Status
	status.ObservedGeneration, status.Replicas, status.ReadyReplicas, status.AvailableReplicas = s.Generation, int32(len(own)), ready, ready
	if !apiequality.Semantic.DeepEqual(s.Status, status) {
		s = s.DeepCopy()
		s.Status = status
		put(api, s, "MachineSet")
	}
}

func machineOf(s *machinev1beta1.MachineSet, number int) *machinev1beta1.Machine {
	return &machinev1beta1.Machine{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: s.Namespace, Name: fmt.Sprintf("%s-%03d", s.Name, number), Labels: s.Spec.Template.Labels,
			Finalizers:      []string{machinev1beta1.MachineFinalizer},
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(s, machinev1beta1.GroupVersion.WithKind("MachineSet"))},
		},
		Spec: *s.Spec.Template.Spec.DeepCopy(),
	}
}

// startMachine gives a machine its node, and returns the machine as it is then.
func startMachine(api *fakeapi.Server, m *machinev1beta1.Machine) *machinev1beta1.Machine {
	if m.Status.NodeRef != nil {
		return m
	}
	labels := map[string]string{}
	if owner := metav1.GetControllerOf(m); owner != nil {
		labels[PoolLabel] = owner.Name
	}
	node := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: m.Name, Labels: labels, Annotations: map[string]string{machineAnnotation: m.Namespace + "/" + m.Name}},
		Status:     corev1.NodeStatus{Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}},
	}
	api.Put(node)
	m = m.DeepCopy()
	m.Status.NodeRef = &corev1.ObjectReference{Kind: "Node", Name: m.Name}
	m.Status.Phase = ptr.To("Running")
	put(api, m, "Machine")
	return m
}

// link brings a machine's labels and taints to its node. It adds taints, and never updates
// or removes one.
func link(api *fakeapi.Server, m *machinev1beta1.Machine) {
	node := nodeOf(api, m)
	if node == nil || linked(node, m) {
		return
	}
	node = node.DeepCopy()
	for key, value := range m.Spec.Labels {
		node.Labels[key] = value
	}
	for _, t := range m.Spec.Taints {
		if !hasTaint(node, t) {
			node.Spec.Taints = append(node.Spec.Taints, t)
		}
	}
	api.Put(node)
}

// linked reports whether a node has the labels and the taints of its machine.
func linked(node *corev1.Node, m *machinev1beta1.Machine) bool {
	for key, value := range m.Spec.Labels {
		if has, is := node.Labels[key]; !is || has != value {
			return false
		}
	}
	return !slices.ContainsFunc(m.Spec.Taints, func(t corev1.Taint) bool { return !hasTaint(node, t) })
}

func hasTaint(node *corev1.Node, t corev1.Taint) bool {
	return slices.ContainsFunc(node.Spec.Taints, func(has corev1.Taint) bool { return has.MatchTaint(&t) })
}

// nodeOf returns the node of a machine, which must not be changed.
func nodeOf(api *fakeapi.Server, m *machinev1beta1.Machine) *corev1.Node {
	if m.Status.NodeRef == nil {
		return nil
	}
	node, _ := fakeapi.ViewOne[*corev1.Node](api, "", m.Status.NodeRef.Name)
	return node
}

// endMachine drains the node of a machine that is being deleted, as PodDisruptionBudgets
// allow, and then ends both.
func endMachine(api *fakeapi.Server, m *machinev1beta1.Machine) {
	if node := nodeOf(api, m); node != nil {
		if !node.Spec.Unschedulable {
			node = node.DeepCopy()
			node.Spec.Unschedulable = true
			api.Put(node)
		}
		if !drained(api, node) {
			return
		}
		api.Delete(node)
	}
	m = m.DeepCopy()
	m.Finalizers = nil
	put(api, m, "Machine")
}

// drained evicts the pods of a node as kubectl does, and reports whether none is left: running pods
// of DaemonSets stay, and kinds of this name in other groups are none.
func drained(api *fakeapi.Server, node *corev1.Node) bool {
	left := 0
	for _, p := range fakeapi.View[*corev1.Pod](api) {
		if p.Spec.NodeName != node.Name || p.Status.Phase != corev1.PodSucceeded && p.Status.Phase != corev1.PodFailed && ofDaemonSet(p) {
			continue
		}
		left++
		if p.DeletionTimestamp == nil {
			api.Evict(&policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Namespace: p.Namespace, Name: p.Name}})
		}
	}
	return left == 0
}

func ofDaemonSet(p *corev1.Pod) bool {
	owner := metav1.GetControllerOf(p)
	return owner != nil && owner.Kind == "DaemonSet" && strings.HasPrefix(owner.APIVersion, appsv1.GroupName+"/")
}
