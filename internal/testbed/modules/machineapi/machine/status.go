// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package machine

import (
	"context"
	"errors"
	"reflect"

	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/testbed/modules/machineapi/condition"
)

// instanceState is the annotation that providers show an instance's state in.
const instanceState = "machine.openshift.io/instance-state"

// setStatus writes phase, conditions and, in phase Failed alone, what went
// wrong. The conditions are set on the Machine beforehand; before are those that
// it was read with.
func (r *reconciler) setStatus(ctx context.Context, m *machinev1beta1.Machine, phase string, cause error, before []machinev1beta1.Condition) error {
	showHooks(m)
	conditions := condition.Copy(m.Status.Conditions)
	if phase == machinev1beta1.PhaseFailed {
		// A patch overwrites the Machine with the server's answer, so that this one
		// comes before any change of the status.
		if err := r.annotateFailed(ctx, m); err != nil {
			return err
		}
	}
	base := m.DeepCopy()
	base.Status.Conditions = before
	m.Status.Conditions = conditions
	m.Status.Phase = &phase
	m.Status.ErrorReason, m.Status.ErrorMessage = nil, nil
	if phase == machinev1beta1.PhaseFailed && cause != nil {
		m.Status.ErrorMessage = ptr.To(cause.Error())
		if invalid := new(InvalidError); errors.As(cause, &invalid) {
			m.Status.ErrorReason = ptr.To(machinev1beta1.InvalidConfigurationMachineError)
		}
	}
	if !reflect.DeepEqual(base.Status, m.Status) {
		m.Status.LastUpdated = ptr.To(metav1.Now())
	}
	return r.client.Status().Patch(ctx, m, client.MergeFrom(base))
}

// tryStatus writes the status of a Machine in the phase that it is in. A failure is
// logged, and no more.
func (r *reconciler) tryStatus(ctx context.Context, m *machinev1beta1.Machine, cause error, before []machinev1beta1.Condition) {
	if err := r.setStatus(ctx, m, phase(m), cause, before); err != nil {
		klog.Errorf("%s: error patching status: %v", m.Name, err)
	}
}

func (r *reconciler) annotateFailed(ctx context.Context, m *machinev1beta1.Machine) error {
	base := m.DeepCopy()
	if m.Annotations == nil {
		m.Annotations = map[string]string{}
	}
	m.Annotations[instanceState] = "Unknown"
	return r.client.Patch(ctx, m, client.MergeFrom(base))
}

// showHooks shows in conditions what lifecycle hooks hold up.
func showHooks(m *machinev1beta1.Machine) {
	show := func(kind machinev1beta1.ConditionType, operation string, hooks []machinev1beta1.LifecycleHook) {
		if len(hooks) == 0 {
			condition.Set(m, condition.True(kind, ""))
			return
		}
		condition.Set(m, condition.False(kind, machinev1beta1.MachineHookPresent, "%s operation currently blocked by: %+v", operation, hooks))
	}
	show(machinev1beta1.MachineDrainable, "Drain", m.Spec.LifecycleHooks.PreDrain)
	show(machinev1beta1.MachineTerminable, "Terminate", m.Spec.LifecycleHooks.PreTerminate)
}
