// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package rollout

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/kube"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/planner"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/fakeapi"
)

// selecting are the rules of a drain of pods with a label.
func selecting(app string) planner.DrainRules {
	return planner.DrainRules{PodSelector: labels.SelectorFromSet(labels.Set{"app": app})}
}

// first runs a change before the first request of a verb.
func first(verb string, change func(s *drainScene) int) func(*drainScene, fakeapi.Request) int {
	done := false
	return func(s *drainScene, r fakeapi.Request) int {
		if done || r.Verb != verb {
			return 0
		}
		done = true
		return change(s)
	}
}

// TestDrainNodes_deletesPods in place of evictions: no PodDisruptionBudget holds them.
func TestDrainNodes_deletesPods(t *testing.T) {
	t.Parallel()
	const begins, ends = "draining node n1: deleting 1 pod, bypassing PodDisruptionBudgets", "node n1 is drained"
	deleted := []string{begins, "delete web", "n1: pod shop/web is being deleted", ends}
	for name, tt := range map[string]struct {
		scene  func(s *drainScene)
		before func(s *drainScene, r fakeapi.Request) int
		// unserved has the server serve no evictions.
		unserved bool
		done     []string
		fails    []error
		// stays is the UID of a pod that is not deleted.
		stays string
	}{
		"a PodDisruptionBudget that allows nothing is bypassed": {scene: func(s *drainScene) { s.guard("web", 0) }, done: deleted},
		"two PodDisruptionBudgets of a pod are bypassed": {
			scene: func(s *drainScene) {
				s.guard("web", 0)
				s.guard("other", 0)
				fakeapi.Edit(s.api.Server, namespace, "budget-of-other", func(b *policyv1.PodDisruptionBudget) { b.Spec.Selector.MatchLabels["app"] = "web" })
			},
			done: deleted,
		},
		"a server without evictions is drained": {unserved: true, done: deleted},
		"a pod that is gone is no error":        {before: first("delete", func(s *drainScene) int { s.end("web"); return 0 }), done: deleted},
		"another pod of the same name is not deleted": {
			before: first("delete", func(s *drainScene) int {
				s.end("web")
				s.onNode("web", "n2", func(p *corev1.Pod) { p.UID = "another" })
				return 0
			}),
			done: []string{
				begins, "delete web",
				`n1: pod shop/web cannot be deleted yet: Operation cannot be fulfilled on Pod "web": the UID in the precondition (uid-web) does not match the UID in record (another). The object might have been deleted and then recreated`, ends,
			},
			stays: "another",
		},
		"a deletion that fails is asked for again": {
			before: first("delete", func(*drainScene) int { return http.StatusInternalServerError }),
			done:   []string{begins, "delete web", `n1: pod shop/web cannot be deleted yet: an error on the server ("injected by the test") has prevented the request from succeeding`, "delete web again after 5s", "n1: pod shop/web is being deleted", ends},
		},
		"a deletion without the right to delete pods ends it": {
			before: func(_ *drainScene, r fakeapi.Request) int {
				return map[bool]int{true: http.StatusForbidden}[r.Verb == "delete"]
			},
			done: []string{begins, "delete web"}, fails: []error{kube.ErrMayNotDelete, kube.ErrForbidden}, stays: "uid-web",
		},
		"a cordon that is refused has nothing to do with that right": {
			before: func(_ *drainScene, r fakeapi.Request) int {
				return map[bool]int{true: http.StatusForbidden}[r.Verb == "patch"]
			},
			fails: []error{kube.ErrForbidden}, stays: "uid-web",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newDrainScene(t, aNode("n1", "gpu"), aNode("n2", "cpu"))
				s.before = tt.before
				s.onNode("web", "n1", func(p *corev1.Pod) { p.UID = "uid-web" })
				if tt.scene != nil {
					tt.scene(s)
				}
				cluster := s.api.follow(t, true)
				if tt.unserved {
					cluster = followBy(t, refusing{RoundTripper: s.api.client, unserved: true})
				}
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				err := s.drain(ctx, cluster, Drain{NodeDrain: planner.NodeDrain{Nodes: []string{"n1"}, Rules: planner.DrainRules{DisableEviction: true}}})
				for _, want := range tt.fails {
					if !errors.Is(err, want) {
						t.Errorf("it ends with %v, want %v", err, want)
					}
				}
				if (err != nil) != (tt.fails != nil) || tt.done == nil && errors.Is(err, kube.ErrMayNotDelete) {
					t.Errorf("it ends with %v", err)
				}
				// The first four are about the plan and the cordon.
				if diff := cmp.Diff(tt.done, append([]string(nil), s.done[min(len(s.done), 4):]...)); diff != "" {
					t.Errorf("what was done: %s", diff)
				}
				p, there := fakeapi.Get[*corev1.Pod](s.api.Server, namespace, "web")
				if there != (tt.stays != "") || there && (string(p.UID) != tt.stays || p.DeletionTimestamp != nil) {
					t.Errorf("the pod is there %t: %+v", there, p)
				}
			})
		})
	}
}

