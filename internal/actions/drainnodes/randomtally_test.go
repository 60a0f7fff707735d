// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package drainnodes_test

import (
	"strings"
	"sync"
	"testing"
)

// tally counts what random clusters have shown.
type tally struct {
	mu   sync.Mutex
	seen map[string]int
}

// enough is what all random clusters must show together at least. A drain of nothing would pass as
// well.
var enough = map[string]int{
	"drains that end and evict pods":                    15,
	"drains that end with a pod without a place":        8,
	"drains that PodDisruptionBudgets hold":             6,
	"drains that are stopped first":                     10,
	"drains with a DaemonSet":                           10,
	"evicted pods of a " + deployment:                   25,
	"evicted pods of a " + statefulSet:                  15,
	"evicted pods of a " + replicaSet:                   12,
	"evicted pods of a " + runningJob:                   10,
	"evicted pods of a " + finishedJob:                  25,
	"PodDisruptionBudgets with minAvailable":            10,
	"PodDisruptionBudgets with maxUnavailable":          2,
	"PodDisruptionBudgets that always allow":            4,
	"PodDisruptionBudgets with a pod that is not ready": 3,
}

// newTally fails the test at its end where all clusters together have shown less than enough.
func newTally(t *testing.T, enough map[string]int) *tally {
	t.Helper()
	c := &tally{seen: map[string]int{}}
	t.Cleanup(func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		t.Log(c.seen)
		if c.seen["clusters"] < clusters {
			// Some are left out by -run, or have failed.
			return
		}
		for what, least := range enough {
			if c.seen[what] < least {
				t.Errorf("%s: %d, and the test needs %d to show anything", what, c.seen[what], least)
			}
		}
	})
	return c
}

// note adds to what has been seen.
func (c *tally) note(what string, n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.seen[what] += n
}

// count adds a cluster.
func (c *tally) count(w *randomWorld, evicted map[string]string, said string, ended, stopped bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	add := func(what string, n int) { c.seen[what] += n }
	note := func(what string, is bool) {
		if is {
			add(what, 1)
		}
	}
	add("clusters", 1)
	note("drains that end", ended)
	note("drains that end and evict pods", ended && len(evicted) > 0)
	note("drains that PodDisruptionBudgets hold", !ended)
	note("plans that say that the drain "+said, true)
	note("drains that are stopped first", stopped)
	note("drains with a DaemonSet", len(w.podsOf(w.Context(), daemon)) > 0)
	waiting := 0
	for _, a := range w.all {
		pods := 0
		for pod := range evicted {
			if strings.HasPrefix(pod, a.name+"-") {
				pods++
			}
		}
		left := w.podsOf(w.Context(), a.name)
		if a.kind == finishedJob {
			pods = a.pods - len(left)
		}
		add("evicted pods of a "+a.kind, pods)
		waiting += a.pods - len(left)
		for _, p := range left {
			if p.Spec.NodeName == "" {
				waiting++
			}
		}
		if b := a.budget; b != nil && pods > 0 {
			note("PodDisruptionBudgets with minAvailable", b.MinAvailable != nil)
			note("PodDisruptionBudgets with maxUnavailable", b.MaxUnavailable != nil)
			note("PodDisruptionBudgets that always allow", b.UnhealthyPodEvictionPolicy != nil)
			note("PodDisruptionBudgets with a pod that is not ready", a.unready)
		}
	}
	note("drains that end with a pod without a place", ended && waiting > 0)
}
