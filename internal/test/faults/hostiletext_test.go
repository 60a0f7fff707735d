// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package faults_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
	taints "github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/fakeapi"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/fakeapi/controllers"
)

// spoof is a text that a reader of a log would take for a line of its own, a command of the
// pipeline, or another text than it is.
const spoof = "x\n::error::spoofed\x1b[31m\u202e"

// spoofs reports whether a text holds the parts of spoof that do harm.
func spoofs(text string) bool {
	return strings.Contains(text, "\n::") || strings.Contains(text, "\x1b") || strings.Contains(text, "\u202e")
}

// TestHostileText has another writer replace one text of the annotations that a resource reads, such as
// the owner of each mark: no warning, error or attribute prints it as it is.
func TestHostileText(t *testing.T) {
	t.Parallel()
	acctest.TooLong(t)
	for _, s := range hostileSubjects() {
		if s.action || !due(s) {
			continue
		}
		t.Run(s.name(), func(t *testing.T) {
			t.Parallel()
			start := settle(t, s)
			for annotation, values := range start.genuine {
				for _, at := range textsOf(t, values[0]) {
					t.Run(annotation+" "+at, func(t *testing.T) { start.spoof(t, annotation, at) })
				}
			}
		})
	}
}

// spoof replaces one text on all objects that the resource reads, by another one on each.
func (s *settled) spoof(t *testing.T, annotation, at string) {
	t.Helper()
	bubble(t, s.moment, func(t *testing.T, api *fakeapi.Server) {
		for _, o := range annotatedObjects(api) {
			if value := o.annotations[annotation]; value != "" && slices.Contains(s.reads(o), annotation) {
				o.annotations[annotation] = replaced(t, value, at, spoof+o.name)
				o.put(o.annotations)
			}
		}
		time.Sleep(calm)
		tf, told := through(api.Client()), ""
		note := func(i *acctest.Instance, d acctest.Diagnostics) {
			told += d.Errors() + d.Warnings()
			if i.Exists() {
				told += fmt.Sprint(tf.Attributes(t, i))
			}
		}
		lost, known, fresh := s.instance, s.instance, acctest.Instance{Type: s.instance.Type}
		lost.Private = nil
		note(&fresh, tf.Plan(t, &fresh, s.first).Diagnostics)
		note(&lost, tf.Plan(t, &lost, s.second).Diagnostics)
		note(&known, tf.Apply(t, &known, s.second))
		note(&known, tf.Apply(t, &known, nil))
		if spoofs(told) {
			t.Errorf("printed: %q", told)
		}
	})
}

// textsOf returns where an annotation has texts, by the names of their fields.
func textsOf(t *testing.T, value string) []string {
	t.Helper()
	found := map[string]bool{}
	var read any
	if err := json.Unmarshal([]byte(value), &read); err != nil {
		t.Fatal(err)
	}
	eachText(read, func(field, text string) string {
		found[field] = true
		return text
	})
	return slices.Sorted(maps.Keys(found))
}

// replaced returns an annotation with another text in all fields of one name.
func replaced(t *testing.T, value, at, text string) string {
	t.Helper()
	var read any
	if err := json.Unmarshal([]byte(value), &read); err != nil {
		t.Fatal(err)
	}
	eachText(read, func(field, was string) string {
		if field == at {
			return text
		}
		return was
	})
	out, err := json.Marshal(read)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// eachText replaces the texts in what JSON holds.
func eachText(v any, with func(field, text string) string) {
	switch v := v.(type) {
	case []any:
		for at, one := range v {
			if text, is := one.(string); is {
				v[at] = with("a list", text)
			}
			eachText(one, with)
		}
	case map[string]any:
		for field, held := range v {
			if text, is := held.(string); is {
				v[field] = with(field, text)
			} else {
				eachText(held, with)
			}
		}
	}
}

// TestHostileText_ofOwnersAtImports: a user who may annotate a node writes the owner of its marks. An
// import takes it as the id of the resource only where it is one, and refuses a record with text that
// does not print as it is.
func TestHostileText_ofOwnersAtImports(t *testing.T) {
	t.Parallel()
	for _, typeName := range []string{"node_taints", "dedicated_nodes"} {
		for name, owner := range map[string]string{
			"no id":                       "somebody",
			"no id, to spoof":             spoof,
			"an id that goes on to spoof": "terraform/dedicated_nodes/selector/pool=x/" + spoof,
			"of an owner that none has":   "a b/dedicated_nodes/selector/pool=x/team:PreferNoSchedule",
		} {
			for _, generations := range [][]string{{"g", "g"}, {"g", "h"}} {
				t.Run(fmt.Sprintf("%s %s generations %s", typeName, name, generations), func(t *testing.T) {
					t.Parallel()
					bubble(t, moment{api: fakeapi.New()}, func(t *testing.T, api *fakeapi.Server) {
						threeOfEach(api)
						time.Sleep(calm)
						for n, name := range []string{"n1", "n2"} {
							fakeapi.Edit(api, "", name, func(node *corev1.Node) {
								node.Spec.Taints = []corev1.Taint{{Key: "team", Value: "a", Effect: corev1.TaintEffectPreferNoSchedule}}
								node.Annotations[ownedTaints] = taints.Record{{Key: "team", Effect: corev1.TaintEffectPreferNoSchedule, Owner: owner, Generation: generations[n]}}.String()
							})
						}
						time.Sleep(calm)
						i, d := through(api.Client()).Import(t, "kubetaint_"+typeName, "selector/pool=x/team:PreferNoSchedule")
						told := d.Errors() + d.Warnings()
						if strings.Contains(owner, spoof) {
							acctest.WantAll(t, told, `who owns the taints of node "n1"`, "is damaged")
							if strings.Contains(told, spoof) {
								t.Errorf("told: %q", told)
							}
							return
						}
						if told != "" {
							t.Fatalf("told: %q", told)
						}
						if id, want := through(api.Client()).Attributes(t, i)["id"], "terraform/"+typeName+"/selector/pool=x/team:PreferNoSchedule"; id != want {
							t.Errorf("the id is %q, want %q", id, want)
						}
					})
				})
			}
		}
	}
}

// TestHostileText_ofTheOwnerOfAMachineSet imports a taint of a template whose mark names no resource.
func TestHostileText_ofTheOwnerOfAMachineSet(t *testing.T) {
	t.Parallel()
	bubble(t, moment{api: fakeapi.New(controllers.MachineAPI...)}, func(t *testing.T, api *fakeapi.Server) {
		pool(api)
		time.Sleep(calm)
		editSets(api, "ms", func(u *unstructured.Unstructured) {
			list := []any{map[string]any{"key": "team", "value": "a", "effect": "NoSchedule"}}
			if err := unstructured.SetNestedSlice(u.Object, list, "spec", "template", "spec", "taints"); err != nil {
				t.Fatal(err)
			}
			u.SetAnnotations(map[string]string{ownedTaints: taints.Record{{Key: "team", Effect: "NoSchedule", Owner: "somebody", Generation: "g"}}.String()})
		})
		tf := through(api.Client())
		i, d := tf.Import(t, "kubetaint_machine_set_taints", "machines/ms/team:NoSchedule")
		if d.Errors() != "" {
			t.Fatal(d.Errors())
		}
		if id, want := tf.Attributes(t, i)["id"], "terraform/machine_set_taints/machines/ms/team:NoSchedule"; id != want {
			t.Errorf("the id is %q, want %q", id, want)
		}
	})
}
