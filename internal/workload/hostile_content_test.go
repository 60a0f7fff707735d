// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package workload

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/printable"
)

// hostile is a text that Line prints in another form, in each of its parts.
const hostile = "x\n::error::told ##vso[task.setvariable variable=told]y\x1b[31m\u202e"

// Writers of a custom object choose the names of its fields and their values, where its schema leaves them
// open, and a text in a ConfigMap has no schema at all. An error prints them in logs of pipelines.
func TestObserve_printsNoContentAsItIs(t *testing.T) {
	t.Parallel()
	quoted, err := json.Marshal(hostile)
	if err != nil {
		t.Fatal(err)
	}
	long := `"` + strings.Repeat("x", 100_000) + `"`
	path := []string{"spec", "template", "spec", "tolerations"}
	for name, spec := range map[string]string{
		"a name of a field":                    `{"template":{"spec":{"tolerations":[{"key":"a",HOSTILE:"1"}]}}}`,
		"a text in its place":                  `{"template":{"spec":HOSTILE}}`,
		"a text of the object":                 `{"template":HOSTILE}`,
		"a value in its list":                  `{"template":{"spec":{"tolerations":[{"key":{"a":HOSTILE}}]}}}`,
		"the kind that has the template":       `{"workloadRef":{"kind":HOSTILE,"name":HOSTILE}}`,
		"a node selector of another kind":      `{"template":{"spec":{"nodeSelector":HOSTILE}}}`,
		"a time of another kind":               `{"template":{"metadata":{"creationTimestamp":HOSTILE}}}`,
		"a node selector of a component":       `{"nodeSelector":HOSTILE}`,
		"tolerations of a component":           `{"tolerations":[{HOSTILE:"1"}]}`,
		"a text that is no component's":        `HOSTILE`,
		"a name of a field beside a component": `{"a":1},HOSTILE:1,HOSTILE:2`,
	} {
		for _, text := range []string{string(quoted), long} {
			spec := strings.ReplaceAll(spec, "HOSTILE", text)
			err := error(nil)
			if strings.Contains(name, "component") {
				ref := Configs()[0].Each()[0]
				object := NoConfig(ref)
				if err := unstructured.SetNestedField(object.Object, fmt.Sprintf(`{%q:%s}`, ref.Component, spec), "data", ConfigKey); err != nil {
					t.Fatal(err)
				}
				_, err = ObserveComponent(object, ref)
			} else {
				apiVersion, kind := "apps/v1", "Deployment"
				if !strings.Contains(name, "another kind") {
					apiVersion, kind = "example.com/v1", "Widget"
				}
				_, err = Observe(object(t, apiVersion, kind, `{"spec":`+spec+`}`), path)
			}
			// Line cuts what is longer than one text of the object may be.
			if said := fmt.Sprint(err); err == nil || len(said) > 10_000 || !strings.HasPrefix(said, strings.TrimSuffix(printable.Line(said), "…")) {
				t.Errorf("of %s it says %.300q", name, said)
			}
		}
	}
}

// Field managers, owners and the reasons of a controller are texts that messages name.
func TestObserve_takesTextsAsTheyCanBePrinted(t *testing.T) {
	t.Parallel()
	quoted, err := json.Marshal(hostile)
	if err != nil {
		t.Fatal(err)
	}
	w := direct(t, "argoproj.io/v1alpha1", "Rollout", strings.ReplaceAll(`{"metadata":{
		"managedFields":[{"manager":HOSTILE,"operation":"Update","fieldsV1":{"f:spec":{"f:template":{"f:spec":{"f:tolerations":{}}}}}}],
		"ownerReferences":[{"apiVersion":"example.com/v1","kind":HOSTILE,"name":HOSTILE,"uid":"u","controller":true}]},
		"spec":{"template":{}},"status":{"pauseConditions":[{"reason":HOSTILE}]}}`, "HOSTILE", string(quoted)))
	for name, texts := range map[string][]string{"Writers": w.Writers, "Reverter": {w.Reverter}, "Rolling.Stands": {w.Rolling.Stands.Why}} {
		if !slices.ContainsFunc(texts, func(text string) bool { return strings.Contains(text, "told") }) {
			t.Errorf("%s is %q", name, texts)
		}
		for _, text := range texts {
			if text != printable.Line(text) {
				t.Errorf("%s is %q", name, text)
			}
		}
	}
}
