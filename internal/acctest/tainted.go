// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package acctest

import (
	"context"
	"slices"
	"strconv"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
)

// Bared watches the nodes of a pool, and returns a function that ends it and names those
// that were without a taint at some moment, sorted. All of them have to carry it when it
// begins.
func (c *Cluster) Bared(t testing.TB, pool string, id taint.ID) func() []string {
	t.Helper()
	looks := c.PoolNodes(t, pool)
	return func() []string {
		t.Helper()
		var bared []string
		for name, seen := range looks() {
			without := slices.IndexFunc(seen, func(n *corev1.Node) bool { return taint.Find(n.Spec.Taints, id) < 0 })
			if without == 0 {
				t.Fatalf("node %s is without %s from the beginning", name, id)
			}
			if without > 0 {
				bared = append(bared, name)
			}
		}
		slices.Sort(bared)
		return bared
	}
}

// PoolNodes looks at the nodes of a pool, and returns a function that ends it and returns
// how each of them has looked from then to now, in this order. A node that leaves the pool
// is not looked at any more.
func (c *Cluster) PoolNodes(t testing.TB, pool string) func() map[string][]*corev1.Node {
	t.Helper()
	nodes, selected := c.Admin.CoreV1().Nodes(), metav1.ListOptions{LabelSelector: "pool=" + pool}
	first, err := nodes.List(t.Context(), selected)
	must(t, err)
	since := selected
	since.ResourceVersion = first.ResourceVersion
	watcher, err := nodes.Watch(t.Context(), since)
	must(t, err)
	var mu sync.Mutex
	seen, latest := map[string][]*corev1.Node{}, map[string]uint64{}
	look := func(n *corev1.Node) {
		mu.Lock()
		defer mu.Unlock()
		seen[n.Name], latest[n.Name] = append(seen[n.Name], n), version(t, n)
	}
	for _, n := range first.Items {
		look(&n)
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		for event := range watcher.ResultChan() {
			if n, ok := event.Object.(*corev1.Node); ok {
				look(n)
			}
		}
	})
	return func() map[string][]*corev1.Node {
		t.Helper()
		last, err := nodes.List(t.Context(), selected)
		must(t, err)
		// What the watch has not shown would count as what never was.
		Until(t, "the watch has shown the nodes of "+pool+" as they are", func(context.Context) (bool, error) {
			mu.Lock()
			defer mu.Unlock()
			return !slices.ContainsFunc(last.Items, func(n corev1.Node) bool { return latest[n.Name] < version(t, &n) }), nil
		})
		watcher.Stop()
		wg.Wait()
		return seen
	}
}

func version(t testing.TB, n *corev1.Node) uint64 {
	t.Helper()
	v, err := strconv.ParseUint(n.ResourceVersion, 10, 64)
	must(t, err)
	return v
}
