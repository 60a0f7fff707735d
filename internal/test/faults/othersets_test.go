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
	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/fakeapi/controllers"
)

// otherSet adds a MachineSet whose Machines have a taint of another owner, and its template has not.
func otherSet(t *testing.T, api *fakeapi.Server) {
	t.Helper()
	labels := map[string]any{"machine.openshift.io/cluster-api-machineset": "other"}
	api.Add(&unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "machine.openshift.io/v1beta1", "kind": "MachineSet",
		"metadata": map[string]any{"namespace": "machines", "name": "other", "annotations": map[string]any{"foreign": "kept"}},
		"spec": map[string]any{"replicas": int64(2), "selector": map[string]any{"matchLabels": labels}, "template": map[string]any{
			"metadata": map[string]any{"labels": labels}, "spec": map[string]any{"providerSpec": map[string]any{"value": map[string]any{"kind": "Invented"}}},
		}},
	}})
	time.Sleep(calm)
	for _, m := range api.Custom(machinev1beta1.GroupVersion.WithResource("machines")) {
		if strings.HasPrefix(m.GetName(), "other") {
			if err := unstructured.SetNestedSlice(m.Object, []any{map[string]any{"key": "team", "value": "theirs", "effect": "NoSchedule"}}, "spec", "taints"); err != nil {
				t.Fatal(err)
			}
			api.Put(m)
		}
	}
	time.Sleep(calm)
}

// ofOther returns the Machines of the other MachineSet with their taints.
func ofOther(api *fakeapi.Server) []string {
	var out []string
	for _, m := range api.Custom(machinev1beta1.GroupVersion.WithResource("machines")) {
		if strings.HasPrefix(m.GetName(), "other") {
			taints, _, _ := unstructured.NestedSlice(m.Object, "spec", "taints")
			out = append(out, fmt.Sprint(m.GetName(), taints))
		}
	}
	slices.Sort(out)
	return out
}

// editSets changes the MachineSets of a name, "" for all.
func editSets(api *fakeapi.Server, name string, change func(u *unstructured.Unstructured)) {
	for _, set := range api.Custom(machinev1beta1.GroupVersion.WithResource("machinesets")) {
		if name == "" || set.GetName() == name {
			changed := set.DeepCopy()
			change(changed)
			api.Put(changed)
		}
	}
	time.Sleep(calm)
}

// TestOtherSets_machinesStayAsTheyAre has a MachineSet beside the one of the resource: another writer forges a
// marker of a rollout on it, by the id alone; or it joins the selector in the apply of a change.
func TestOtherSets_machinesStayAsTheyAre(t *testing.T) {
	t.Parallel()
	acctest.TooLong(t)
	for _, strategy := range []string{"in_place", "rolling", "surge", "scale_to_zero"} {
		for _, how := range []string{"forged", "forged after an import", "forged after a loss", "joins"} {
			for _, destroys := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s %s destroy=%t", strategy, how, destroys), func(t *testing.T) {
					t.Parallel()
					if how == "joins" && strategy != "in_place" {
						t.Skip("its machines are replaced")
					}
					bubble(t, moment{api: fakeapi.New(controllers.MachineAPI...)}, func(t *testing.T, api *fakeapi.Server) {
						pool(api)
						otherSet(t, api)
						before := ofOther(api)
						conf := func(key string) object {
							out := object{"namespace": "machines", "name": "ms", "rollout": rollouts[strategy], "taints": []any{taint(key, "a", "NoSchedule")}}
							if how == "joins" {
								delete(out, "name")
								out["selector"] = "p=x"
							}
							return out
						}
						editSets(api, "ms", func(u *unstructured.Unstructured) { u.SetLabels(map[string]string{"p": "x"}) })
						tf, i := through(api.Client()), &acctest.Instance{Type: "kubetaint_machine_set_taints"}
						apply := func(config map[string]any) { t.Helper(); mustApply(t, tf, i, config) }
						apply(conf("team"))
						id := tf.Attributes(t, i)["id"]
						switch how {
						case "forged after an import":
							var d acctest.Diagnostics
							if i, d = tf.Import(t, i.Type, "machines/ms/team:NoSchedule"); d.Errors() != "" {
								t.Fatal(d.Errors())
							}
						case "forged after a loss":
							i.Private = nil
							apply(conf("team"))
						}
						if editSets(api, "other", func(u *unstructured.Unstructured) { u.SetLabels(map[string]string{"p": "x"}) }); how != "joins" {
							marker := fmt.Sprintf(`{"id":%q,"strategy":%q,"originalReplicas":2,"targetTaints":[],"retired":["team:NoSchedule"],"startedAt":"2026-01-01T00:00:00Z"}`, id, strategy)
							editSets(api, "other", func(u *unstructured.Unstructured) {
								u.SetAnnotations(map[string]string{"kubetaint.io/rollout": marker})
							})
						}
						config := conf("spot")
						if destroys {
							config = nil
						}
						apply(config)
						for at, m := range ofOther(api) {
							if how != "joins" && m != before[at] || !strings.Contains(m, "value:theirs") {
								t.Errorf("%s is %s now", before[at], m)
							}
						}
					})
				})
			}
		}
	}
}

