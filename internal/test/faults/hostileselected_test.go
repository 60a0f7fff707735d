// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package faults_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/fakeapi"
)

const (
	ownedTaints = "kubetaint.io/owned-taints"
	ownedLabels = "kubetaint.io/owned-labels"
)

// beside adds a mark to a record: the one of the key team, with something replaced.
func beside(record string, replaced ...string) string {
	forged := strings.NewReplacer(replaced...).Replace(record)
	return strings.TrimSuffix(record, "]") + "," + strings.TrimPrefix(forged, "[")
}

// TestHostileMarks_withoutProofs has a resource imported, or its private state lost. After that,
// another writer copies the marks of a selected node, for entries of their own: these stay, whether or not an
// apply had something to write before, and whatever the next one does.
func TestHostileMarks_withoutProofs(t *testing.T) {
	t.Parallel()
	for _, typeName := range []string{"node_taints", "dedicated_nodes"} {
		conf := func(key string) map[string]any {
			out := object{"node_selector": "pool=x", "taints": []any{taint(key, "a", "PreferNoSchedule")}}
			if typeName == "dedicated_nodes" {
				out["labels"] = object{key: "a"}
			}
			return out
		}
		for _, imports := range []bool{true, false} {
			for next, config := range map[string]map[string]any{"nothing": conf("team"), "a change": conf("spot"), "a destroy": nil} {
				t.Run(fmt.Sprintf("%s imported=%t next=%s", typeName, imports, next), func(t *testing.T) {
					t.Parallel()
					bubble(t, moment{api: fakeapi.New()}, func(t *testing.T, api *fakeapi.Server) {
						threeOfEach(api)
						time.Sleep(calm)
						tf, i := through(api.Client()), &acctest.Instance{Type: "kubetaint_" + typeName}
						apply := func(config map[string]any) { t.Helper(); mustApply(t, tf, i, config) }
						apply(conf("team"))
						i.Private = nil
						if imports {
							var d acctest.Diagnostics
							if i, d = tf.Import(t, i.Type, "selector/pool=x/team:PreferNoSchedule"); d.Errors() != "" {
								t.Fatal(d.Errors())
							}
						}
						// It has nothing to write.
						apply(conf("team"))
						fakeapi.Edit(api, "", "n1", func(n *corev1.Node) {
							n.Spec.Taints = append(n.Spec.Taints, corev1.Taint{Key: "quarantine", Value: "theirs", Effect: "NoExecute"})
							n.Labels["theirs"] = "a"
							n.Annotations[ownedTaints] = beside(n.Annotations[ownedTaints], `"key":"team"`, `"key":"quarantine"`, `"PreferNoSchedule"`, `"NoExecute"`)
							n.Annotations[ownedTaints] = beside(n.Annotations[ownedTaints], `"key":"team"`, `"key":"invented","previous":"evil","absent":true`)
							if labels := n.Annotations[ownedLabels]; labels != "" {
								n.Annotations[ownedLabels] = beside(labels, `"key":"team"`, `"key":"theirs"`)
							}
						})
						time.Sleep(calm)
						apply(config)
						n := fakeapi.Objects[*corev1.Node](api)[0]
						keys := make([]string, len(n.Spec.Taints))
						for at, one := range n.Spec.Taints {
							keys[at] = one.Key
						}
						want := map[string][]string{"nothing": {"foreign", "quarantine", "team"}, "a change": {"foreign", "quarantine", "spot"}, "a destroy": {"foreign", "quarantine"}}[next]
						if slices.Sort(keys); !slices.Equal(keys, want) || n.Labels["theirs"] != "a" {
							t.Errorf("there are the taints %v and the labels %v", keys, n.Labels)
						}
					})
				})
			}
		}
	}
}

