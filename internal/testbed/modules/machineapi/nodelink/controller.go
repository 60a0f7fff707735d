// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

// Package nodelink plays the nodelink controller of OpenShift
// (machine-api-operator, pkg/controller/nodelink, August 2026): it tells a
// Machine its Node, and carries labels, annotations and taints from the Machine
// to the Node. It only ever adds.
package nodelink

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"

	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

// machineAnnotation on a Node names its Machine.
const machineAnnotation = "machine.openshift.io/machine"

type reconciler struct {
	client client.Client
	// ready remembers how ready each Node was when its Machine was last told of
	// it. A Machine is not told again before that changes, not even of a Node that
	// was removed and added again. The controller's one worker alone uses it.
	ready map[string]bool
}

// Add registers the controller, which runs on every event of a Node or Machine.
func Add(ctx context.Context, mgr manager.Manager, opts controller.Options) error {
	if err := index(ctx, mgr.GetFieldIndexer()); err != nil {
		return err
	}
	r := &reconciler{client: mgr.GetClient(), ready: map[string]bool{}}
	opts.Reconciler, opts.MaxConcurrentReconciles = r, 1
	c, err := controller.New("nodelink", mgr, opts)
	if err != nil {
		return err
	}
	return errors.Join(
		c.Watch(source.Kind(mgr.GetCache(), &corev1.Node{}, &handler.TypedEnqueueRequestForObject[*corev1.Node]{})),
		c.Watch(source.Kind(mgr.GetCache(), &machinev1beta1.Machine{}, handler.TypedEnqueueRequestsFromMapFunc(r.requests))),
	)
}

// requests returns the Node of a Machine. One that is being deleted is left out:
// what is written to it reaches its Node at the Node's own next event.
func (r *reconciler) requests(ctx context.Context, m *machinev1beta1.Machine) []reconcile.Request {
	if m.DeletionTimestamp != nil {
		return nil
	}
	node, err := r.nodeOf(ctx, m)
	if err != nil {
		klog.Errorf("%s: failed to find node for machine: %v", m.Name, err)
	}
	if node == nil {
		return nil
	}
	return []reconcile.Request{{NamespacedName: client.ObjectKeyFromObject(node)}}
}

// Reconcile links a Node with its Machine.
func (r *reconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	node := &corev1.Node{}
	if err := r.client.Get(ctx, request.NamespacedName, node); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	m, err := r.machineOf(ctx, node)
	if err != nil || m == nil {
		return reconcile.Result{}, err
	}
	if !node.DeletionTimestamp.IsZero() {
		delete(r.ready, node.Name)
		return reconcile.Result{}, nil
	}
	if err := r.tell(ctx, m, node); err != nil {
		return reconcile.Result{}, fmt.Errorf("error updating nodeRef for machine %q and node %q: %w", m.Name, node.Name, err)
	}
	wanted := carried(node, m)
	if reflect.DeepEqual(node, wanted) {
		return reconcile.Result{}, nil
	}
	// One update of everything, guarded by the resourceVersion: one taint that is
	// not valid keeps labels, annotations and all other taints away as well.
	if err := r.client.Update(ctx, wanted); err != nil {
		return reconcile.Result{}, fmt.Errorf("error updating node: %w", err)
	}
	return reconcile.Result{}, nil
}

// tell writes the Node into the Machine's status when the Node is new or its
// readiness has changed, which also wakes the Machine's other controllers. A
// nodeRef is never removed.
func (r *reconciler) tell(ctx context.Context, m *machinev1beta1.Machine, node *corev1.Node) error {
	ready := isReady(node)
	if told, ok := r.ready[node.Name]; ok && told == ready {
		return nil
	}
	base := m.DeepCopy()
	m.Status.LastUpdated = ptr.To(metav1.Now())
	m.Status.NodeRef = &corev1.ObjectReference{Kind: "Node", Name: node.Name, UID: node.UID}
	if err := r.client.Status().Patch(ctx, m, client.MergeFrom(base)); err != nil {
		return err
	}
	r.ready[node.Name] = ready
	return nil
}

func isReady(node *corev1.Node) bool {
	for _, c := range node.Status.Conditions {
		if c.Type == corev1.NodeReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

// carried returns a Node with what its Machine gives it.
func carried(node *corev1.Node, m *machinev1beta1.Machine) *corev1.Node {
	wanted := node.DeepCopy()
	if wanted.Annotations == nil {
		wanted.Annotations = map[string]string{}
	}
	wanted.Annotations[machineAnnotation] = m.Namespace + "/" + m.Name
	maps.Copy(wanted.Annotations, m.Spec.Annotations)
	if wanted.Labels == nil {
		wanted.Labels = map[string]string{}
	}
	maps.Copy(wanted.Labels, m.Spec.Labels)
	addTaints(wanted, m.Spec.Taints)
	return wanted
}

// addTaints adds the taints whose key and effect a Node does not have yet. The
// value is not compared: a changed one never arrives.
func addTaints(node *corev1.Node, taints []corev1.Taint) {
	for _, taint := range taints {
		if !has(node, taint) {
			node.Spec.Taints = append(node.Spec.Taints, taint)
		}
	}
}

func has(node *corev1.Node, taint corev1.Taint) bool {
	for _, there := range node.Spec.Taints {
		if there.Key == taint.Key && there.Effect == taint.Effect {
			return true
		}
	}
	return false
}
