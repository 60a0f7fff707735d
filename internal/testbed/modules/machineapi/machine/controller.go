// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

// Package machine plays the Machine controller of OpenShift
// (machine-api-operator, pkg/controller/machine/controller.go, August 2026): it
// takes a Machine through its phases, and when it is deleted waits for the drain
// and the hooks before it removes instance, Node and finalizer, in that order.
package machine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/events"
	"k8s.io/klog/v2"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/testbed/modules/machineapi/condition"
)

type reconciler struct {
	client   client.Client
	recorder events.EventRecorder
	cloud    Cloud
	// again is the pause after which an unfinished Machine is looked at again
	// when nothing has happened to it.
	again time.Duration
}

// Add registers the controller. It looks again at an unfinished Machine after
// the time named again, which is 30s in OpenShift.
func Add(mgr manager.Manager, cloud Cloud, again time.Duration, opts controller.Options) error {
	opts.Reconciler = &reconciler{client: mgr.GetClient(), recorder: mgr.GetEventRecorder("machine-controller"), cloud: cloud, again: again}
	c, err := controller.New("machine", mgr, opts)
	if err != nil {
		return err
	}
	return c.Watch(source.Kind(mgr.GetCache(), &machinev1beta1.Machine{}, &handler.TypedEnqueueRequestForObject[*machinev1beta1.Machine]{}))
}

// Reconcile takes a Machine one step on its way.
func (r *reconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	m := &machinev1beta1.Machine{}
	if err := r.client.Get(ctx, request.NamespacedName, m); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	if err := validate(m); err != nil {
		r.recorder.Eventf(m, nil, corev1.EventTypeWarning, "FailedValidate", "Validate", "%v", err)
		return reconcile.Result{}, err
	}
	before := condition.Copy(m.Status.Conditions)
	switch {
	case !m.DeletionTimestamp.IsZero():
		return r.remove(ctx, m, before)
	case !slices.Contains(m.Finalizers, machinev1beta1.MachineFinalizer):
		m.Finalizers = append(m.Finalizers, machinev1beta1.MachineFinalizer)
		return reconcile.Result{}, r.client.Update(ctx, m) // The update returns as an event.
	case phase(m) == machinev1beta1.PhaseFailed:
		return reconcile.Result{}, nil // For good.
	}
	exists, err := r.cloud.Exists(ctx, m)
	switch {
	case err != nil:
		condition.Set(m, condition.Unknown(machinev1beta1.InstanceExistsCondition, machinev1beta1.ErrorCheckingProviderReason,
			"Failed to check if machine exists: %v", err))
		r.tryStatus(ctx, m, err, before)
		return reconcile.Result{}, err
	case exists:
		return r.follow(ctx, m, before)
	case provisioned(m):
		// The instance was removed without this controller.
		condition.Set(m, condition.False(machinev1beta1.InstanceExistsCondition, machinev1beta1.InstanceMissingReason, "Instance not found on provider"))
		return reconcile.Result{}, r.setStatus(ctx, m, machinev1beta1.PhaseFailed, errors.New("can't find created instance"), before)
	default:
		return r.provision(ctx, m, before)
	}
}

// follow writes down what is known of the instance of a Machine. Two failures are no
// errors for the original, which pauses for 30s after them and not for the moment of a
// back-off: that of the cloud, and that of the status which is written about it.
func (r *reconciler) follow(ctx context.Context, m *machinev1beta1.Machine, before []machinev1beta1.Condition) (reconcile.Result, error) {
	later := reconcile.Result{RequeueAfter: r.again}
	if err := r.cloud.Update(ctx, m); err != nil {
		klog.Errorf("%s: error updating machine: %v, retrying in %s", m.Name, err, r.again)
		r.tryStatus(ctx, m, err, before)
		return later, nil
	}
	// After the update, which overwrites what is not yet written.
	condition.Set(m, condition.True(machinev1beta1.InstanceExistsCondition, ""))
	switch {
	case !provisioned(m):
		r.tryStatus(ctx, m, nil, before)
		return later, nil
	case m.Status.NodeRef == nil:
		return later, r.setStatus(ctx, m, machinev1beta1.PhaseProvisioned, nil, before)
	default:
		return reconcile.Result{}, r.setStatus(ctx, m, machinev1beta1.PhaseRunning, nil, before)
	}
}

// provision asks for an instance. A failure that may pass, such as a quota,
// leaves no trace in the Machine: it stays Provisioning, with InstanceExists
// false as it was from the beginning.
func (r *reconciler) provision(ctx context.Context, m *machinev1beta1.Machine, before []machinev1beta1.Condition) (reconcile.Result, error) {
	condition.Set(m, condition.False(machinev1beta1.InstanceExistsCondition, machinev1beta1.InstanceNotCreatedReason, "Instance has not been created"))
	if phase(m) == "" {
		return reconcile.Result{}, r.setStatus(ctx, m, machinev1beta1.PhaseProvisioning, nil, before)
	}
	err := r.cloud.Create(ctx, m)
	switch {
	case err == nil:
		return reconcile.Result{RequeueAfter: r.again}, nil
	case isInvalid(err):
		return reconcile.Result{}, r.setStatus(ctx, m, machinev1beta1.PhaseFailed, err, before)
	default:
		return OrLater(err)
	}
}

// OrLater turns a LaterError into a result, and leaves other errors to the
// back-off.
func OrLater(err error) (reconcile.Result, error) {
	if later := new(LaterError); errors.As(err, &later) {
		return reconcile.Result{RequeueAfter: later.After}, nil
	}
	return reconcile.Result{}, err
}

// validate refuses Machines that the controller never touches. The label comes
// from an admission webhook in OpenShift; here the template must carry it.
func validate(m *machinev1beta1.Machine) error {
	if m.Labels[machinev1beta1.MachineClusterIDLabel] == "" {
		return fmt.Errorf("%s: machine validation failed: missing %s label", m.Name, machinev1beta1.MachineClusterIDLabel)
	}
	if m.Spec.ProviderSpec.Value == nil {
		return fmt.Errorf("%s: machine validation failed: spec.providerSpec.value must be set", m.Name)
	}
	return nil
}

func phase(m *machinev1beta1.Machine) string { return ptr.Deref(m.Status.Phase, "") }

func provisioned(m *machinev1beta1.Machine) bool {
	return len(m.Status.Addresses) > 0 || ptr.Deref(m.Spec.ProviderID, "") != ""
}