// TestRecovered_goesOnWithAnInterruptedRollout has the first write of an update carried out, and its private
// state lost or the MachineSet imported after that: what left the template leaves the machines.
func TestRecovered_goesOnWithAnInterruptedRollout(t *testing.T) {
	t.Parallel()
	for _, typeName := range []string{"machine_set_taints", "dedicated_nodes"} {
		for _, imports := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s imported=%t", typeName, imports), func(t *testing.T) {
				t.Parallel()
				bubble(t, moment{api: fakeapi.New(controllers.MachineAPI...)}, func(t *testing.T, api *fakeapi.Server) {
					pool(api)
					time.Sleep(calm)
					conf := func(key string) map[string]any {
						where := object{"namespace": "machines", "name": "ms", "rollout": rollouts["in_place"]}
						if typeName == "machine_set_taints" {
							return acctest.With(where, object{"taints": []any{taint(key, "a", "NoSchedule")}})
						}
						return object{"machine_sets": where, "taints": []any{taint(key, "a", "NoSchedule")}}
					}
					tf, i := through(api.Client()), &acctest.Instance{Type: "kubetaint_" + typeName}
					if d := tf.Apply(t, i, conf("team")); d.Errors() != "" {
						t.Fatal(d.Errors())
					}
					time.Sleep(calm)
					client := api.Client()
					client.OnAnswer(func(q fakeapi.Request, _ int) {
						if q.Write() {
							client.Kill()
						}
					})
					killed := *i
					through(client).Carry(t, &killed, tf.Plan(t, i, conf("spot")), conf("spot"))
					time.Sleep(calm)
					if i.Private = nil; imports {
						id := map[string]string{"machine_set_taints": "machines/ms/spot:NoSchedule", "dedicated_nodes": "machine_sets/machines/ms/spot:NoSchedule"}[typeName]
						var d acctest.Diagnostics
						if i, d = tf.Import(t, i.Type, id); d.Errors() != "" {
							t.Fatal(d.Errors())
						}
					}
					if d := tf.Apply(t, i, conf("spot")); d.Errors() != "" {
						t.Fatal(d.Errors())
					}
					time.Sleep(calm)
					for _, m := range api.Custom(machinev1beta1.GroupVersion.WithResource("machines")) {
						if taints, _, _ := unstructured.NestedSlice(m.Object, "spec", "taints"); strings.Contains(fmt.Sprint(taints), "key:team") || !strings.Contains(fmt.Sprint(taints), "key:spot") {
							t.Errorf("machine %s has %v", m.GetName(), taints)
						}
					}
				})
			})
		}
	}
}

// TestRecovered_whatJoinsLaterIsOfOthers has a node join the selector with another owner's taint of the same
// identity, after an import or a loss: it is a conflict, as any other.
func TestRecovered_whatJoinsLaterIsOfOthers(t *testing.T) {
	t.Parallel()
	for _, typeName := range []string{"node_taints", "dedicated_nodes"} {
		for _, how := range []string{"nothing", "lost", "imported", "imported without a mark"} {
			t.Run(typeName+" "+how, func(t *testing.T) {
				t.Parallel()
				bubble(t, moment{api: fakeapi.New()}, func(t *testing.T, api *fakeapi.Server) {
					threeOfEach(api)
					time.Sleep(calm)
					conf := object{"node_selector": "pool=x", "taints": []any{taint("team", "b", "PreferNoSchedule")}}
					tf, i := through(api.Client()), &acctest.Instance{Type: "kubetaint_" + typeName}
					if d := tf.Apply(t, i, conf); d.Errors() != "" {
						t.Fatal(d.Errors())
					}
					switch how {
					case "lost":
						i.Private = nil
					case "imported without a mark":
						for _, name := range []string{"n1", "n2"} {
							fakeapi.Edit(api, "", name, func(n *corev1.Node) { delete(n.Annotations, ownedTaints) })
						}
						time.Sleep(calm)
						fallthrough
					case "imported":
						var d acctest.Diagnostics
						if i, d = tf.Import(t, i.Type, "selector/pool=x/team:PreferNoSchedule"); d.Errors() != "" {
							t.Fatal(d.Errors())
						}
					}
					if d := tf.Apply(t, i, conf); d.Errors() != "" {
						t.Fatal(d.Errors())
					}
					fakeapi.Edit(api, "", "n3", func(n *corev1.Node) { n.Labels["pool"] = "x" })
					time.Sleep(calm)
					acctest.WantAll(t, tf.Apply(t, i, conf).Errors(), `Unable to claim taint "team:PreferNoSchedule" on node "n3"`)
				})
			})
		}
	}
}

