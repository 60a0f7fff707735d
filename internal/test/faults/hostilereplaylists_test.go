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

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/admission"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/fakeapi"
	tols "github.com/kubetaint/terraform-provider-kubetaint/internal/toleration"
)

// replay is a resource that gives entries of a list up, in one apply or several.
type replay struct {
	typeName string
	first    map[string]any
	// between are the applies by which it gives them up, the last of which stays.
	between []map[string]any
	// before is called before each of these.
	before func(api *fakeapi.Server, n int)
	// last has something else to do, and so has other, without the entries.
	last, other map[string]any
}

// TestHostileMarksWrittenBack_onLists has another writer write back the marks that a resource once had
// on a workload or on a namespace, with the entries. The resource has given them up, so that they
// stay.
func TestHostileMarksWrittenBack_onLists(t *testing.T) {
	t.Parallel()
	acctest.TooLong(t)
	for name, s := range replays() {
		for _, destroys := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s destroy=%t", name, destroys), func(t *testing.T) {
				t.Parallel()
				bubble(t, moment{api: fakeapi.New()}, func(t *testing.T, api *fakeapi.Server) {
					shop("Deployment")(api)
					time.Sleep(calm)
					i := acctest.Instance{Type: "kubetaint_" + s.typeName}
					apply := func(config map[string]any) {
						t.Helper()
						if d := through(api.Client()).Apply(t, &i, config); d.Errors() != "" {
							t.Fatal(d.Errors())
						}
						time.Sleep(calm)
					}
					apply(s.first)
					before, written := entriesIn(api, "team"), ownedIn(api)
					if len(written) == 0 || len(before) == 0 {
						t.Fatal("there are no marks")
					}
					for n, config := range s.between {
						if s.before != nil {
							s.before(api, n)
						}
						apply(config)
					}
					if still := entriesIn(api, "team"); len(still) > 0 {
						t.Fatalf("%v are not given up", still)
					}
					writeListsBack(api, s.typeName == "namespace_tolerations", before, written)
					time.Sleep(calm)
					if destroys {
						apply(nil)
					} else {
						apply(s.last)
					}
					if after := entriesIn(api, "team"); !slices.Equal(after, before) {
						t.Errorf("there is %v, want %v", after, before)
					}
				})
			})
		}
	}
}

func replays() map[string]replay {
	web, selected := object{"kind": "Deployment", "namespace": "shop", "name": "web"}, object{"kind": "Deployment", "namespace": "shop", "selector": "app=web"}
	app := func(names ...string) func(api *fakeapi.Server, n int) {
		return func(api *fakeapi.Server, n int) {
			fakeapi.Edit(api, "shop", "web", func(d *appsv1.Deployment) { d.Labels["app"] = names[n] })
		}
	}
	dedicating := func(key string, named bool) object {
		out := object{"node_selector": "pool=x", "taints": []any{taint(key, "a", "PreferNoSchedule")}, "labels": object{key: "a"}}
		if named {
			out["workloads"] = []any{acctest.With(web, object{"pin": true})}
		}
		return out
	}
	lists := func(key string) object {
		return object{"namespace": "shop", "default": []any{toleration(key, "a")}, "allowed": []any{toleration(key, "a")}}
	}
	return map[string]replay{
		"workload_tolerations, the configuration names others": {
			typeName: "workload_tolerations", first: tolerating(web, "team"), between: []map[string]any{tolerating(web, "spot")}, last: tolerating(web, "more"), other: tolerating(web, "more"),
		},
		"workload_tolerations, the workload is not selected any more": {
			typeName: "workload_tolerations", first: tolerating(selected, "team"), between: []map[string]any{tolerating(selected, "team")}, before: app("none"), last: tolerating(selected, "team", "more"), other: tolerating(selected, "more"),
		},
		"workload_tolerations, the workload has left, come back and left again": {
			typeName: "workload_tolerations", first: tolerating(selected, "team"), before: app("none", "web", "none"), last: tolerating(selected, "team", "more"), other: tolerating(selected, "more"),
			between: []map[string]any{tolerating(selected, "team"), tolerating(selected, "team"), tolerating(selected, "team")},
		},
		"dedicated_nodes, the configuration names others": {
			typeName: "dedicated_nodes", first: dedicating("team", true), between: []map[string]any{dedicating("spot", true)}, last: dedicating("more", true), other: dedicating("more", true),
		},
		"dedicated_nodes, the workload is not named any more": {
			typeName: "dedicated_nodes", first: dedicating("team", true), between: []map[string]any{dedicating("team", false)}, last: dedicating("more", false), other: dedicating("more", true),
		},
		"namespace_tolerations": {
			typeName: "namespace_tolerations", first: lists("team"), between: []map[string]any{lists("spot")}, last: lists("more"), other: lists("more"),
		},
	}
}

