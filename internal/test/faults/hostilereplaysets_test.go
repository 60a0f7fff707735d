// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package faults_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/machineset"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/fakeapi"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/fakeapi/controllers"
)

// TestHostileMarksWrittenBack_onMachineSets has another writer write back the records that a resource
// once had on a MachineSet: its marks, those of what machines kept, and the marker of a rollout.
// What the resource has given up, and what another writer has put there since, stays in the
// template and on the machines.
func TestHostileMarksWrittenBack_onMachineSets(t *testing.T) {
	t.Parallel()
	acctest.TooLong(t)
	for _, typeName := range []string{"machine_set_taints", "dedicated_nodes"} {
		config := func(key, label, strategy string) map[string]any {
			where, taints := object{"namespace": "machines", "name": "ms", "rollout": rollouts[strategy]}, []any{taint(key, "a", "NoSchedule")}
			if typeName == "machine_set_taints" {
				return acctest.With(where, object{"taints": taints})
			}
			return object{"machine_sets": where, "taints": taints, "labels": object{label: "a"}}
		}
		for what, tt := range map[string]struct {
			strategies, records []string
		}{
			"by in_place":                  {[]string{"in_place"}, []string{"kubetaint.io/owned-taints", "kubetaint.io/owned-labels", machineset.MarkerAnnotation}},
			"after it was left":            {[]string{"template_only", "in_place"}, []string{"kubetaint.io/owned-taints", machineset.RemnantsAnnotation}},
			"after others were left since": {[]string{"template_only", "in_place", "template_only", "in_place"}, []string{machineset.RemnantsAnnotation}},
		} {
			t.Run(typeName+" "+what, func(t *testing.T) {
				t.Parallel()
				i, written := acctest.Instance{Type: "kubetaint_" + typeName}, map[string]string{}
				var givenUp moment
				bubble(t, moment{api: fakeapi.New(controllers.MachineAPI...)}, func(t *testing.T, api *fakeapi.Server) {
					pool(api)
					time.Sleep(calm)
					client := api.Client()
					// Several requests are answered in parallel.
					var lock sync.Mutex
					client.OnAnswer(func(fakeapi.Request, int) {
						lock.Lock()
						defer lock.Unlock()
						for name, value := range machineSet(api).GetAnnotations() {
							if givesUp(value) {
								written[name] = value
							}
						}
					})
					apply := applying(t, client, &i)
					apply(config("team", "dedicated", "in_place"))
					for n, strategy := range tt.strategies {
						apply(config(fmt.Sprint("extra", n/2), "extra", strategy))
					}
					givenUp = moment{api.Clone(), time.Now()}
				})
				for _, annotation := range tt.records {
					if annotation == "kubetaint.io/owned-labels" && typeName != "dedicated_nodes" {
						continue
					}
					for then, config := range map[string]map[string]any{"update": config("more", "more", "in_place"), "destroy": nil} {
						t.Run(annotation+" "+then, func(t *testing.T) {
							bubble(t, givenUp, func(t *testing.T, api *fakeapi.Server) {
								if now := machineSet(api).GetAnnotations(); written[annotation] == "" || givesUp(now[annotation]) {
									t.Fatalf("%q was written, and %v is there now", written[annotation], now)
								}
								writeBack(api, annotation, written[annotation])
								time.Sleep(calm)
								i := i
								applying(t, api.Client(), &i)(config)
								checkTheirs(t, api, annotation)
							})
						})
					}
				}
			})
		}
	}
}

// checkTheirs checks that the entries that a record is about, and that another writer has put there,
// stay in the template and on the machines.
func checkTheirs(t *testing.T, api *fakeapi.Server, annotation string) {
	t.Helper()
	for _, plural := range []string{"machinesets", "machines"} {
		for _, o := range api.Custom(machinev1beta1.GroupVersion.WithResource(plural)) {
			if plural == "machinesets" && !inTemplate(annotation) {
				continue
			}
			spec, _, _ := unstructured.NestedMap(o.Object, specOf(o)...)
			if text := fmt.Sprint(spec["taints"]); !strings.Contains(text, "team") {
				t.Errorf("the taint is gone from %s %s: %s", o.GetKind(), o.GetName(), text)
			}
			labels, _, _ := unstructured.NestedStringMap(spec, "metadata", "labels")
			if annotation == "kubetaint.io/owned-labels" && labels["dedicated"] != "a" {
				t.Errorf("the label is gone from %s %s: %v", o.GetKind(), o.GetName(), labels)
			}
		}
	}
}

// givesUp reports whether a record is about what the resource gives up.
func givesUp(value string) bool {
	return slices.ContainsFunc([]string{`"key":"team"`, `"key":"dedicated"`, `"retired":["team:`}, func(part string) bool { return strings.Contains(value, part) })
}

func machineSet(api *fakeapi.Server) *unstructured.Unstructured {
	return api.Custom(machinev1beta1.GroupVersion.WithResource("machinesets"))[0]
}

// inTemplate is whether a record is about the template.
func inTemplate(annotation string) bool { return strings.HasPrefix(annotation, "kubetaint.io/owned-") }

// specOf is the path of the spec of a machine.
func specOf(o *unstructured.Unstructured) []string {
	if o.GetKind() == "MachineSet" {
		return []string{"spec", "template", "spec"}
	}
	return []string{"spec"}
}

// writeBack puts the taint and the label on machines again, and into the template where the
// record is about that, and the record beside what is there.
func writeBack(api *fakeapi.Server, annotation, value string) {
	for _, plural := range []string{"machinesets", "machines"} {
		for _, o := range api.Custom(machinev1beta1.GroupVersion.WithResource(plural)) {
			annotations := o.GetAnnotations()
			if plural == "machinesets" {
				if now := annotations[annotation]; now != "" && strings.HasPrefix(value, "[") {
					value = strings.TrimSuffix(value, "]") + "," + strings.TrimPrefix(now, "[")
				}
				annotations[annotation] = value
				o.SetAnnotations(annotations)
			}
			if plural == "machines" || inTemplate(annotation) {
				path := specOf(o)
				taints, _, _ := unstructured.NestedSlice(o.Object, append(path, "taints")...)
				err := unstructured.SetNestedSlice(o.Object, append(taints, taint("team", "a", "NoSchedule")), append(path, "taints")...)
				if err == nil {
					err = unstructured.SetNestedField(o.Object, "a", append(path, "metadata", "labels", "dedicated")...)
				}
				if err != nil {
					panic(err)
				}
			}
			api.Put(o)
		}
	}
}
