// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package machineset

import (
	"context"
	"slices"
	"strings"

	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// kind is what owner references name.
var kind = machinev1beta1.GroupVersion.WithKind("MachineSet")

// excluded reports whether a Machine does not count for a MachineSet: it belongs
// to another controller, is being deleted, or has other labels. Hence a deleted
// Machine is replaced immediately, while its node still drains.
func excluded(ms *machinev1beta1.MachineSet, m *machinev1beta1.Machine) bool {
	if metav1.GetControllerOf(m) != nil && !metav1.IsControlledBy(m, ms) {
		return true
	}
	return m.DeletionTimestamp != nil || !matches(ms, m)
}

// matches reports whether a MachineSet selects a Machine. An empty selector
// selects nothing.
func matches(ms *machinev1beta1.MachineSet, m *machinev1beta1.Machine) bool {
	selector, err := metav1.LabelSelectorAsSelector(&ms.Spec.Selector)
	return err == nil && !selector.Empty() && selector.Matches(labels.Set(m.Labels))
}

// members returns the Machines that count for a MachineSet, and adopts those
// among them that have no controller yet.
func (r *reconciler) members(ctx context.Context, ms *machinev1beta1.MachineSet) ([]*machinev1beta1.Machine, error) {
	all := &machinev1beta1.MachineList{}
	if err := r.client.List(ctx, all, client.InNamespace(ms.Namespace)); err != nil {
		return nil, err
	}
	var members []*machinev1beta1.Machine
	for i := range all.Items {
		m := &all.Items[i]
		if excluded(ms, m) {
			continue
		}
		if metav1.GetControllerOf(m) == nil {
			m.OwnerReferences = append(m.OwnerReferences, *metav1.NewControllerRef(ms, kind))
			if err := r.client.Update(ctx, m); err != nil {
				klog.Warningf("%s: unable to adopt Machine %s: %v", ms.Name, m.Name, err)
				continue
			}
		}
		members = append(members, m)
	}
	// By name, as there: among few equals it decides who is deleted.
	slices.SortFunc(members, func(a, b *machinev1beta1.Machine) int { return strings.Compare(a.Name, b.Name) })
	return members, nil
}

// selecting returns the MachineSets that could adopt a Machine.
func (r *reconciler) selecting(ctx context.Context, m *machinev1beta1.Machine) []reconcile.Request {
	if metav1.GetControllerOf(m) != nil || len(m.Labels) == 0 {
		return nil
	}
	all := &machinev1beta1.MachineSetList{}
	if err := r.client.List(ctx, all, client.InNamespace(m.Namespace)); err != nil {
		klog.Errorf("listing MachineSets: %v", err)
		return nil
	}
	var requests []reconcile.Request
	for i := range all.Items {
		if matches(&all.Items[i], m) {
			requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&all.Items[i])})
		}
	}
	return requests
}
