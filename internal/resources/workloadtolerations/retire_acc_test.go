// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package workloadtolerations_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/toleration"
)

// TestAccWorkloadTolerations_retireNowCostsThePlacesThatThePlanNames removes immediately
// what pods need, and watches what the controllers make of it. In no case
// does the taint-eviction controller delete a pod: what runs keeps its tolerations.
func TestAccWorkloadTolerations_retireNowCostsThePlacesThatThePlanNames(t *testing.T) {
	t.Parallel()
	onDelete := map[string]any{"updateStrategy": map[string]any{"type": "OnDelete"}}
	for name, tt := range map[string]struct {
		kind   string
		spec   map[string]any
		effect string
		// elsewhere makes another node that takes the pods.
		elsewhere bool
		// room is for how many pods that node has room, 0 for all.
		room int
		// deleted has another writer delete a pod afterwards.
		deleted bool
		says    []string
		// settled reports that what was warned of has come about, from the running pods that
		// keep their places, those that have found another, and those that wait.
		settled func(kept, moved, waiting int) bool
	}{
		"a DaemonSet under NoExecute": {
			kind: "DaemonSet", effect: "NoExecute", says: []string{"it is deleted immediately by the DaemonSet controller", "deleted immediately, regardless of its update strategy, and not recreated"},
			settled: func(kept, moved, waiting int) bool { return kept+moved+waiting == 0 },
		},
		"a DaemonSet with OnDelete under NoExecute": {
			kind: "DaemonSet", spec: onDelete, effect: "NoExecute", says: []string{"it is deleted immediately by the DaemonSet controller", "deleted immediately, regardless of its update strategy, and not recreated"},
			settled: func(kept, moved, waiting int) bool { return kept+moved+waiting == 0 },
		},
		"a DaemonSet under NoSchedule": {
			kind: "DaemonSet", effect: "NoSchedule", says: []string{"deleted by the rollout, and not recreated"},
			settled: func(kept, moved, waiting int) bool { return kept+moved+waiting == 0 },
		},
		"a DaemonSet with OnDelete under NoSchedule": {
			kind: "DaemonSet", spec: onDelete, effect: "NoSchedule", deleted: true, says: []string{"stays for now (its update strategy is OnDelete); once it is deleted, it is not recreated"},
			settled: func(kept, moved, waiting int) bool { return kept+moved+waiting == 0 },
		},
		"a Deployment that another node takes": {
			kind: "Deployment", effect: "NoExecute", elsewhere: true, says: []string{"2 pods: replaced; its replacement cannot be scheduled on this node (tainted team=a:NoExecute), but on another"},
			settled: func(kept, moved, waiting int) bool { return kept+waiting == 0 && moved == 2 },
		},
		"a Deployment that no other node takes": {
			kind: "Deployment", effect: "NoExecute", says: []string{"this stops a rollout: no node takes 2 of 2 new pods", "2 pods: replaced; its replacement cannot be scheduled on this node (tainted team=a:NoExecute), nor on any other", "If the rollout does not finish, add the old toleration"},
			settled: func(kept, moved, waiting int) bool { return kept == 2 && moved == 0 && waiting == 1 },
		},
		"a Deployment of which another node takes one pod": {
			kind: "Deployment", effect: "NoSchedule", elsewhere: true, room: 1, says: []string{"this stops a rollout: no node takes 1 of 2 new pods", "but on another node while that node has room", "no node for 1 of 2 pods"},
			settled: func(kept, moved, waiting int) bool { return kept == 1 && moved == 1 && waiting == 1 },
		},
		"a StatefulSet that no other node takes": {
			kind: "StatefulSet", effect: "NoSchedule", says: []string{"this stops a rollout: no node takes 2 of 2 new pods", "2 pods: replaced; its replacement cannot be scheduled on this node (tainted team=a:NoSchedule), nor on any other"},
			settled: func(kept, moved, waiting int) bool { return kept == 1 && moved == 0 && waiting == 1 },
		},
		"a StatefulSet with OnDelete": {
			kind: "StatefulSet", spec: onDelete, effect: "NoExecute", deleted: true, says: []string{"2 pods: stays for now (its update strategy is OnDelete); its replacement cannot be scheduled on this node"},
			settled: func(kept, moved, waiting int) bool { return kept == 1 && moved == 0 && waiting == 1 },
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := openShop(t)
			s.c.Node(t, acctest.Node{Name: acctest.Name(t, "other"), Taints: acctest.Parse(t, "other:NoSchedule")})
			pods := 2
			if tt.kind == "DaemonSet" {
				pods = 1
			}
			old, kept := "team=a:"+tt.effect, "kept=x:NoSchedule"
			thing, i := s.make(tt.kind, "web", pods, "", tt.spec), s.fresh()
			s.apply(i, s.manage(thing, old+" "+kept, map[string]any{"wait_for_rollout": false, "retire": "now"}))
			s.renew(thing, pods, old)
			if tt.elsewhere {
				other := acctest.Node{Name: s.pool + "-2", Labels: map[string]string{"shop": s.pool}}
				if tt.room > 0 {
					other.Allocatable = corev1.ResourceList{corev1.ResourcePods: *resource.NewQuantity(int64(tt.room), resource.DecimalSI)}
				}
				s.c.Node(t, other)
			}
			s.c.Patch(t, s.pool, `{"spec":{"taints":[{"key":"team","value":"a","effect":"`+tt.effect+`"}]}}`)
			s.c.Closed(t, s.namespace, s.pool)

			config := s.manage(thing, kept, map[string]any{"retire": "now"})
			planned := s.planned(i, config)
			says(t, "warning", planned.Diagnostics.Warnings(), append([]string{
				`[AttributeName("retire")] Changing the tolerations of ` + tt.kind + ` "` + s.namespace + `/web" immediately: `, " place on nodes tainted team=a:" + tt.effect, s.live("web")[0].Name + " on " + s.pool,
			}, tt.says...)...)
			evicted := s.c.Evictions(t, s.namespace)
			if d := s.tf.Carry(t, i, planned, config); d.Errors() != "" {
				t.Fatal(d.Errors())
			}
			if tt.deleted {
				if kept, _, _ := s.places(old); kept != pods {
					t.Fatalf("%d of %d pods stay for now", kept, pods)
				}
				if err := s.c.Admin.CoreV1().Pods(s.namespace).Delete(t.Context(), s.live("web")[0].Name, metav1.DeleteOptions{}); err != nil {
					t.Fatal(err)
				}
			}
			acctest.Until(t, "it is as the plan said", func(context.Context) (bool, error) {
				wanted, _, err := unstructured.NestedInt64(s.c.Look(t, thing).Object, "status", "desiredNumberScheduled")
				kept, moved, waiting := s.places(old)
				return wanted == 0 && tt.settled(kept, moved, waiting), err
			})
			if names := evicted(); len(names) > 0 {
				t.Fatalf("the taint-eviction controller deleted %v", names)
			}
		})
	}
}

