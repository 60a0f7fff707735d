// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package machine

import (
	"context"
	"slices"

	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/testbed/modules/machineapi/condition"
)

// remove takes a Machine that is being deleted one step towards its end: phase,
// drain, preTerminate hooks, instance, Node, finalizer. Where it waits for
// another writer it returns, and their write brings it back.
func (r *reconciler) remove(ctx context.Context, m *machinev1beta1.Machine, before []machinev1beta1.Condition) (reconcile.Result, error) {
	if err := r.setStatus(ctx, m, machinev1beta1.PhaseDeleting, nil, before); err != nil {
		return reconcile.Result{}, err
	}
	switch {
	case !slices.Contains(m.Finalizers, machinev1beta1.MachineFinalizer):
		return reconcile.Result{}, nil
	case !condition.IsTrue(m, machinev1beta1.MachineDrained):
		klog.Infof("%s: waiting for node to be drained before deleting instance", m.Name)
		return reconcile.Result{}, nil
	case len(m.Spec.LifecycleHooks.PreTerminate) > 0:
		klog.Infof("%s: not deleting machine: lifecycle blocked by pre-terminate hook", m.Name)
		return reconcile.Result{}, nil
	}
	// Of a configuration that never was valid there is no instance to delete.
	if err := r.cloud.Delete(ctx, m); err != nil && (len(m.Status.Addresses) > 0 || !isInvalid(err)) {
		return OrLater(err)
	}
	exists, err := r.cloud.Exists(ctx, m)
	if err != nil {
		return reconcile.Result{}, err
	}
	if exists {
		klog.Infof("%s: can't proceed deleting machine while cloud instance is being terminated, requeuing", m.Name)
		return reconcile.Result{RequeueAfter: r.again}, nil
	}
	if err := r.removeNode(ctx, m); err != nil {
		return reconcile.Result{}, err
	}
	m.Finalizers = slices.DeleteFunc(m.Finalizers, func(f string) bool { return f == machinev1beta1.MachineFinalizer })
	return reconcile.Result{}, r.client.Update(ctx, m)
}

// removeNode deletes the Node that a Machine refers to, if it is still there.
func (r *reconciler) removeNode(ctx context.Context, m *machinev1beta1.Machine) error {
	if m.Status.NodeRef == nil {
		return nil
	}
	node := &corev1.Node{}
	if err := r.client.Get(ctx, client.ObjectKey{Name: m.Status.NodeRef.Name}, node); err != nil {
		return client.IgnoreNotFound(err)
	}
	klog.Infof("%s: deleting node %q for machine", m.Name, node.Name)
	return r.client.Delete(ctx, node)
}