// TestHostileMarksWrittenBack_whatRetired has a toleration retire and go with the taint of another
// resource, and another writer write it back with the mark of that time. Neither its own resource nor
// that of the taint, which believes the other one's marks, takes it away.
func TestHostileMarksWrittenBack_whatRetired(t *testing.T) {
	t.Parallel()
	acctest.TooLong(t)
	web := object{"kind": "Deployment", "namespace": "shop", "name": "web"}
	tainting := func(key string) object {
		return object{"node_name": "n3", "taints": []any{taint(key, "a", "NoSchedule")}}
	}
	for typeName, giving := range map[string]func(keys ...string) object{
		"workload_tolerations": func(keys ...string) object { return tolerating(web, keys...) },
		"dedicated_nodes": func(keys ...string) object {
			var all []any
			for _, key := range keys {
				all = append(all, taint(key, "a", "NoSchedule"))
			}
			return object{"node_selector": "pool=x", "taints": all, "workloads": []any{web}}
		},
	} {
		for name, then := range map[string]func(apply func(first bool, config map[string]any)){
			"its own resource changes":      func(apply func(bool, map[string]any)) { apply(true, giving("rest", "more")) },
			"its own resource is destroyed": func(apply func(bool, map[string]any)) { apply(true, nil) },
			"that of the taint has it again and removes it": func(apply func(bool, map[string]any)) {
				apply(false, tainting("team"))
				apply(false, tainting("rest"))
			},
			"that of the taint has it again and is destroyed": func(apply func(bool, map[string]any)) {
				apply(false, tainting("team"))
				apply(false, nil)
			},
		} {
			t.Run(typeName+" "+name, func(t *testing.T) {
				t.Parallel()
				bubble(t, moment{api: fakeapi.New()}, func(t *testing.T, api *fakeapi.Server) {
					shop("Deployment")(api)
					// Its pods live with the taint of the node beside the pool.
					fakeapi.Edit(api, "", "n3", func(n *corev1.Node) { n.Labels = map[string]string{"beside": "yes"} })
					fakeapi.Edit(api, "shop", "web", func(d *appsv1.Deployment) {
						d.Spec.Template.Spec.NodeSelector = map[string]string{"beside": "yes"}
					})
					time.Sleep(calm)
					p, client := pair{acctest.Instance{Type: "kubetaint_" + typeName}, acctest.Instance{Type: "kubetaint_node_taints"}}, api.Client()
					apply := func(first bool, config map[string]any) {
						t.Helper()
						if d := through(client).Apply(t, p.at(first), config); d.Errors() != "" {
							t.Fatal(d.Errors())
						}
						time.Sleep(calm)
					}
					apply(true, giving("team", "rest"))
					apply(false, tainting("team"))
					to := change{giving("rest"), tainting("rest")}
					plans(t, through(client), &p, to, true)
					apply(true, to.tolerations)
					retiring, before := ownedIn(api), entriesIn(api, "team")
					if !strings.Contains(retiring[tols.OwnedAnnotation], "retiring") || len(before) != 1 {
						t.Fatalf("there is %v, by %v", before, retiring)
					}
					apply(false, to.taints)
					if still := entriesIn(api, "team"); len(still) > 0 {
						t.Fatalf("%v are not given up", still)
					}
					// The next run of both finds it gone.
					plans(t, through(client), &p, to, true)
					writeListsBack(api, false, before, retiring)
					time.Sleep(calm)
					then(apply)
					if after := entriesIn(api, "team"); !slices.Equal(after, before) {
						t.Errorf("there is %v, want %v", after, before)
					}
				})
			})
		}
	}
}

