// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package drainnodes_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
)

const clusters = 30

// TestDrainNodes_inRandomClusters evicts no pod against a PodDisruptionBudget, ends where the plan says so,
// and then every evicted pod that has a place runs elsewhere: the pool's nodes are deleted without losing
// a pod.
func TestDrainNodes_inRandomClusters(t *testing.T) {
	t.Parallel()
	acctest.TooLong(t)
	seen := newTally(t, enough)
	for seed := range uint64(clusters) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			acctest.OnFakeWithControllers(t, func(t *testing.T, c *acctest.Cluster) { drainRandom(t, c, seed, seen) })
		})
	}
}

// TestAccDrainNodes_inRandomClusters is the same on the real API server, controllers and scheduler.
func TestAccDrainNodes_inRandomClusters(t *testing.T) {
	acctest.Exhaustive(t)
	t.Parallel()
	seen := newTally(t, enough)
	for seed := range uint64(clusters) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			drainRandom(t, acctest.Connect(t), seed, seen)
		})
	}
}

func drainRandom(t *testing.T, c *acctest.Cluster, seed uint64, seen *tally) {
	t.Helper()
	w := newRandomWorld(t, c, rand.New(rand.NewPCG(seed, 31)))
	tf, config := &acctest.Terraform{Provider: c.Provider(t)}, func(timeout string) map[string]any {
		return map[string]any{"node_selector": "pool=" + w.pool, "timeout": timeout}
	}
	plan := tf.Walk(t).PlanAction("kubetaint_drain_nodes", config("10m"))
	if plan.Errors() != "" {
		t.Fatalf("%s: the plan fails: %s", w, plan.Errors())
	}
	said, timeout := predicted(plan.Warnings())
	reasons := c.Disruptions(t, w.apps)
	stopped := w.r.IntN(2) == 0
	if stopped {
		// The next one goes on.
		tf.Invoke(t, "kubetaint_drain_nodes", config(fmt.Sprintf("%dms", 1+w.r.IntN(400))))
		if w.room >= 0 {
			// A plan does not know of replacements that are not created yet, and takes their room for free.
			w.settle()
		}
	}
	d := tf.Invoke(t, "kubetaint_drain_nodes", config(timeout))
	ended := w.endsAs(said, d.Errors())
	if ended {
		if why := w.homeless(t.Context()); why != "" && w.waitsForAll(plan.Warnings()) {
			t.Errorf("%s: the drain has ended, and %s", w, why)
		}
		w.deletePool()
	}
	w.settle()
	evicted := reasons()
	for pod, why := range evicted {
		if why != acctest.ByDrain {
			t.Errorf("%s: pod %s is deleted by %s", w, pod, why)
		}
	}
	for _, a := range w.all {
		if a.least == nil {
			continue
		}
		if got := a.least(); got < min(a.keeps(), a.ready()) {
			t.Errorf("%s: %s had %d ready pods", w, a.name, got)
		}
	}
	seen.count(w, evicted, said, ended, stopped)
}

// predicted returns what the warnings of a plan say about the end of a drain, and a timeout that suits it.
func predicted(warnings string) (said, timeout string) {
	switch {
	case strings.Contains(warnings, neverEnds):
		return neverEnds, "20s"
	case strings.Contains(warnings, mayNotEnd):
		return mayNotEnd, "60s"
	}
	return ends, "10m"
}

// endsAs reports whether a drain has ended, and fails the test where the plan has said otherwise.
func (w *randomWorld) endsAs(said, failed string) (ended bool) {
	w.Helper()
	ended = failed == ""
	held := strings.Contains(failed, "the drain timed out") && strings.Contains(failed, "cannot be evicted yet")
	if said == ends && !ended || said == neverEnds && ended || !ended && !held {
		w.Fatalf("%s: the plan reports that the drain %s, and it reports %q", w, said, failed)
	}
	return ended
}

// settle waits until every pod that has a place runs elsewhere: those that the plan has called Pending
// may have one now.
func (w *randomWorld) settle() {
	w.Helper()
	why := ""
	defer func() {
		if why != "" {
			w.Logf("%s: %s", w, why)
		}
	}()
	acctest.Until(w.T, "every pod that has a place runs elsewhere", func(ctx context.Context) (bool, error) {
		why = w.homeless(ctx)
		return why == "", nil
	})
}

// deletePool deletes the nodes of the pool, on which nothing is left that is to run elsewhere.
func (w *randomWorld) deletePool() {
	w.Helper()
	for _, node := range w.drained {
		for _, p := range w.podsOn(w.Context(), node) {
			if p.Labels["app"] != daemon && p.DeletionTimestamp == nil {
				w.Errorf("%s: pod %s is on a node that is drained", w, p.Name)
			}
		}
		w.c.DeleteNode(w.T, node)
	}
}