func withLocalData(p *corev1.Pod) {
	p.Spec.Volumes = []corev1.Volume{{Name: "scratch", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}}
}

// endless is a pod that terminates and does not end.
func endless(p *corev1.Pod) {
	p.DeletionTimestamp, p.Finalizers = &metav1.Time{Time: time.Now()}, []string{"example.com/kept"}
}

// TestDrainNodes_considersSelectedPodsAlone: others stop no drain, and are not evicted or waited for.
func TestDrainNodes_considersSelectedPodsAlone(t *testing.T) {
	t.Parallel()
	plain := func(*corev1.Pod) {}
	for name, tt := range map[string]struct {
		rules planner.DrainRules
		// other changes the pod db, whose PodDisruptionBudget allows nothing.
		other func(*corev1.Pod)
		stops bool
	}{
		"a pod whose PodDisruptionBudget would hold it":   {rules: selecting("web"), other: plain},
		"a pod without a controller":                      {rules: selecting("web"), other: orphan},
		"a pod with local data":                           {rules: selecting("web"), other: withLocalData},
		"a pod that terminates without end":               {rules: selecting("web"), other: endless},
		"a selected pod without a controller stops it":    {rules: selecting("db"), other: orphan, stops: true},
		"a pod without a controller stops another drain":  {other: orphan, stops: true},
		"a selected pod with local data stops it":         {rules: selecting("db"), other: withLocalData, stops: true},
		"a pod with local data stops a drain of all pods": {other: withLocalData, stops: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newDrainScene(t, aNode("n1", "gpu"))
				s.onNode("web", "n1")
				s.onNode("db", "n1", tt.other)
				s.guard("db", 0)
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				err := s.drain(ctx, s.api.follow(t, true), Drain{NodeDrain: planner.NodeDrain{Nodes: []string{"n1"}, Rules: tt.rules}})
				if tt.stops != (err != nil) || tt.stops && !strings.Contains(err.Error(), "pod shop/db") {
					t.Fatalf("it ends with %v", err)
				}
				if _, there := fakeapi.Get[*corev1.Pod](s.api.Server, namespace, "web"); there != tt.stops {
					t.Errorf("the pod web is there: %t", there)
				}
				if p, there := fakeapi.Get[*corev1.Pod](s.api.Server, namespace, "db"); !there || slices.Contains(s.done, "evict db") {
					t.Errorf("the pod db is evicted: %+v", p)
				}
			})
		})
	}
}

// TestDrainNodes_waitsForSelectedPodsAlone: a pod that stays counts as one that runs, and what replaces
// another one is waited for.
func TestDrainNodes_waitsForSelectedPodsAlone(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		replaced bool
		left     []string
	}{
		"the evicted pod is replaced":     {replaced: true},
		"the evicted pod is not replaced": {left: []string{"ReplicaSet shop/web: 1 of 2 pods not ready on other nodes: its controller has not created them"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newDrainScene(t, aNode("n1", "gpu"), aNode("n2", "cpu"))
				s.set("web", 2)
				s.onNode("first", "n1", ofSet("web"))
				s.onNode("second", "n1", ofSet("web"))
				s.ended = func(s *drainScene, pod string) {
					if tt.replaced && pod == "second" {
						s.onNode("third", "n2", ofSet("web"))
					}
				}
				ctx, cancel := context.WithTimeout(t.Context(), 90*time.Second)
				defer cancel()
				err := s.drain(ctx, s.api.follow(t, true), Drain{AwaitReplacements: true, NodeDrain: planner.NodeDrain{Nodes: []string{"n1"}, Rules: selecting("second")}})
				var left []string
				if stopped := new(DrainError); errors.As(err, &stopped) {
					for _, r := range stopped.Missing {
						left = append(left, r.String())
					}
				}
				if diff := cmp.Diff(tt.left, left); diff != "" || (err != nil) != (tt.left != nil) {
					t.Errorf("it ends with %v: %s", err, diff)
				}
				if p, there := fakeapi.Get[*corev1.Pod](s.api.Server, namespace, "first"); !there || p.DeletionTimestamp != nil {
					t.Error("the pod that is not selected is evicted")
				}
			})
		})
	}
}
