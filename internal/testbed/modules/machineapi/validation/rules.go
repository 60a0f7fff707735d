// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

// Package validation plays the validating webhooks of OpenShift
// (machine-api-operator, pkg/webhooks, August 2026): they look at Machines and at the
// templates of MachineSets whenever these are made or changed, and at all of them each
// time. So a change of taints is refused for a providerSpec that does not pass any more,
// and nothing is looked at in the subresources status and scale.
package validation

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"

	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/testbed/modules/machineapi/cloud"
)

// platform reports what a cloud takes.
type platform struct {
	// withdrawn are the images that nothing can boot any more.
	withdrawn map[string]string
}

// set validates a MachineSet; old is nil where it is made (machineset_webhook.go,
// validateMachineSet).
func (p platform) set(ms, old *machinev1beta1.MachineSet) (warnings []string, errs field.ErrorList) {
	spec := field.NewPath("spec")
	if old != nil && !reflect.DeepEqual(ms.Spec.Selector, old.Spec.Selector) {
		errs = append(errs, field.Forbidden(spec.Child("selector"), "selector is immutable"))
	}
	selector, err := metav1.LabelSelectorAsSelector(&ms.Spec.Selector)
	switch {
	case err != nil:
		errs = append(errs, field.Invalid(spec.Child("selector"), ms.Spec.Selector, err.Error()))
	case !selector.Matches(labels.Set(ms.Spec.Template.Labels)):
		errs = append(errs, field.Invalid(spec.Child("template", "metadata", "labels"), ms.Spec.Template.Labels, "`selector` does not match template `labels`"))
	}
	warnings, more := p.providerSpec(&ms.Spec.Template.Spec)
	return warnings, append(errs, more...)
}

// machine validates a Machine; old is nil where it is made (machine_webhook.go,
// validateMachine). What removes finalizers alone always passes.
func (p platform) machine(m, old *machinev1beta1.Machine) (warnings []string, errs field.ErrorList) {
	if m.DeletionTimestamp != nil && old != nil {
		if sameBesideFinalizers(m, old) {
			return nil, nil
		}
		hooks := field.NewPath("spec", "lifecycleHooks")
		errs = append(errs, noNewHooks(hooks.Child("preDrain"), old.Spec.LifecycleHooks.PreDrain, m.Spec.LifecycleHooks.PreDrain)...)
		errs = append(errs, noNewHooks(hooks.Child("preTerminate"), old.Spec.LifecycleHooks.PreTerminate, m.Spec.LifecycleHooks.PreTerminate)...)
	}
	warnings, more := p.providerSpec(&m.Spec)
	return warnings, append(errs, more...)
}

func sameBesideFinalizers(m, old *machinev1beta1.Machine) bool {
	now, before := m.DeepCopy(), old.DeepCopy()
	for _, one := range []*machinev1beta1.Machine{now, before} {
		one.Finalizers, one.ManagedFields, one.ResourceVersion = nil, nil, ""
	}
	return reflect.DeepEqual(now, before)
}

// noNewHooks refuses hooks of a Machine that is being deleted, unless it has them.
func noNewHooks(at *field.Path, old, now []machinev1beta1.LifecycleHook) field.ErrorList {
	added := slices.DeleteFunc(slices.Clone(now), func(hook machinev1beta1.LifecycleHook) bool { return slices.Contains(old, hook) })
	if len(added) == 0 {
		return nil
	}
	return field.ErrorList{field.Forbidden(at, fmt.Sprintf("hooks are immutable when machine is marked for deletion: the following hooks are new or changed: %+v", added))}
}

// providerSpec does what the checks of the real clouds do: it refuses what is not
// complete or not there any more, and warns of fields that it does not know.
func (p platform) providerSpec(machine *machinev1beta1.MachineSpec) (warnings []string, errs field.ErrorList) {
	at := field.NewPath("providerSpec", "value")
	if machine.ProviderSpec.Value == nil {
		return nil, field.ErrorList{field.Required(at, "a value must be provided")}
	}
	spec := &cloud.Spec{}
	if err := json.Unmarshal(machine.ProviderSpec.Value.Raw, spec); err != nil {
		return nil, field.ErrorList{field.Invalid(at, field.OmitValueType{}, err.Error())}
	}
	strict := json.NewDecoder(bytes.NewReader(machine.ProviderSpec.Value.Raw))
	strict.DisallowUnknownFields()
	if err := strict.Decode(&cloud.Spec{}); err != nil {
		warnings = append(warnings, err.Error())
	}
	if spec.APIVersion != cloud.APIVersion || spec.Kind != cloud.Kind {
		warnings = append(warnings, fmt.Sprintf("incorrect GroupVersionKind for InventedMachineSpec object: %s, Kind=%s", spec.APIVersion, spec.Kind))
	}
	if _, gone := p.withdrawn[spec.Image]; gone && spec.Image != "" {
		errs = append(errs, field.Invalid(field.NewPath("providerSpec", "image"), spec.Image, "this image has been withdrawn"))
	}
	return warnings, errs
}
