// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package validation

import (
	"strings"
	"testing"

	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
)

const good = `{"apiVersion":"cloud.kubetaint.io/v1","kind":"InventedMachineSpec","image":"new"}`

var clouds = platform{withdrawn: map[string]string{"old": ""}}

func newSet(change func(*machinev1beta1.MachineSet)) *machinev1beta1.MachineSet {
	ms := &machinev1beta1.MachineSet{}
	ms.Spec.Selector.MatchLabels = map[string]string{"set": "a"}
	ms.Spec.Template.Labels = map[string]string{"set": "a", "more": "b"}
	ms.Spec.Template.Spec.ProviderSpec.Value = &runtime.RawExtension{Raw: []byte(good)}
	if change != nil {
		change(ms)
	}
	return ms
}

func providerSpec(raw string) func(*machinev1beta1.MachineSet) {
	return func(ms *machinev1beta1.MachineSet) {
		ms.Spec.Template.Spec.ProviderSpec.Value = &runtime.RawExtension{Raw: []byte(raw)}
	}
}

func TestSet(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		set, old      *machinev1beta1.MachineSet
		refused, warn string
	}{
		"a good one":                   {set: newSet(nil)},
		"other replicas":               {set: newSet(func(ms *machinev1beta1.MachineSet) { ms.Spec.Replicas = ptr.To[int32](3) }), old: newSet(nil)},
		"another selector":             {set: newSet(func(ms *machinev1beta1.MachineSet) { ms.Spec.Selector.MatchLabels = map[string]string{"more": "b"} }), old: newSet(nil), refused: "selector is immutable"},
		"a selector of other machines": {set: newSet(func(ms *machinev1beta1.MachineSet) { ms.Spec.Template.Labels = nil }), refused: "`selector` does not match template `labels`"},
		"a selector that does not parse": {set: newSet(func(ms *machinev1beta1.MachineSet) {
			ms.Spec.Selector.MatchExpressions = []metav1.LabelSelectorRequirement{{Key: "a", Operator: "Like"}}
		}), refused: "spec.selector"},
		"no providerSpec":               {set: newSet(func(ms *machinev1beta1.MachineSet) { ms.Spec.Template.Spec.ProviderSpec.Value = nil }), refused: "a value must be provided"},
		"a providerSpec of other types": {set: newSet(providerSpec(`{"quota":"many"}`)), refused: "providerSpec.value"},
		"an unknown field":              {set: newSet(providerSpec(strings.Replace(good, `"image"`, `"imgae"`, 1))), warn: "imgae"},
		"a spec of another cloud":       {set: newSet(providerSpec(`{"apiVersion":"other/v1","kind":"Spec"}`)), warn: "incorrect GroupVersionKind"},
		"a withdrawn image":             {set: newSet(providerSpec(strings.Replace(good, "new", "old", 1))), refused: "this image has been withdrawn"},
		"a withdrawn image that it has": {set: newSet(providerSpec(strings.Replace(good, "new", "old", 1))), old: newSet(providerSpec(strings.Replace(good, "new", "old", 1))), refused: "this image has been withdrawn"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			warnings, errs := clouds.set(tt.set, tt.old)
			said := ""
			if err := errs.ToAggregate(); err != nil {
				said = err.Error()
			}
			if (said == "") != (tt.refused == "") || !strings.Contains(said, tt.refused) {
				t.Errorf("it is refused with %q, want %q", said, tt.refused)
			}
			if told := strings.Join(warnings, "\n"); (told == "") != (tt.warn == "") || !strings.Contains(told, tt.warn) {
				t.Errorf("the warnings are %q, want %q", told, tt.warn)
			}
		})
	}
}

func TestMachine(t *testing.T) {
	t.Parallel()
	machine := func(image string, change func(*machinev1beta1.Machine)) *machinev1beta1.Machine {
		m := &machinev1beta1.Machine{}
		m.Finalizers = []string{machinev1beta1.MachineFinalizer}
		m.Spec.ProviderSpec.Value = &runtime.RawExtension{Raw: []byte(strings.Replace(good, "new", image, 1))}
		if change != nil {
			change(m)
		}
		return m
	}
	hook := []machinev1beta1.LifecycleHook{{Name: "Migrate", Owner: "storage"}}
	deleted := func(m *machinev1beta1.Machine) { m.DeletionTimestamp = &metav1.Time{} }
	ending := func(m *machinev1beta1.Machine) { deleted(m); m.Finalizers, m.ResourceVersion = nil, "2" }
	hooked := func(m *machinev1beta1.Machine) { deleted(m); m.Spec.LifecycleHooks.PreDrain = hook }
	for name, tt := range map[string]struct {
		machine, old *machinev1beta1.Machine
		refused      string
	}{
		"a good one":                            {machine: machine("new", nil)},
		"a withdrawn image":                     {machine: machine("old", nil), refused: "this image has been withdrawn"},
		"the end of one with a withdrawn image": {machine: machine("old", ending), old: machine("old", deleted)},
		"an annotation of one that is deleted": {
			machine: machine("old", func(m *machinev1beta1.Machine) { deleted(m); m.Annotations = map[string]string{"a": "b"} }), old: machine("old", deleted), refused: "this image has been withdrawn",
		},
		"a hook of one that is deleted":            {machine: machine("new", hooked), old: machine("new", deleted), refused: "hooks are immutable when machine is marked for deletion"},
		"a hook that is taken from it":             {machine: machine("new", deleted), old: machine("new", hooked)},
		"a hook before it is deleted":              {machine: machine("new", func(m *machinev1beta1.Machine) { m.Spec.LifecycleHooks.PreTerminate = hook }), old: machine("new", nil)},
		"a hook at the end of one that is deleted": {machine: machine("new", func(m *machinev1beta1.Machine) { deleted(m); m.Spec.LifecycleHooks.PreTerminate = hook }), old: machine("new", deleted), refused: "preTerminate"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			said := ""
			if _, errs := clouds.machine(tt.machine, tt.old); len(errs) > 0 {
				said = errs.ToAggregate().Error()
			}
			if (said == "") != (tt.refused == "") || !strings.Contains(said, tt.refused) {
				t.Errorf("it is refused with %q, want %q", said, tt.refused)
			}
		})
	}
}
