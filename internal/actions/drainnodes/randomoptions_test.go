// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package drainnodes_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
)

// TestDrainNodes_ofSelectedPodsInRandomClusters evicts no other pod, and ends where the plan says so.
func TestDrainNodes_ofSelectedPodsInRandomClusters(t *testing.T) {
	t.Parallel()
	acctest.TooLong(t)
	seen := newTally(t, map[string]int{"selected pods": 40, "other pods": 40, "drains that do not end": 2, "drains that end": 15})
	for seed := range uint64(clusters) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			acctest.OnFakeWithControllers(t, func(t *testing.T, c *acctest.Cluster) {
				w := newRandomWorld(t, c, rand.New(rand.NewPCG(seed, 33)))
				w.drainWith(&acctest.Terraform{Provider: c.Provider(t)}, seen, map[string]any{"pod_selector": "app in (app-0,app-2)"}, "app-0", "app-2")
			})
		})
	}
}

// TestDrainNodes_withoutEvictionsInRandomClusters ends always, also where a PodDisruptionBudget would hold
// evictions.
func TestDrainNodes_withoutEvictionsInRandomClusters(t *testing.T) {
	t.Parallel()
	acctest.TooLong(t)
	seen := newTally(t, map[string]int{"selected pods": 80, "drains that evictions would not end": 6, "drains that end": clusters, "drains past a PodDisruptionBudget": 5})
	for seed := range uint64(clusters) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			acctest.OnFakeWithControllers(t, func(t *testing.T, c *acctest.Cluster) {
				w := newRandomWorld(t, c, rand.New(rand.NewPCG(seed, 34)))
				tf := &acctest.Terraform{Provider: c.ProviderAt(t, c.REST.Host, c.TokenAnd(t, acctest.RightsToDeletePods(t)...))}
				evicting := tf.Walk(t).PlanAction("kubetaint_drain_nodes", map[string]any{"node_selector": "pool=" + w.pool})
				if said, _ := predicted(evicting.Warnings()); said != ends {
					seen.note("drains that evictions would not end", 1)
				}
				reasons := c.Disruptions(t, w.apps)
				if said := w.drainWith(tf, seen, map[string]any{"disable_eviction": true}, "app-0", "app-1", "app-2", "app-3"); said != ends {
					t.Errorf("%s: the plan reports that the drain %s", w, said)
				}
				if evicted := reasons(); len(evicted) > 0 {
					t.Errorf("%s: pods are evicted: %v", w, evicted)
				}
				for _, a := range w.all {
					if a.least != nil && a.least() < min(a.keeps(), a.ready()) {
						seen.note("drains past a PodDisruptionBudget", 1)
					}
				}
			})
		})
	}
}

// drainWith drains the pool, and fails the test where a pod of these apps is left, or another one gone. It
// returns what the plan says about the end.
func (w *randomWorld) drainWith(tf *acctest.Terraform, seen *tally, config map[string]any, apps ...string) (said string) {
	w.Helper()
	config = maps.Clone(config)
	config["node_selector"] = "pool=" + w.pool
	plan := tf.Walk(w.T).PlanAction("kubetaint_drain_nodes", config)
	if plan.Errors() != "" {
		w.Fatalf("%s: the plan fails: %s", w, plan.Errors())
	}
	said, config["timeout"] = predicted(plan.Warnings())
	before := w.inPool()
	ended := w.endsAs(said, tf.Invoke(w.T, "kubetaint_drain_nodes", config).Errors())
	after := w.inPool()
	seen.note("clusters", 1)
	seen.note(map[bool]string{true: "drains that end", false: "drains that do not end"}[ended], 1)
	for uid, pod := range before {
		_, there := after[uid]
		selected := false
		for _, app := range apps {
			selected = selected || strings.HasPrefix(pod, app+"-")
		}
		seen.note(map[bool]string{true: "selected pods", false: "other pods"}[selected], 1)
		if there && selected && ended || !there && !selected {
			w.Errorf("%s: pod %s is selected %t, and there %t", w, pod, selected, there)
		}
	}
	return said
}

// inPool returns the names of the pods on the nodes of the pool.
func (w *randomWorld) inPool() map[types.UID]string {
	w.Helper()
	out := map[types.UID]string{}
	for _, node := range w.drained {
		for _, p := range w.podsOn(w.Context(), node) {
			if p.DeletionTimestamp == nil {
				out[p.UID] = p.Name
			}
		}
	}
	return out
}
