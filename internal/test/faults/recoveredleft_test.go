// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package faults_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/fakeapi"
)

// TestRecovered_givesUpWhatHasLeftTheSelector: an object leaves the selector, and then the private
// state is lost. What the resource has left there is found out again, and goes with the next apply.
func TestRecovered_givesUpWhatHasLeftTheSelector(t *testing.T) {
	t.Parallel()
	for typeName, conf := range map[string]func(key string) object{
		"node_taints": func(key string) object {
			return object{"node_selector": "pool=x", "taints": []any{taint(key, "a", "PreferNoSchedule")}}
		},
		"dedicated_nodes": func(key string) object {
			return object{"node_selector": "pool=x", "taints": []any{taint(key, "a", "PreferNoSchedule")}, "labels": object{key: "a"}}
		},
		"workload_tolerations": func(key string) object {
			return tolerating(object{"kind": "Deployment", "namespace": "shop", "selector": "pool=x"}, key)
		},
	} {
		t.Run(typeName, func(t *testing.T) {
			t.Parallel()
			bubble(t, moment{api: fakeapi.New()}, func(t *testing.T, api *fakeapi.Server) {
				threeOfEach(api)
				time.Sleep(calm)
				tf, i := through(api.Client()), &acctest.Instance{Type: "kubetaint_" + typeName}
				apply := func(config map[string]any) { t.Helper(); mustApply(t, tf, i, config) }
				apply(conf("team"))
				if !slices.ContainsFunc(withTeam(api), func(where string) bool { return strings.HasSuffix(where, " n2") }) {
					t.Fatalf("it is on %v", withTeam(api))
				}
				others := slices.DeleteFunc(withTeam(api), func(where string) bool { return !strings.HasSuffix(where, " n3") })
				fakeapi.Edit(api, "", "n2", func(n *corev1.Node) { n.Labels["pool"] = "y" })
				fakeapi.Edit(api, "shop", "n2", func(d *appsv1.Deployment) { d.Labels["pool"] = "y" })
				time.Sleep(calm)
				i.Private = nil
				apply(conf("spot"))
				if got := withTeam(api); !slices.Equal(got, others) {
					t.Errorf("it is still on %v, and on %v before", got, others)
				}
			})
		})
	}
}

// TestImported_whatJoinsWithoutAMarkIsOfOthers imports tolerations without a mark. A
// workload that comes to match later has the same one from another writer: it keeps it, whether the
// entry is dropped or the resource destroyed, also after a refresh and an apply that wrote nothing.
func TestImported_whatJoinsWithoutAMarkIsOfOthers(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		config map[string]any
		want   []string
	}{
		// An entry that was imported without a mark and leaves the configuration is not managed any more.
		"a change":  {tolerating(object{"kind": "Deployment", "namespace": "shop", "selector": "pool=x"}, "spot"), []string{"toleration n1", "toleration n2", "toleration n3"}},
		"a destroy": {nil, []string{"toleration n2", "toleration n3"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, moment{api: fakeapi.New()}, func(t *testing.T, api *fakeapi.Server) {
				threeOfEach(api)
				for _, n := range fakeapi.Objects[*corev1.Node](api) {
					fakeapi.Edit(api, "", n.Name, func(n *corev1.Node) { n.Spec.Taints, n.Labels = nil, nil })
				}
				team := corev1.Toleration{Key: "team", Operator: corev1.TolerationOpEqual, Value: "a"}
				for _, d := range fakeapi.Objects[*appsv1.Deployment](api) {
					fakeapi.Edit(api, d.Namespace, d.Name, func(d *appsv1.Deployment) {
						d.Labels = map[string]string{"pool": map[bool]string{true: "x", false: "y"}[d.Name == "n1"]}
						d.Spec.Template.Spec.Tolerations = []corev1.Toleration{team}
					})
				}
				time.Sleep(calm)
				tf, marked := through(api.Client()), &acctest.Instance{Type: "kubetaint_workload_tolerations"}
				first := tolerating(object{"kind": "Deployment", "namespace": "shop", "selector": "pool=x"}, "team")
				// Its identity is that of the import: it covers what is there, and marks nothing.
				if d := tf.Apply(t, marked, first); d.Errors() != "" {
					t.Fatal(d.Errors())
				}
				i, d := tf.ImportAgain(t, marked)
				if d.Errors() != "" {
					t.Fatal(d.Errors())
				}
				apply := func(config map[string]any) { t.Helper(); mustApply(t, tf, i, config) }
				apply(acctest.With(first, object{"timeouts": object{"update": "5m"}}))
				fakeapi.Edit(api, "shop", "n2", func(d *appsv1.Deployment) { d.Labels["pool"] = "x" })
				time.Sleep(calm)
				apply(tt.config)
				if got := withTeam(api); !slices.Equal(got, tt.want) {
					t.Errorf("there is %v, want %v", got, tt.want)
				}
			})
		})
	}
}