// TestRecovered_ofEarlierBuilds has states without a nonce, and states that believe everything: they
// believe what is there at the next look, and are of the same cluster.
func TestRecovered_ofEarlierBuilds(t *testing.T) {
	t.Parallel()
	for how, change := range map[string]func(t *testing.T, i *acctest.Instance){
		"no nonce": func(t *testing.T, i *acctest.Instance) {
			for _, field := range []string{"nonce", "lists", "held", "epoch"} {
				i.Private = acctest.ReplacePrivate(t, i.Private, `"`+field+`":`, `"dropped `+field+`":`)
			}
		},
		"recovered": func(t *testing.T, i *acctest.Instance) {
			i.Private = acctest.ReplacePrivate(t, i.Private, `"cluster":`, `"recovered":true,"cluster":`)
		},
	} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			bubble(t, moment{api: fakeapi.New()}, func(t *testing.T, api *fakeapi.Server) {
				threeOfEach(api)
				time.Sleep(calm)
				conf := func(key string) map[string]any {
					return object{"node_selector": "pool=x", "taints": []any{taint(key, "a", "PreferNoSchedule")}}
				}
				tf, i := through(api.Client()), &acctest.Instance{Type: "kubetaint_node_taints"}
				apply := func(config map[string]any) { t.Helper(); mustApply(t, tf, i, config) }
				apply(conf("team"))
				apply(conf("team"))
				change(t, i)
				elsewhere := *i
				elsewhere.Private = acctest.ReplacePrivate(t, i.Private, `"cluster":"`, `"cluster":"other-`)
				if d := tf.Apply(t, &elsewhere, nil); d.Errors() == "" {
					t.Error("it is destroyed on another cluster")
				}
				apply(conf("more"))
				fakeapi.Edit(api, "", "n1", func(n *corev1.Node) {
					n.Spec.Taints = append(n.Spec.Taints, corev1.Taint{Key: "quarantine", Value: "theirs", Effect: "NoExecute"})
					n.Annotations[ownedTaints] = beside(n.Annotations[ownedTaints], `"key":"more"`, `"key":"quarantine"`, `"PreferNoSchedule"`, `"NoExecute"`)
				})
				apply(conf("spot"))
				if taints := fakeapi.Objects[*corev1.Node](api)[0].Spec.Taints; len(taints) != 3 || !strings.Contains(fmt.Sprint(taints), "quarantine") || !strings.Contains(fmt.Sprint(taints), "spot") {
					t.Errorf("there is %v", taints)
				}
			})
		})
	}
}

// TestRecovered_anImportedNamespaceGivesUpWhatItHas: what leaves its configuration goes.
func TestRecovered_anImportedNamespaceGivesUpWhatItHas(t *testing.T) {
	t.Parallel()
	lists := func(key string) object {
		return object{"namespace": "shop", "default": []any{toleration(key, "a")}, "allowed": []any{toleration(key, "a")}}
	}
	for name, config := range map[string]map[string]any{"a change": lists("spot"), "a destroy": nil, "a destroy of what had no marks": nil} {
		for _, between := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s between=%t", name, between), func(t *testing.T) {
				t.Parallel()
				bubble(t, moment{api: fakeapi.New()}, func(t *testing.T, api *fakeapi.Server) {
					shop("Deployment")(api)
					time.Sleep(calm)
					tf, i := through(api.Client()), &acctest.Instance{Type: "kubetaint_namespace_tolerations"}
					apply := func(config map[string]any) { t.Helper(); mustApply(t, tf, i, config) }
					apply(lists("team"))
					if strings.HasSuffix(name, "no marks") {
						fakeapi.Edit(api, "", "shop", func(n *corev1.Namespace) { delete(n.Annotations, "kubetaint.io/owned-tolerations") })
						time.Sleep(calm)
					}
					var d acctest.Diagnostics
					if i, d = tf.ImportAgain(t, i); d.Errors() != "" {
						t.Fatal(d.Errors())
					}
					if between {
						apply(lists("team"))
					}
					apply(config)
					if left := entriesIn(api, "team"); len(left) > 0 {
						t.Errorf("%v are left, with %v", left, ownedIn(api))
					}
				})
			})
		}
	}
}