// TestAccWorkloadTolerations_shorterSecondsEvictAsThePlanSaid: the entry stays, and lasts
// for a shorter time under a taint that is there already.
func TestAccWorkloadTolerations_shorterSecondsEvictAsThePlanSaid(t *testing.T) {
	t.Parallel()
	s := openShop(t)
	thing, i := s.make("Deployment", "web", 2, "", nil), s.fresh()
	s.apply(i, s.manage(thing, "team=a:NoExecute", nil))
	s.c.Patch(t, s.pool, `{"spec":{"taints":[{"key":"team","value":"a","effect":"NoExecute"}]}}`)
	old := map[string]bool{}
	for _, p := range s.live("web") {
		old[p.Name] = true
	}
	evicted := s.c.Evictions(t, s.namespace)
	title := `Changing the tolerations of Deployment "` + s.namespace + `/web" evicts 2 pods `
	config := s.manage(thing, "team=a:NoExecute@3", map[string]any{"wait_for_rollout": false})
	planned := s.planned(i, config)
	says(t, "warning", planned.Diagnostics.Warnings(), `[AttributeName("tolerations")] `+title+"3s after they are recreated on nodes tainted team=a:NoExecute", "2 pods: replaced; its replacement is evicted after 3s from a node that is tainted team=a:NoExecute", "leave out toleration_seconds")
	if d := s.tf.Carry(t, i, planned, config); d.Errors() != "" {
		t.Fatal(d.Errors())
	}
	short := map[string]bool{}
	acctest.Until(t, "pods of the new template have come, and gone again", func(context.Context) (bool, error) {
		now := map[string]bool{}
		for _, p := range s.live("web") {
			at := taint.FirstMatch(p.Spec.Tolerations, corev1.Taint{Key: "team", Value: "a", Effect: corev1.TaintEffectNoExecute}, false)
			if now[p.Name] = true; at >= 0 && p.Spec.Tolerations[at].TolerationSeconds != nil {
				short[p.Name] = true
			}
		}
		gone := 0
		for name := range short {
			if !now[name] {
				gone++
			}
		}
		return gone >= 2, nil
	})
	names := evicted()
	if len(names) < 2 || slices.ContainsFunc(names, func(name string) bool { return old[name] }) {
		t.Fatalf("the taint-eviction controller deleted %v, of the old template were %v", names, old)
	}

	// A longer time evicts no pod.
	if w := s.planned(i, s.manage(thing, "team=a:NoExecute", nil)).Diagnostics.Warnings(); strings.Contains(w, "pods leave") || strings.Contains(w, "their place") {
		t.Errorf("they may stay for a longer time, and the plan says %s", w)
	}
}

