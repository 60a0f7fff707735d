// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package acctest

import (
	"slices"
	"testing"

	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/machineset"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
)

// Least watches the machines' nodes, and returns a function that ends it and reports how
// few were ready and not cordoned at some moment. It counts at every change: one watch
// tells of all nodes in the order in which they changed, so that each count is one of a
// moment that there was.
func (p *Pool) Least() func() int {
	p.t.Helper()
	serving, fewest := map[string]bool{}, 0
	stop := follow(p.t, p.c.Admin.CoreV1().Nodes(), metav1.ListOptions{LabelSelector: "pool=" + p.Name}, func(list *corev1.NodeList) {
		for i := range list.Items {
			if serves(&list.Items[i]) {
				serving[list.Items[i].Name] = true
			}
		}
		fewest = len(serving)
	}, func(event watch.EventType, object runtime.Object) {
		n, ok := object.(*corev1.Node)
		if !ok {
			return
		}
		if event != watch.Deleted && serves(n) {
			serving[n.Name] = true
		} else {
			delete(serving, n.Name)
		}
		fewest = min(fewest, len(serving))
	})
	return func() int {
		p.t.Helper()
		stop()
		return fewest
	}
}

// MostMarked watches the MachineSets of a namespace, and returns a function that ends it
// and reports how many were being rolled out at some moment, at most.
func (c *Cluster) MostMarked(t testing.TB, namespace string) func() int {
	t.Helper()
	sets := c.things(t, Thing{APIVersion: machinev1beta1.GroupVersion.String(), Kind: "MachineSet", Namespace: namespace})
	marked, most := map[string]bool{}, 0
	stop := follow(t, sets, metav1.ListOptions{}, func(*unstructured.UnstructuredList) {}, func(event watch.EventType, object runtime.Object) {
		set, ok := object.(*unstructured.Unstructured)
		if !ok {
			return
		}
		if event != watch.Deleted && set.GetAnnotations()[machineset.MarkerAnnotation] != "" {
			marked[set.GetName()] = true
		} else {
			delete(marked, set.GetName())
		}
		most = max(most, len(marked))
	})
	return func() int {
		t.Helper()
		stop()
		return most
	}
}

// serves reports that new pods can come to a node.
func serves(n *corev1.Node) bool {
	return !n.Spec.Unschedulable && joined(n)
}

// joined reports that a node is ready and free of the taints that it begins with.
func joined(n *corev1.Node) bool {
	return lives(n) && !slices.ContainsFunc(n.Spec.Taints, taint.Joining)
}

// lives reports that a node's kubelet, or who plays it, holds it for ready.
func lives(n *corev1.Node) bool {
	return slices.ContainsFunc(n.Status.Conditions, func(c corev1.NodeCondition) bool {
		return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
	})
}
