// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package acctest

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
)

// Bared watches the nodes of a pool, and returns a function that ends it and names those
// that were without a taint at some moment, sorted. All of them must carry it when it
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
	seen := map[string][]*corev1.Node{}
	look := func(n *corev1.Node) { seen[n.Name] = append(seen[n.Name], n) }
	stop := follow(t, c.Admin.CoreV1().Nodes(), metav1.ListOptions{LabelSelector: "pool=" + pool}, func(list *corev1.NodeList) {
		for i := range list.Items {
			look(&list.Items[i])
		}
	}, func(event watch.EventType, object runtime.Object) {
		if n, ok := object.(*corev1.Node); ok && event != watch.Deleted {
			look(n)
		}
	})
	return func() map[string][]*corev1.Node {
		t.Helper()
		stop()
		return seen
	}
}
