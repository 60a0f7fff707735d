// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package acctest

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Preempting is a pod of a high priority that finds room on another node only in the place of a pod of a low priority.
type Preempting struct {
	// Own is the namespace of the first one, Other that of the second one.
	Own, Other string
	// Calm runs the second one. There is room for both as long as it does not.
	Calm func()
}

// Preempting runs, on the in-memory API server, a pod of a high priority on a node, and makes another node of four cores. The
// label "pool" has this value on both. The pods belong to ReplicationControllers, of which the small controllers take no notice.
func (c *Cluster) Preempting(t testing.TB, pool, node string) Preempting {
	t.Helper()
	other := Node{Name: pool + "-other", Labels: map[string]string{"pool": pool}, Allocatable: corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse("4"), corev1.ResourceMemory: resource.MustParse("8Gi"), corev1.ResourcePods: resource.MustParse("10"),
	}}
	c.Node(t, other)
	run := func(namespace, name, node, cores string, priority int32) {
		c.Pod(t, namespace, name, node, func(p *corev1.Pod) {
			p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "ReplicationController", Name: name, UID: types.UID("of-" + name), Controller: new(true)}}
			p.Spec.NodeSelector, p.Spec.Priority = map[string]string{"pool": pool}, &priority
			p.Spec.Containers[0].Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cores)}
		})
	}
	out := Preempting{Own: c.Namespace(t), Other: c.Namespace(t)}
	out.Calm = func() { run(out.Other, "calm", other.Name, "2", 0) }
	run(out.Own, "urgent", node, "3", 1000)
	return out
}
