// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package acctest

import (
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/machineset"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
)

// Least watches the machines' nodes, and returns a function that ends it and says how
// few were ready and not cordoned at some moment. It counts at every change: one watch
// tells of all nodes in the order in which they changed, so that each count is one of a
// moment that there was.
func (p *Pool) Least() func() int {
	p.t.Helper()
	nodes := p.c.Admin.CoreV1().Nodes()
	list, err := nodes.List(p.t.Context(), metav1.ListOptions{LabelSelector: "pool=" + p.Name})
	must(p.t, err)
	watcher, err := nodes.Watch(p.t.Context(), metav1.ListOptions{LabelSelector: "pool=" + p.Name, ResourceVersion: list.ResourceVersion})
	must(p.t, err)
	serving := map[string]bool{}
	for _, n := range list.Items {
		if serves(&n) {
			serving[n.Name] = true
		}
	}
	fewest := len(serving)
	var wg sync.WaitGroup
	var stopped atomic.Bool
	wg.Go(func() {
		for event := range watcher.ResultChan() {
			n, ok := event.Object.(*corev1.Node)
			if !ok {
				continue
			}
			if event.Type != watch.Deleted && serves(n) {
				serving[n.Name] = true
			} else {
				delete(serving, n.Name)
			}
			fewest = min(fewest, len(serving))
		}
		if !stopped.Load() && p.t.Context().Err() == nil {
			p.t.Error("the watch of nodes has ended: what came after that was not seen")
		}
	})
	return func() int {
		stopped.Store(true)
		watcher.Stop()
		wg.Wait()
		return fewest
	}
}

// MostMarked watches the MachineSets of a namespace, and returns a function that ends it
// and says how many were being rolled out at some moment, at most.
func (c *Cluster) MostMarked(t testing.TB, namespace string) func() int {
	t.Helper()
	sets := c.things(t, Thing{APIVersion: machinev1beta1.GroupVersion.String(), Kind: "MachineSet", Namespace: namespace})
	list, err := sets.List(t.Context(), metav1.ListOptions{})
	must(t, err)
	watcher, err := sets.Watch(t.Context(), metav1.ListOptions{ResourceVersion: list.GetResourceVersion()})
	must(t, err)
	marked, most := map[string]bool{}, 0
	var wg sync.WaitGroup
	var stopped atomic.Bool
	wg.Go(func() {
		for event := range watcher.ResultChan() {
			set, ok := event.Object.(*unstructured.Unstructured)
			if !ok {
				continue
			}
			if event.Type != watch.Deleted && set.GetAnnotations()[machineset.MarkerAnnotation] != "" {
				marked[set.GetName()] = true
			} else {
				delete(marked, set.GetName())
			}
			most = max(most, len(marked))
		}
		if !stopped.Load() && t.Context().Err() == nil {
			t.Error("the watch of MachineSets has ended: what came after that was not seen")
		}
	})
	return func() int {
		stopped.Store(true)
		watcher.Stop()
		wg.Wait()
		return most
	}
}

// serves says that new pods can come to a node.
func serves(n *corev1.Node) bool {
	return !n.Spec.Unschedulable && joined(n)
}

// joined says that a node is ready and free of the taints that it begins with.
func joined(n *corev1.Node) bool {
	ready := slices.ContainsFunc(n.Status.Conditions, func(c corev1.NodeCondition) bool {
		return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
	})
	return ready && !slices.ContainsFunc(n.Spec.Taints, taint.Joining)
}