// TestHostileMarks_ofAnImportedMachineSet does the same to a MachineSet: nothing is removed from its
// Machines, and a destroy restores no value.
func TestHostileMarks_ofAnImportedMachineSet(t *testing.T) {
	t.Parallel()
	for _, s := range hostileSubjects() {
		if s.strategy != "in_place" && s.strategy != "machine_sets in_place" {
			continue
		}
		for name, config := range map[string]map[string]any{"a change": s.second, "a destroy": nil} {
			t.Run(s.typeName+" "+name, func(t *testing.T) {
				t.Parallel()
				bubble(t, moment{api: fakeapi.New(s.kinds...)}, func(t *testing.T, api *fakeapi.Server) {
					s.world(api)
					time.Sleep(calm)
					tf, i := through(api.Client()), &acctest.Instance{Type: "kubetaint_" + s.typeName}
					if d := tf.Apply(t, i, s.first); d.Errors() != "" {
						t.Fatal(d.Errors())
					}
					time.Sleep(calm)
					i, d := tf.ImportAgain(t, i)
					if d.Errors() != "" {
						t.Fatal(d.Errors())
					}
					set := api.Custom(machinev1beta1.GroupVersion.WithResource("machinesets"))[0].DeepCopy()
					annotations := set.GetAnnotations()
					forged := strings.Replace(annotations[ownedTaints], `"effect":`, `"previous":"evil","effect":`, 1)
					annotations[ownedTaints] = beside(forged, `"key":"team"`, `"key":"foreign"`)
					set.SetAnnotations(annotations)
					api.Put(set)
					time.Sleep(calm)
					if d := tf.Apply(t, i, config); d.Errors() != "" {
						t.Fatal(d.Errors())
					}
					time.Sleep(calm)
					set = api.Custom(machinev1beta1.GroupVersion.WithResource("machinesets"))[0]
					template, _, _ := unstructured.NestedSlice(set.Object, "spec", "template", "spec", "taints")
					if text := fmt.Sprint(template); !strings.Contains(text, "key:foreign") || strings.Contains(text, "evil") {
						t.Errorf("the template has %s", text)
					}
					machines := api.Custom(machinev1beta1.GroupVersion.WithResource("machines"))
					for _, m := range machines {
						if taints, _, _ := unstructured.NestedSlice(m.Object, "spec", "taints"); !strings.Contains(fmt.Sprint(taints), "key:foreign") {
							t.Errorf("another owner's taint has gone: %v", taints)
						}
					}
					if len(machines) == 0 {
						t.Error("there is no Machine")
					}
				})
			})
		}
	}
}

// TestHostileMarks_ofANodeThatIsMadeAnew recreates a node under its name, outside the pool. Its
// kubelet writes the mark of the one before, beside a taint that another writer has put there.
func TestHostileMarks_ofANodeThatIsMadeAnew(t *testing.T) {
	t.Parallel()
	bubble(t, moment{api: fakeapi.New()}, func(t *testing.T, api *fakeapi.Server) {
		twoNodes(api)
		time.Sleep(calm)
		tf, i := through(api.Client()), &acctest.Instance{Type: "kubetaint_node_taints"}
		apply := func() {
			t.Helper()
			if d := tf.Apply(t, i, object{"node_selector": "pool=x", "taints": []any{taint("team", "a", "PreferNoSchedule")}}); d.Errors() != "" {
				t.Fatal(d.Errors())
			}
		}
		apply()
		old := fakeapi.Objects[*corev1.Node](api)[0].DeepCopy()
		api.Remove(old.DeepCopy())
		anew := node(old.Name, map[string]string{"pool": "y"}, corev1.Taint{Key: "team", Value: "theirs", Effect: "PreferNoSchedule"})
		anew.Annotations[ownedTaints] = old.Annotations[ownedTaints]
		api.Add(anew)
		time.Sleep(calm)
		apply()
		if n := fakeapi.Objects[*corev1.Node](api)[0]; n.UID == old.UID || len(n.Spec.Taints) != 1 {
			t.Errorf("%s, which was %s, has %v", n.UID, old.UID, n.Spec.Taints)
		}
	})
}

// TestRestored_aNodeThatIsBroughtBackIsNamed deletes a node and creates it again with its annotations, as
// "kubectl replace --force" does, and changes the taints after that. The next plan names what stays.
func TestRestored_aNodeThatIsBroughtBackIsNamed(t *testing.T) {
	t.Parallel()
	for typeName, want := range map[string][]string{
		"node_taints":     {"A node has entries with old ownership records of this resource: n1", "node n1: taint team:PreferNoSchedule\n"},
		"dedicated_nodes": {"node n1: taint team:PreferNoSchedule, label team\n"},
	} {
		t.Run(typeName, func(t *testing.T) {
			t.Parallel()
			bubble(t, moment{api: fakeapi.New()}, func(t *testing.T, api *fakeapi.Server) {
				twoNodes(api)
				time.Sleep(calm)
				tf, i := through(api.Client()), &acctest.Instance{Type: "kubetaint_" + typeName}
				apply := func(key string) string {
					t.Helper()
					config := object{"node_selector": "pool=x", "taints": []any{taint(key, "a", "PreferNoSchedule")}}
					if typeName == "dedicated_nodes" {
						config["labels"] = object{key: "a"}
					}
					d := tf.Apply(t, i, config)
					if d.Errors() != "" {
						t.Fatal(d.Errors())
					}
					time.Sleep(calm)
					return d.Warnings()
				}
				if said := apply("team"); strings.Contains(said, "do not count") {
					t.Error(said)
				}
				old := fakeapi.Objects[*corev1.Node](api)[0].DeepCopy()
				api.Remove(old.DeepCopy())
				old.UID, old.ResourceVersion = "", ""
				api.Add(old)
				time.Sleep(calm)
				apply("spot")
				acctest.WantAll(t, apply("spot"), want...)
			})
		})
	}
}
