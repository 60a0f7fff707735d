// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package kube

import (
	"reflect"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/printable"
)

// hostile is a text that Line prints in another form, in each of its parts.
const hostile = "x\n::error::told ##vso[task.setvariable variable=told]y\x1b[31m\u202e"

// Writers of a node, a Machine or a MachineSet choose texts that messages print: each is taken from
// the object as it can be printed.
func TestSlim_takesTextsAsTheyCanBePrinted(t *testing.T) {
	t.Parallel()
	machine := `{spec: {lifecycleHooks: {preDrain: [{name: HOSTILE, owner: HOSTILE}], preTerminate: [{name: HOSTILE, owner: HOSTILE}]}},
		status: {phase: HOSTILE, errorReason: HOSTILE, nodeRef: {name: HOSTILE}, errorMessage: HOSTILE}}`
	for name, tt := range map[string]struct {
		manifest string
		slim     func(*unstructured.Unstructured) any
		// texts are the fields that hold what was written.
		texts []string
		// raw are those that are compared, and printed by functions which print any text.
		raw []string
	}{
		"a MachineSet": {`{metadata: {annotations: {autoscaling.openshift.io/machineautoscaler: HOSTILE,
			machine.openshift.io/cluster-api-autoscaler-node-group-max-size: "3", capacity.cluster-autoscaler.kubernetes.io/taints: HOSTILE}},
			spec: {template: {metadata: {labels: {machine.openshift.io/cluster-api-machine-role: HOSTILE}}}}, status: {authoritativeAPI: HOSTILE}}`,
			func(o *unstructured.Unstructured) any { return slimSet(o) },
			[]string{"Authority", "Autoscaler.Owner", "CapacityTaints", "Role"}, []string{"CapacityTaints"}},
		"a Machine": {machine, func(o *unstructured.Unstructured) any { return slimMachine(o) },
			[]string{"Error", "Hooks[]", "Node", "Phase"}, nil},
		"a Machine that gives a reason alone": {`{status: {errorReason: HOSTILE}}`, func(o *unstructured.Unstructured) any { return slimMachine(o) },
			[]string{"Error"}, nil},
		"a node": {`{metadata: {annotations: {machine.openshift.io/machine: HOSTILE}}}`, func(o *unstructured.Unstructured) any {
			var n corev1.Node
			_ = runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, &n)
			return slimNode(&n)
		}, []string{"Machine"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			object := &unstructured.Unstructured{}
			if err := yaml.Unmarshal([]byte(tt.manifest), &object.Object); err != nil {
				t.Fatal(err)
			}
			object.Object, _ = spoofed(object.Object).(map[string]any)
			var found []string
			eachText(reflect.ValueOf(tt.slim(object)), "", func(field, text string) {
				found = append(found, field)
				if text != printable.Line(text) && !slices.Contains(tt.raw, field) {
					t.Errorf("%s is %q", field, text)
				}
			})
			slices.Sort(found)
			if got := slices.Compact(found); !slices.Equal(got, tt.texts) {
				t.Errorf("texts are in %v, want %v", got, tt.texts)
			}
		})
	}
}

// spoofed puts the hostile text into a manifest.
func spoofed(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for field, held := range v {
			v[field] = spoofed(held)
		}
	case []any:
		for at, held := range v {
			v[at] = spoofed(held)
		}
	case string:
		if v == "HOSTILE" {
			return hostile
		}
	}
	return v
}

// eachText visits the texts that an object holds, but for its labels and taints.
func eachText(v reflect.Value, at string, visit func(field, text string)) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			eachText(v.Elem(), at, visit)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			name := v.Type().Field(i).Name
			if at != "" {
				name = at + "." + name
			}
			eachText(v.Field(i), name, visit)
		}
	case reflect.Slice:
		for i := range v.Len() {
			eachText(v.Index(i), at+"[]", visit)
		}
	case reflect.String:
		if v.String() != "" {
			visit(at, v.String())
		}
	default:
	}
}
