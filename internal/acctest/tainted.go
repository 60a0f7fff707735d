// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package acctest

import (
	"slices"
	"sync"
	"sync/atomic"
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
	nodes := c.Admin.CoreV1().Nodes()
	list, err := nodes.List(t.Context(), metav1.ListOptions{LabelSelector: "pool=" + pool})
	must(t, err)
	for _, n := range list.Items {
		if taint.Find(n.Spec.Taints, id) < 0 {
			t.Fatalf("node %s is without %s from the beginning", n.Name, id)
		}
	}
	watcher, err := nodes.Watch(t.Context(), metav1.ListOptions{LabelSelector: "pool=" + pool, ResourceVersion: list.ResourceVersion})
	must(t, err)
	var bared []string
	var wg sync.WaitGroup
	var stopped atomic.Bool
	wg.Go(func() {
		for event := range watcher.ResultChan() {
			if n, ok := event.Object.(*corev1.Node); ok && taint.Find(n.Spec.Taints, id) < 0 && !slices.Contains(bared, n.Name) {
				bared = append(bared, n.Name)
			}
		}
		if !stopped.Load() && t.Context().Err() == nil {
			t.Error("the watch of nodes has ended: what came after that was not seen")
		}
	})
	return func() []string {
		stopped.Store(true)
		watcher.Stop()
		wg.Wait()
		slices.Sort(bared)
		return bared
	}
}
