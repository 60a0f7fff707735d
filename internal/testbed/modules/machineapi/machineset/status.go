// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package machineset

import (
	"context"
	"reflect"
	"time"

	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// nodeOf finds the Node of a Machine, or nil.
type nodeOf func(m *machinev1beta1.Machine) *corev1.Node

// count computes a status from the Machines that were seen before anything was
// made or deleted. Deleting Machines are not among them, so that a status of
// zero replicas does not mean that the nodes are gone.
func count(ms *machinev1beta1.MachineSet, machines []*machinev1beta1.Machine, find nodeOf, now time.Time) machinev1beta1.MachineSetStatus {
	status := *ms.Status.DeepCopy()
	status.Replicas, status.FullyLabeledReplicas, status.ReadyReplicas, status.AvailableReplicas = 0, 0, 0, 0
	template := labels.Set(ms.Spec.Template.Labels).AsSelectorPreValidated()
	for _, m := range machines {
		status.Replicas++
		if template.Matches(labels.Set(m.Labels)) {
			status.FullyLabeledReplicas++
		}
		ready := readyCondition(find(m))
		if ready == nil || ready.Status != corev1.ConditionTrue {
			continue
		}
		status.ReadyReplicas++
		if available(ready, ms.Spec.MinReadySeconds, now) {
			status.AvailableReplicas++
		}
	}
	status.LabelSelector = metav1.FormatLabelSelector(&ms.Spec.Selector)
	return status
}

func readyCondition(node *corev1.Node) *corev1.NodeCondition {
	if node == nil {
		return nil
	}
	for i := range node.Status.Conditions {
		if node.Status.Conditions[i].Type == corev1.NodeReady {
			return &node.Status.Conditions[i]
		}
	}
	return nil
}

// available reports whether a node that is ready has been so for long enough.
func available(ready *corev1.NodeCondition, minReadySeconds int32, now time.Time) bool {
	if minReadySeconds == 0 {
		return true
	}
	since := ready.LastTransitionTime
	return !since.IsZero() && since.Add(time.Duration(minReadySeconds)*time.Second).Before(now)
}

// node reads the Node that a Machine refers to.
func (r *reconciler) node(ctx context.Context) nodeOf {
	return func(m *machinev1beta1.Machine) *corev1.Node {
		if m.Status.NodeRef == nil {
			return nil
		}
		node := &corev1.Node{}
		if err := r.client.Get(ctx, client.ObjectKey{Name: m.Status.NodeRef.Name}, node); err != nil {
			return nil // Not counted as ready, whatever the reason.
		}
		return node
	}
}

// writeStatus writes counts that have changed, together with the generation that
// they were computed for. A failed write is tried once more on a fresh copy.
func (r *reconciler) writeStatus(ctx context.Context, ms *machinev1beta1.MachineSet, status machinev1beta1.MachineSetStatus) error {
	base := ms.DeepCopy()
	status.ObservedGeneration = ms.Generation
	if reflect.DeepEqual(ms.Status, status) {
		return nil
	}
	ms.Status = status
	err := r.client.Status().Patch(ctx, ms, client.MergeFrom(base))
	if err == nil {
		return nil
	}
	if err := r.client.Get(ctx, client.ObjectKeyFromObject(ms), ms); err != nil {
		return err
	}
	ms.Status = status
	return r.client.Status().Patch(ctx, ms, client.MergeFrom(base))
}
