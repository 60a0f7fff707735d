// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

// Package healthcheck plays the MachineHealthCheck controller of OpenShift
// (machine-api-operator, pkg/controller/machinehealthcheck, August 2026): it deletes
// Machines that are not healthy and have a controller, which replaces them from the
// template as it is then. Remediation by others is left out.
package healthcheck

import (
	"context"
	"errors"
	"time"

	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/tools/events"
	"k8s.io/klog/v2"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

const (
	// paused is the annotation that holds a health check up, whatever its value.
	paused = "cluster.x-k8s.io/paused"
	// restrictedAgain is when a check that may delete nothing is made again. The
	// original waits for a millisecond, which takes a processor for itself.
	restrictedAgain = time.Second
)

type reconciler struct {
	client   client.Client
	recorder events.EventRecorder
}

// Add registers the controller.
func Add(mgr manager.Manager) error {
	r := &reconciler{client: mgr.GetClient(), recorder: mgr.GetEventRecorder("machinehealthcheck-controller")}
	c, err := controller.New("machinehealthcheck-controller", mgr, controller.Options{Reconciler: r, SkipNameValidation: ptr.To(true)})
	if err != nil {
		return err
	}
	cache := mgr.GetCache()
	return errors.Join(
		c.Watch(source.Kind(cache, &machinev1beta1.MachineHealthCheck{}, &handler.TypedEnqueueRequestForObject[*machinev1beta1.MachineHealthCheck]{})),
		c.Watch(source.Kind(cache, &machinev1beta1.Machine{}, handler.TypedEnqueueRequestsFromMapFunc(r.ofMachine))),
		c.Watch(source.Kind(cache, &corev1.Node{}, handler.TypedEnqueueRequestsFromMapFunc(r.ofNode))),
	)
}

// ofMachine returns the health checks that look at a Machine.
func (r *reconciler) ofMachine(ctx context.Context, m *machinev1beta1.Machine) []reconcile.Request {
	all := &machinev1beta1.MachineHealthCheckList{}
	if err := r.client.List(ctx, all, client.InNamespace(m.Namespace)); err != nil {
		klog.Errorf("listing MachineHealthChecks: %v", err)
		return nil
	}
	var requests []reconcile.Request
	for i := range all.Items {
		selector, err := metav1.LabelSelectorAsSelector(&all.Items[i].Spec.Selector)
		if err == nil && selector.Matches(labels.Set(m.Labels)) {
			requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&all.Items[i])})
		}
	}
	return requests
}

// ofNode returns the health checks that look at the Machine of a Node.
func (r *reconciler) ofNode(ctx context.Context, node *corev1.Node) []reconcile.Request {
	all := &machinev1beta1.MachineList{}
	if err := r.client.List(ctx, all); err != nil {
		klog.Errorf("listing Machines: %v", err)
		return nil
	}
	for i := range all.Items {
		if ref := all.Items[i].Status.NodeRef; ref != nil && ref.Name == node.Name {
			return r.ofMachine(ctx, &all.Items[i])
		}
	}
	return nil
}

// Reconcile looks at the Machines of a health check, and deletes those that need it
// unless too many are not healthy.
func (r *reconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	check := &machinev1beta1.MachineHealthCheck{}
	if err := r.client.Get(ctx, request.NamespacedName, check); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	if _, is := check.Annotations[paused]; is {
		return reconcile.Result{}, nil
	}
	targets, err := r.targets(ctx, check)
	if err != nil {
		return reconcile.Result{}, err
	}
	found := examine(check, targets, time.Now())
	most, err := maxUnhealthy(check, len(targets))
	allowed := err == nil && len(targets)-found.healthy <= most
	if err := r.writeStatus(ctx, check, len(targets), found.healthy, max(most-(len(targets)-found.healthy), 0)); err != nil {
		return reconcile.Result{}, err
	}
	if !allowed {
		r.recorder.Eventf(check, nil, corev1.EventTypeWarning, "RemediationRestricted", "Remediate",
			"Remediation restricted due to exceeded number of unhealthy machines (total: %d, unhealthy: %d, maxUnhealthy: %v)", len(targets), len(targets)-found.healthy, check.Spec.MaxUnhealthy)
		return reconcile.Result{RequeueAfter: restrictedAgain}, nil
	}
	for _, m := range found.remediate {
		if err := r.remediate(ctx, m); err != nil {
			return reconcile.Result{}, err
		}
	}
	return reconcile.Result{RequeueAfter: found.again}, nil
}

// remediate deletes a Machine that its controller replaces.
func (r *reconciler) remediate(ctx context.Context, m *machinev1beta1.Machine) error {
	if metav1.GetControllerOf(m) == nil {
		r.recorder.Eventf(m, nil, corev1.EventTypeNormal, "SkippedNoController", "Remediate", "Machine %s has no controller owner, skipping remediation", m.Name)
		return nil
	}
	if m.DeletionTimestamp != nil {
		return nil
	}
	klog.Infof("%s: deleting the unhealthy machine", m.Name)
	if err := r.client.Delete(ctx, m); err != nil {
		return client.IgnoreNotFound(err)
	}
	r.recorder.Eventf(m, nil, corev1.EventTypeNormal, "MachineDeleted", "Remediate", "Machine %s has been remediated by requesting to delete Machine object", m.Name)
	return nil
}

// targets are the Machines that a health check selects, with their Nodes.
func (r *reconciler) targets(ctx context.Context, check *machinev1beta1.MachineHealthCheck) ([]target, error) {
	selector, err := metav1.LabelSelectorAsSelector(&check.Spec.Selector)
	if err != nil {
		return nil, err
	}
	all := &machinev1beta1.MachineList{}
	if err := r.client.List(ctx, all, client.InNamespace(check.Namespace), client.MatchingLabelsSelector{Selector: selector}); err != nil {
		return nil, err
	}
	var out []target
	for i := range all.Items {
		t := target{machine: &all.Items[i]}
		if ref := t.machine.Status.NodeRef; ref != nil {
			t.node = &corev1.Node{}
			err := r.client.Get(ctx, client.ObjectKey{Name: ref.Name}, t.node)
			if client.IgnoreNotFound(err) != nil {
				return nil, err
			}
			t.lost = apierrors.IsNotFound(err)
		}
		out = append(out, t)
	}
	return out, nil
}

func (r *reconciler) writeStatus(ctx context.Context, check *machinev1beta1.MachineHealthCheck, expected, healthy, allowed int) error {
	base := check.DeepCopy()
	check.Status.ExpectedMachines, check.Status.CurrentHealthy, check.Status.RemediationsAllowed = &expected, &healthy, int32(allowed)
	return r.client.Status().Patch(ctx, check, client.MergeFrom(base))
}
