// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

// Package machineset plays the MachineSet controller of OpenShift
// (machine-api-operator, pkg/controller/machineset, August 2026), awkward habits
// included: a change of the template reaches no Machine that exists, scaling down
// is uncapped, and the counts leave out Machines that are being deleted.
//
// The gate MachineAPIMigration is off, as it is by default: no controller looks at
// authoritativeAPI.
package machineset

import (
	"context"
	"errors"
	"fmt"
	"time"

	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

type reconciler struct {
	client   client.Client
	recorder events.EventRecorder
}

// Add registers the controller. It has one worker unless opts say otherwise.
func Add(mgr manager.Manager, opts controller.Options) error {
	r := &reconciler{client: mgr.GetClient(), recorder: mgr.GetEventRecorder("machineset_controller")}
	opts.Reconciler = r
	c, err := controller.New("machineset", mgr, opts)
	if err != nil {
		return err
	}
	cache := mgr.GetCache()
	return errors.Join(
		c.Watch(source.Kind(cache, &machinev1beta1.MachineSet{}, &handler.TypedEnqueueRequestForObject[*machinev1beta1.MachineSet]{})),
		c.Watch(source.Kind(cache, &machinev1beta1.Machine{},
			handler.TypedEnqueueRequestForOwner[*machinev1beta1.Machine](mgr.GetScheme(), mgr.GetRESTMapper(), &machinev1beta1.MachineSet{}, handler.OnlyControllerOwner()))),
		c.Watch(source.Kind(cache, &machinev1beta1.Machine{}, handler.TypedEnqueueRequestsFromMapFunc(r.selecting))),
	)
}

// Reconcile brings the number of Machines to what is wanted, and counts them.
func (r *reconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	ms := &machinev1beta1.MachineSet{}
	if err := r.client.Get(ctx, request.NamespacedName, ms); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	if ms.DeletionTimestamp != nil {
		return reconcile.Result{}, nil
	}
	result, err := r.reconcile(ctx, ms)
	if err != nil {
		r.recorder.Eventf(ms, nil, corev1.EventTypeWarning, "ReconcileError", "Reconcile", "%v", err)
	}
	return result, err
}

func (r *reconciler) reconcile(ctx context.Context, ms *machinev1beta1.MachineSet) (reconcile.Result, error) {
	if err := validate(ms); err != nil {
		return reconcile.Result{}, fmt.Errorf("%q machineset validation failed: %w", ms.Name, err)
	}
	machines, err := r.members(ctx, ms)
	if err != nil {
		return reconcile.Result{}, fmt.Errorf("failed to list machines: %w", err)
	}
	syncErr := r.sync(ctx, ms, machines)
	// Of the list that was taken before: the status is one turn behind.
	status := count(ms, machines, r.node(ctx), time.Now())
	if err := r.writeStatus(ctx, ms, status); err != nil {
		return reconcile.Result{}, errors.Join(syncErr, fmt.Errorf("failed to update machine set status: %w", err))
	}
	if syncErr != nil {
		return reconcile.Result{}, fmt.Errorf("failed to sync machines: %w", syncErr)
	}
	if wanted := ptr.Deref(ms.Spec.Replicas, 0); ms.Spec.MinReadySeconds > 0 && ms.Status.ReadyReplicas == wanted && ms.Status.AvailableReplicas != wanted {
		return reconcile.Result{RequeueAfter: time.Duration(ms.Spec.MinReadySeconds) * time.Second}, nil
	}
	return reconcile.Result{}, nil
}

// validate refuses a selector that is empty or does not match the template.
func validate(ms *machinev1beta1.MachineSet) error {
	selector, err := metav1.LabelSelectorAsSelector(&ms.Spec.Selector)
	switch {
	case err != nil:
		return fmt.Errorf("spec.selector: %w", err)
	case selector.Empty():
		return errors.New("spec.selector: empty selector is not valid for MachineSet")
	case !selector.Matches(labels.Set(ms.Spec.Template.Labels)):
		return errors.New("spec.template.metadata.labels: `selector` does not match template `labels`")
	}
	return nil
}
