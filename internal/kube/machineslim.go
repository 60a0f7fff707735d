// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package kube

import (
	"cmp"
	"slices"
	"strconv"
	"time"

	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/annotations"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/label"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/machineset"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/printable"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/workload"
)

// Labels and annotations of the Machine API and of those who work with it.
const (
	// openshift/machine-api-operator pkg/controller/machineset/delete_policy.go:
	// what is not empty counts.
	deleteMachineAnnotation    = "machine.openshift.io/delete-machine"
	oldDeleteMachineAnnotation = "machine.openshift.io/cluster-api-delete-machine"
	// pkg/controller/machine/drain_controller.go: any value counts.
	excludeDrainAnnotation = "machine.openshift.io/exclude-node-draining"
	machineRoleLabel       = "machine.openshift.io/cluster-api-machine-role"
	// openshift/cluster-autoscaler-operator
	// pkg/controller/machineautoscaler/machineautoscaler_controller.go.
	autoscalerAnnotation    = "autoscaling.openshift.io/machineautoscaler"
	autoscalerMinAnnotation = "machine.openshift.io/cluster-api-autoscaler-node-group-min-size"
	autoscalerMaxAnnotation = "machine.openshift.io/cluster-api-autoscaler-node-group-max-size"
	// openshift/kubernetes-autoscaler cluster-autoscaler/cloudprovider/openshiftmachineapi.
	capacityTaintsAnnotation = "capacity.cluster-autoscaler.kubernetes.io/taints"
	// openshift/hive pkg/controller/machinepool/machinepool_controller.go.
	hivePoolLabel    = "hive.openshift.io/machine-pool"
	hiveManagedLabel = "hive.openshift.io/managed"
)

// slimSet keeps of a MachineSet what rollouts need.
func slimSet(object *unstructured.Unstructured) *machineset.Set {
	var in machinev1beta1.MachineSet
	// An object that does not fit the types cannot be in a cluster whose schema has them.
	_ = runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &in)
	s := &machineset.Set{
		Namespace: in.Namespace, Name: in.Name, UID: in.UID, ResourceVersion: in.ResourceVersion, Labels: in.Labels,
		Observed: in.Status.ObservedGeneration >= in.Generation, Reconciled: in.Status.ObservedGeneration > 0, Written: written(object),
		Replicas: 1, Taints: in.Spec.Template.Spec.Taints,
		NodeLabels: in.Spec.Template.Spec.Labels,

		Role: printable.Line(in.Spec.Template.Labels[machineRoleLabel]),
		Hive: in.Labels[hivePoolLabel] != "" || in.Labels[hiveManagedLabel] == "true",

		CapacityTaints: in.Annotations[capacityTaintsAnnotation],
		Scalers:        workload.Tools(object, []string{"spec", "replicas"}),
	}
	// The API refuses an empty selector.
	if selector, err := metav1.LabelSelectorAsSelector(&in.Spec.Selector); err == nil && !selector.Empty() {
		s.Selector = selector
	}
	if in.Spec.Replicas != nil {
		s.Replicas = int(*in.Spec.Replicas)
	}
	if authority := in.Status.AuthoritativeAPI; authority != "" && authority != machinev1beta1.MachineAuthorityMachineAPI {
		s.Authority = printable.Line(string(authority))
	}
	s.Record, s.RecordErr = taint.ParseRecord(in.Annotations[taint.OwnedAnnotation])
	remnants, err := machineset.ParseRemnants(in.Annotations[machineset.RemnantsAnnotation])
	s.Remnants, s.RecordErr = remnants, cmp.Or(s.RecordErr, err)
	s.LabelRecord, s.LabelRecordErr = label.ParseRecord(in.Annotations[label.OwnedAnnotation])
	s.Marker, s.MarkerErr = machineset.ParseMarker(in.Annotations[machineset.MarkerAnnotation])
	s.Autoscaler = bounds(in.Annotations)
	s.OtherAnnotations = annotations.Others(in.Annotations, taint.OwnedAnnotation, label.OwnedAnnotation, machineset.RemnantsAnnotation, machineset.MarkerAnnotation)
	return s
}

// written returns when an object was last written beside its status.
func written(object *unstructured.Unstructured) time.Time {
	last := object.GetCreationTimestamp().Time
	for _, entry := range object.GetManagedFields() {
		if entry.Subresource == "" && entry.Time != nil && entry.Time.After(last) {
			last = entry.Time.Time
		}
	}
	return last
}

// bounds reads between which counts an autoscaler scales, nil where none does.
func bounds(annotations map[string]string) *machineset.Bounds {
	most, err := strconv.Atoi(annotations[autoscalerMaxAnnotation])
	if err != nil {
		return nil
	}
	least, _ := strconv.Atoi(annotations[autoscalerMinAnnotation])
	return &machineset.Bounds{Owner: printable.Line(annotations[autoscalerAnnotation]), Min: least, Max: most}
}

// slimMachine keeps of a Machine what rollouts need.
func slimMachine(object *unstructured.Unstructured) *machineset.Machine {
	var in machinev1beta1.Machine
	_ = runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &in)
	m := &machineset.Machine{
		Namespace: in.Namespace, Name: in.Name, UID: in.UID, ResourceVersion: in.ResourceVersion, Created: in.CreationTimestamp.Time,
		Deleting: in.DeletionTimestamp != nil, Taints: in.Spec.Taints, Labels: in.Spec.Labels, ObjectLabels: in.Labels,
		MarkedForDeletion: in.Annotations[deleteMachineAnnotation] != "" || in.Annotations[oldDeleteMachineAnnotation] != "",
	}
	_, m.NoDrain = in.Annotations[excludeDrainAnnotation]
	if owner := metav1.GetControllerOf(&in); owner != nil && owner.Kind == "MachineSet" {
		m.Set = owner.UID
	}
	if in.Status.Phase != nil {
		m.Phase = printable.Line(*in.Status.Phase)
	}
	if in.Status.NodeRef != nil {
		m.Node = printable.Line(in.Status.NodeRef.Name)
	}
	switch {
	case in.Status.ErrorMessage != nil:
		m.Error = printable.Line(*in.Status.ErrorMessage)
	case in.Status.ErrorReason != nil:
		m.Error = printable.Line(string(*in.Status.ErrorReason))
	}
	hooks := in.Spec.LifecycleHooks.PreTerminate
	if !m.NoDrain && m.Node != "" {
		// Without a drain nothing waits for them (pkg/controller/machine/drain_controller.go, Reconcile).
		hooks = slices.Concat(in.Spec.LifecycleHooks.PreDrain, hooks)
	}
	for _, hook := range hooks {
		m.Hooks = append(m.Hooks, printable.Line(hook.Name+" of "+hook.Owner))
	}
	return m
}