// TestImported_whatCannotBeReadIsRefused damages one record at a time of what an import is about: it
// takes no entry for one without an owner whose mark it cannot read, and names the object.
func TestImported_whatCannotBeReadIsRefused(t *testing.T) {
	t.Parallel()
	tried := map[string]bool{}
	for _, s := range subjects() {
		if s.action || !s.importable() || !slices.Contains(cheap, s.name()) && s.name() != "dedicated_nodes/machine_sets in_place" {
			continue
		}
		start := settle(t, s)
		for at, o := range annotatedObjects(start.api) {
			for _, annotation := range s.reads(o) {
				// Labels and workloads of dedicated_nodes are found by marks that can be read.
				if o.annotations[annotation] == "" || s.typeName == "dedicated_nodes" && o.kind != "Node" && o.kind != "MachineSet" {
					continue
				}
				tried[s.typeName+" "+o.kind+" "+annotation] = true
				t.Run(s.name()+" "+o.title()+" "+annotation, func(t *testing.T) {
					bubble(t, start.moment, func(t *testing.T, api *fakeapi.Server) {
						object := annotatedObjects(api)[at]
						object.annotations[annotation] = "{"
						object.put(object.annotations)
						time.Sleep(calm)
						_, d := through(api.Client()).ImportAgain(t, &start.instance)
						acctest.WantAll(t, d.Errors(), object.name, annotation)
					})
				})
			}
		}
	}
	for _, want := range []string{
		"node_taints Node kubetaint.io/owned-taints", "dedicated_nodes Node kubetaint.io/owned-labels", "dedicated_nodes MachineSet kubetaint.io/owned-labels", "dedicated_nodes MachineSet kubetaint.io/owned-taints",
		"machine_set_taints MachineSet kubetaint.io/owned-taints", "workload_tolerations Deployment kubetaint.io/owned-tolerations", "namespace_tolerations Namespace kubetaint.io/owned-tolerations",
	} {
		if !tried[want] {
			t.Errorf("%s is not tried, but %v", want, tried)
		}
	}
}

// TestImported_whatIsNotMeantMayBeDamaged: an import does not ask what it is not about.
func TestImported_whatIsNotMeantMayBeDamaged(t *testing.T) {
	t.Parallel()
	for _, s := range subjects() {
		if s.name() != "dedicated_nodes/machine_sets in_place" && s.name() != "machine_set_taints/in_place" && s.name() != "node_taints/taints" {
			continue
		}
		start := settle(t, s)
		t.Run(s.name(), func(t *testing.T) {
			bubble(t, start.moment, func(t *testing.T, api *fakeapi.Server) {
				api.Add(node("beside", map[string]string{"pool": "y"}))
				time.Sleep(calm)
				damaged := 0
				for _, o := range annotatedObjects(api) {
					if (o.kind == "Node" || o.kind == "MachineSet") && len(s.reads(o)) == 0 {
						o.annotations[ownedTaints], o.annotations[ownedLabels] = "{", "{"
						o.put(o.annotations)
						damaged++
					}
				}
				time.Sleep(calm)
				if _, d := through(api.Client()).ImportAgain(t, &start.instance); d.Errors() != "" || damaged == 0 {
					t.Errorf("with %d damaged objects beside: %s", damaged, d.Errors())
				}
			})
		})
	}
}
