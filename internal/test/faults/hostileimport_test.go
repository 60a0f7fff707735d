// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package faults_test

import (
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
	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/fakeapi"
)

// TestHostileImports has a resource imported by the marks that an earlier state has left on two
// objects, one of which leaves the selector then. Another writer copies the marks to a third one, that
// was never selected, beside entries of its own: they stay there, and what has left is given up.
func TestHostileImports(t *testing.T) {
	t.Parallel()
	for name, s := range map[string]struct {
		typeName    string
		first, last map[string]any
	}{
		"node_taints": {
			"node_taints", object{"node_selector": "pool=x", "taints": []any{taint("team", "a", "PreferNoSchedule")}},
			object{"node_selector": "pool=x", "taints": []any{taint("spot", "a", "PreferNoSchedule")}},
		},
		"dedicated_nodes": {
			"dedicated_nodes", object{"node_selector": "pool=x", "taints": []any{taint("team", "a", "PreferNoSchedule")}, "labels": object{"team": "a"}},
			object{"node_selector": "pool=x", "taints": []any{taint("spot", "a", "PreferNoSchedule")}, "labels": object{"spot": "a"}},
		},
		"dedicated_nodes, by the marks of another resource": {
			"node_taints", object{"node_selector": "pool=x", "taints": []any{taint("team", "a", "PreferNoSchedule")}},
			object{"node_selector": "pool=x", "taints": []any{taint("spot", "a", "PreferNoSchedule")}},
		},
		"workload_tolerations": {
			"workload_tolerations", tolerating(object{"kind": "Deployment", "namespace": "shop", "selector": "pool=x"}, "team"),
			tolerating(object{"kind": "Deployment", "namespace": "shop", "selector": "pool=x"}, "spot"),
		},
	} {
		for _, later := range []bool{false, true} {
			for _, destroys := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s destroy=%t later=%t", name, destroys, later), func(t *testing.T) {
					t.Parallel()
					bubble(t, moment{api: fakeapi.New()}, func(t *testing.T, api *fakeapi.Server) {
						threeOfEach(api)
						time.Sleep(calm)
						tf := through(api.Client())
						lost := acctest.Instance{Type: "kubetaint_" + s.typeName}
						if d := tf.Apply(t, &lost, s.first); d.Errors() != "" {
							t.Fatal(d.Errors())
						}
						var i *acctest.Instance
						var d acctest.Diagnostics
						if s.typeName == "workload_tolerations" {
							i, d = tf.ImportAgain(t, &lost)
						} else {
							typeName, _, _ := strings.Cut(name, ",")
							i, d = tf.Import(t, "kubetaint_"+typeName, "selector/pool=x/team:PreferNoSchedule")
						}
						if d.Errors() != "" {
							t.Fatal(d.Errors())
						}
						copyMarks(api)
						if later {
							// There is something to apply, and nothing to write.
							if d := tf.Apply(t, i, acctest.With(s.first, object{"timeouts": object{"update": "5m"}})); d.Errors() != "" {
								t.Fatal(d.Errors())
							}
						}
						fakeapi.Edit(api, "", "n2", func(n *corev1.Node) { n.Labels["pool"] = "y" })
						fakeapi.Edit(api, "shop", "n2", func(d *appsv1.Deployment) { d.Labels["pool"] = "y" })
						time.Sleep(calm)
						config := s.last
						if destroys {
							config = nil
						}
						if d := tf.Apply(t, i, config); d.Errors() != "" {
							t.Fatal(d.Errors())
						}
						time.Sleep(calm)
						want := []string{"label n3", "taint n3", "toleration n3"}
						if got := withTeam(api); !slices.Equal(got, want) {
							t.Errorf("there is %v, want %v", got, want)
						}
					})
				})
			}
		}
	}
}

// threeOfEach has two nodes and two Deployments of a pool, and one of each with entries of
// another writer.
func threeOfEach(api *fakeapi.Server) {
	api.Add(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop"}})
	for _, name := range []string{"n1", "n2", "n3"} {
		n := node(name, map[string]string{"pool": "x"}, foreign)
		d, _ := workload("Deployment", corev1.Toleration{Key: "foreign", Operator: corev1.TolerationOpExists}).(*appsv1.Deployment)
		d.Name, d.Labels = name, map[string]string{"pool": "x"}
		d.Spec.Selector.MatchLabels, d.Spec.Template.Labels = map[string]string{"app": name}, map[string]string{"app": name}
		if name == "n3" {
			n.Labels, d.Labels = map[string]string{"team": "a"}, nil
			n.Spec.Taints = append(n.Spec.Taints, corev1.Taint{Key: "team", Value: "a", Effect: corev1.TaintEffectPreferNoSchedule})
			d.Spec.Template.Spec.Tolerations = append(d.Spec.Template.Spec.Tolerations, corev1.Toleration{Key: "team", Operator: corev1.TolerationOpEqual, Value: "a"})
		}
		api.Add(n, d)
	}
}

// copyMarks copies the records of the first objects to the third ones.
func copyMarks(api *fakeapi.Server) {
	copied := func(from, to metav1.Object) {
		annotations := to.GetAnnotations()
		if annotations == nil {
			annotations = map[string]string{}
		}
		for name, value := range maps.All(from.GetAnnotations()) {
			if strings.HasPrefix(name, "kubetaint.io/owned-") {
				annotations[name] = value
			}
		}
		to.SetAnnotations(annotations)
	}
	nodes, workloads := fakeapi.Objects[*corev1.Node](api), fakeapi.Objects[*appsv1.Deployment](api)
	fakeapi.Edit(api, "", "n3", func(n *corev1.Node) { copied(nodes[0], n) })
	fakeapi.Edit(api, "shop", "n3", func(d *appsv1.Deployment) { copied(workloads[0], d) })
}

// withTeam returns what has the key team, and where.
func withTeam(api *fakeapi.Server) []string {
	var out []string
	for _, n := range fakeapi.Objects[*corev1.Node](api) {
		if slices.ContainsFunc(n.Spec.Taints, func(t corev1.Taint) bool { return t.Key == "team" }) {
			out = append(out, "taint "+n.Name)
		}
		if _, has := n.Labels["team"]; has {
			out = append(out, "label "+n.Name)
		}
	}
	for _, d := range fakeapi.Objects[*appsv1.Deployment](api) {
		if slices.ContainsFunc(d.Spec.Template.Spec.Tolerations, func(t corev1.Toleration) bool { return t.Key == "team" }) {
			out = append(out, "toleration "+d.Name)
		}
	}
	slices.Sort(out)
	return out
}