// renew waits until all pods were made from the template, as their controller has
// seen as well: one that still has an old pod in mind would delete a new one. Pods
// that do not follow by themselves are deleted.
func (s *shop) renew(thing acctest.Thing, count int, carrying string) {
	s.t.Helper()
	want := acctest.ParseTolerations(s.t, carrying)[0]
	s.until("all pods are of the template", func() bool {
		now := s.c.Look(s.t, thing)
		object := now.Object
		strategy, _, _ := unstructured.NestedString(object, "spec", "updateStrategy", "type")
		// A status of before counts the pods of the old template.
		observed, _, _ := unstructured.NestedInt64(object, "status", "observedGeneration")
		behind, live := 0, s.live("web")
		for _, p := range live {
			if toleration.Contains(p.Spec.Tolerations, want) {
				continue
			}
			behind++
			if strategy == "OnDelete" {
				_ = s.c.Admin.CoreV1().Pods(s.namespace).Delete(s.t.Context(), p.Name, metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions(string(p.UID))})
			}
		}
		updated, found, _ := unstructured.NestedInt64(object, "status", "updatedReplicas")
		if !found {
			updated, _, _ = unstructured.NestedInt64(object, "status", "updatedNumberScheduled")
		}
		return behind == 0 && len(live) == count && updated == int64(count) && observed == now.GetGeneration()
	})
	s.c.Running(s.t, s.namespace, "web", count)
}

// places counts the running pods that are on the shop's node as before, on another
// one, and on none.
func (s *shop) places(old string) (kept, moved, waiting int) {
	s.t.Helper()
	lived := acctest.ParseTolerations(s.t, old)[0]
	for _, p := range s.live("web") {
		switch carries := toleration.Contains(p.Spec.Tolerations, lived); {
		case p.Spec.NodeName == "":
			waiting++
		case p.Spec.NodeName != s.pool:
			moved++
		case carries:
			kept++
		default:
			s.t.Errorf("pod %s was put on the node without %s", p.Name, old)
		}
	}
	return kept, moved, waiting
}
