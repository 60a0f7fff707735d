// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package acctest

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Crowd puts many nodes into the in-memory API server, named crowd-0 and so on, with so many pods
// on each, which ask for a little. Requests for as many would take minutes. The function changes
// the nth node and its pods before that.
func (c *Cluster) Crowd(t testing.TB, nodes, pods int, change func(n int, node *corev1.Node, pod *corev1.Pod)) {
	t.Helper()
	if c.api == nil {
		t.Fatal("only the in-memory API server is filled without requests")
	}
	for n := range nodes {
		name := fmt.Sprintf("crowd-%d", n)
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
		node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
		node.Status.Allocatable = corev1.ResourceList{
			corev1.ResourceCPU: resource.MustParse("4"), corev1.ResourceMemory: resource.MustParse("16Gi"), corev1.ResourcePods: resource.MustParse("110"),
		}
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault}, Spec: corev1.PodSpec{
			NodeName: name, Containers: []corev1.Container{{Name: "main", Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("10m")}}}},
		}}
		change(n, node, pod)
		c.api.Put(node)
		for p := range pods {
			one := pod.DeepCopy()
			one.Name = fmt.Sprintf("%s-%d", name, p)
			c.api.Put(one)
		}
	}
}