// tolerating gives a workload tolerations of these keys.
func tolerating(workload object, keys ...string) object {
	var all []any
	for _, key := range keys {
		all = append(all, toleration(key, "a"))
	}
	return object{"workload": workload, "tolerations": all}
}

// ownedIn returns the records of the workload and of the namespace.
func ownedIn(api *fakeapi.Server) map[string]string {
	out := map[string]string{}
	keep := func(o metav1.Object) {
		for name, value := range o.GetAnnotations() {
			if strings.HasPrefix(name, "kubetaint.io/owned-") {
				out[name] = value
			}
		}
	}
	for _, d := range fakeapi.Objects[*appsv1.Deployment](api) {
		keep(d)
	}
	for _, n := range fakeapi.Objects[*corev1.Namespace](api) {
		keep(n)
	}
	return out
}

// entriesIn returns what the lists of the workload and of the namespace have of a key.
func entriesIn(api *fakeapi.Server, key string) []string {
	var out []string
	for _, d := range fakeapi.Objects[*appsv1.Deployment](api) {
		for _, one := range d.Spec.Template.Spec.Tolerations {
			if one.Key == key {
				out = append(out, "toleration "+key)
			}
		}
		if _, pinned := d.Spec.Template.Spec.NodeSelector[key]; pinned {
			out = append(out, "pin "+key)
		}
	}
	for _, n := range fakeapi.Objects[*corev1.Namespace](api) {
		lists := admission.ObserveLists(n.Annotations)
		for what, list := range map[string][]corev1.Toleration{"default": lists.Default, "allowed": lists.Allowed} {
			for _, one := range list {
				if one.Key == key {
					out = append(out, what+" "+key)
				}
			}
		}
	}
	slices.Sort(out)
	return out
}

// writeListsBack puts entries there again, and records beside those that are there now. All nodes
// allow pods that are pinned by the entries.
func writeListsBack(api *fakeapi.Server, inNamespace bool, entries []string, records map[string]string) {
	marks, err := tols.ParseRecord(records[tols.OwnedAnnotation])
	if err != nil {
		panic(err)
	}
	theirs := marks[slices.IndexFunc(marks, func(m tols.Mark) bool { return m.Key == "team" })].Toleration()
	annotate := func(annotations map[string]string) map[string]string {
		if annotations == nil {
			annotations = map[string]string{}
		}
		for name, value := range maps.All(records) {
			if now := annotations[name]; now != "" {
				value = strings.TrimSuffix(value, "]") + "," + strings.TrimPrefix(now, "[")
			}
			annotations[name] = value
		}
		return annotations
	}
	if inNamespace {
		fakeapi.Edit(api, "", "shop", func(n *corev1.Namespace) {
			n.Annotations = annotate(n.Annotations)
			lists := admission.ObserveLists(n.Annotations)
			for name, list := range map[string][]corev1.Toleration{admission.DefaultsAnnotation: lists.Default, admission.WhitelistAnnotation: lists.Allowed} {
				raw, err := json.Marshal(append(list, theirs))
				if err != nil {
					panic(err)
				}
				n.Annotations[name] = string(raw)
			}
		})
		return
	}
	for _, n := range fakeapi.Objects[*corev1.Node](api) {
		fakeapi.Edit(api, "", n.Name, func(n *corev1.Node) {
			if n.Labels == nil {
				n.Labels = map[string]string{}
			}
			n.Labels["team"] = "a"
		})
	}
	fakeapi.Edit(api, "shop", "web", func(d *appsv1.Deployment) {
		d.Annotations = annotate(d.Annotations)
		d.Spec.Template.Spec.Tolerations = append(d.Spec.Template.Spec.Tolerations, theirs)
		if slices.Contains(entries, "pin team") {
			if d.Spec.Template.Spec.NodeSelector == nil {
				d.Spec.Template.Spec.NodeSelector = map[string]string{}
			}
			d.Spec.Template.Spec.NodeSelector["team"] = "a"
		}
	})
}
