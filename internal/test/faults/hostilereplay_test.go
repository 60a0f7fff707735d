// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package faults_test

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/fakeapi"
)

// TestHostileMarksWrittenBack has the kubelet of a node write back the marks that a resource had
// there, with their proofs, after the resource has given the entries up and another writer has put
// them there: they stay.
func TestHostileMarksWrittenBack(t *testing.T) {
	t.Parallel()
	acctest.TooLong(t)
	const (
		damagedElsewhere = "the record of another node has been damaged all the time"
		unnamed          = "the configuration does not name them any more"
	)
	for _, s := range hostileSubjects() {
		if s.first["node_selector"] == nil || s.action {
			continue
		}
		for name, giveUp := range map[string]func(t *testing.T, api *fakeapi.Server, apply func(config map[string]any)){
			"the node is not selected any more": func(_ *testing.T, api *fakeapi.Server, apply func(map[string]any)) {
				fakeapi.Edit(api, "", "n1", func(n *corev1.Node) { n.Labels["pool"] = "y" })
				apply(s.second)
			},
			"it has left, come back and left again": func(_ *testing.T, api *fakeapi.Server, apply func(map[string]any)) {
				for _, pool := range []string{"y", "x", "y"} {
					fakeapi.Edit(api, "", "n1", func(n *corev1.Node) { n.Labels["pool"] = pool })
					apply(map[bool]map[string]any{true: s.second, false: s.first}[pool == "y"])
				}
			},
			damagedElsewhere: func(_ *testing.T, api *fakeapi.Server, apply func(map[string]any)) {
				fakeapi.Edit(api, "", "n1", func(n *corev1.Node) { n.Labels["pool"] = "y" })
				apply(s.second)
			},
			unnamed: func(_ *testing.T, _ *fakeapi.Server, apply func(map[string]any)) {
				other := maps.Clone(s.first)
				other["taints"], other["labels"] = []any{taint("spot", "", "PreferNoSchedule")}, object{"spot": "yes"}
				if s.first["labels"] == nil {
					delete(other, "labels")
				}
				apply(other)
			},
		} {
			if name == unnamed && s.strategy == fromMachines {
				// The plan refuses that on a node that is selected.
				continue
			}
			t.Run(s.name()+" "+name, func(t *testing.T) {
				t.Parallel()
				i, given := acctest.Instance{Type: "kubetaint_" + s.typeName}, entriesOf(s.first)
				var writtenBack moment
				bubble(t, moment{api: fakeapi.New(s.kinds...)}, func(t *testing.T, api *fakeapi.Server) {
					s.world(api)
					if name == damagedElsewhere {
						api.Put(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "z", Annotations: map[string]string{"kubetaint.io/owned-taints": "x", "kubetaint.io/owned-labels": "x"}}})
					}
					time.Sleep(calm)
					apply := applying(t, api.Client(), &i)
					apply(s.first)
					written := ownedOn(api, "n1")
					if len(written) == 0 {
						t.Fatal("the node has no marks")
					}
					giveUp(t, api, apply)
					fakeapi.Edit(api, "", "n1", func(n *corev1.Node) {
						for _, one := range given {
							if one.Effect == "" {
								n.Labels[one.Key] = "theirs"
							} else {
								n.Spec.Taints = append(n.Spec.Taints, corev1.Taint{Key: one.Key, Value: "theirs", Effect: one.Effect})
							}
						}
						// Marks that the resource has there by now stay.
						for name, value := range written {
							if now := n.Annotations[name]; now != "" {
								value = strings.TrimSuffix(value, "]") + "," + strings.TrimPrefix(now, "[")
							}
							n.Annotations[name] = value
						}
					})
					writtenBack = moment{api.Clone(), time.Now()}
				})
				other := maps.Clone(s.second)
				other["taints"] = []any{taint("spot", "b", "PreferNoSchedule")}
				if s.first["labels"] != nil {
					other["labels"] = object{"spot": "no"}
				}
				for what, config := range map[string]map[string]any{"update": other, "destroy": nil} {
					t.Run(what, func(t *testing.T) {
						bubble(t, writtenBack, func(t *testing.T, api *fakeapi.Server) {
							i := i
							applying(t, api.Client(), &i)(config)
							node := fakeapi.Objects[*corev1.Node](api)[0]
							for _, one := range given {
								stands := slices.ContainsFunc(node.Spec.Taints, func(t corev1.Taint) bool {
									return t.Key == one.Key && t.Effect == one.Effect && t.Value == "theirs"
								})
								if one.Effect == "" {
									stands = node.Labels[one.Key] == "theirs"
								}
								if !stands {
									t.Errorf("%s=theirs is gone: %s has %v and the labels %v", one.Key, node.Name, node.Spec.Taints, node.Labels)
								}
							}
						})
					})
				}
			})
		}
	}
}

// applying returns a function that applies a configuration to an instance, and waits until the world has
// come to rest.
func applying(t *testing.T, client *fakeapi.Client, i *acctest.Instance) func(config map[string]any) {
	t.Helper()
	return func(config map[string]any) {
		t.Helper()
		if d := through(client).Apply(t, i, config); d.Errors() != "" {
			t.Fatal(d.Errors())
		}
		time.Sleep(calm)
	}
}

// ownedOn returns the records of a node.
func ownedOn(api *fakeapi.Server, node string) map[string]string {
	out := map[string]string{}
	for _, n := range fakeapi.Objects[*corev1.Node](api) {
		for name, value := range n.Annotations {
			if n.Name == node && strings.HasPrefix(name, "kubetaint.io/owned-") {
				out[name] = value
			}
		}
	}
	return out
}

// entriesOf returns what a configuration has on nodes; labels have no effect.
func entriesOf(config map[string]any) []corev1.Taint {
	var out []corev1.Taint
	taints, _ := config["taints"].([]any)
	for _, one := range taints {
		t, _ := one.(object)
		key, _ := t["key"].(string)
		effect, _ := t["effect"].(string)
		out = append(out, corev1.Taint{Key: key, Effect: corev1.TaintEffect(effect)})
	}
	labels, _ := config["labels"].(object)
	for key := range labels {
		out = append(out, corev1.Taint{Key: key})
	}
	return out
}
