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
	// Lone runs it without a controller instead.
	Lone func()
}

// Exceeded checks that the second pod exceeds limits of evictions, which runs, plans or invocations refuse with these errors. It has
// no controller in the end.
func (p Preempting) Exceeded(t testing.TB, refused func(evictions map[string]any) string) {
	t.Helper()
	const elsewhere = "would be evicted (1 elsewhere, by preemption), and "
	for limit, of := range map[string]struct {
		value any
		says  string
	}{
		"max_pods":             {1, "2 pods " + elsewhere + "max_pods allows 1"},
		"protected_namespaces": {[]string{p.Other}, "1 pod of protected namespaces would be evicted"},
		"protected_selector":   {"app=calm", `1 pod that protected_selector "app=calm" matches would be evicted`},
		"only":                 {[]string{p.Own + "/*"}, elsewhere + "evictions.only does not list it"},
	} {
		WantAll(t, refused(map[string]any{limit: of.value}), limit, of.says)
	}
	p.Lone()
	WantAll(t, refused(map[string]any{"max_lost": 0}), "max_lost", "1 pod would be lost, and max_lost allows 0")
}

// Preempting runs, on the in-memory API server, a pod of a high priority on a node, and makes another node of four cores. The
// label "pool" has this value on both. The pods belong to ReplicationControllers, of which the small controllers take no notice.
func (c *Cluster) Preempting(t testing.TB, pool, node string) Preempting {
	t.Helper()
	other := Node{Name: pool + "-other", Labels: map[string]string{"pool": pool}, Allocatable: corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse("4"), corev1.ResourceMemory: resource.MustParse("8Gi"), corev1.ResourcePods: resource.MustParse("10"),
	}}
	c.Node(t, other)
	run := func(namespace, name, node, cores string, priority int32, controlled bool) {
		c.Pod(t, namespace, name, node, func(p *corev1.Pod) {
			p.Labels = map[string]string{"app": name}
			if controlled {
				p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "ReplicationController", Name: name, UID: types.UID("of-" + name), Controller: new(true)}}
			}
			p.Spec.NodeSelector, p.Spec.Priority = map[string]string{"pool": pool}, &priority
			p.Spec.Containers[0].Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cores)}
		})
	}
	out := Preempting{Own: c.Namespace(t), Other: c.Namespace(t)}
	out.Calm = func() { run(out.Other, "calm", other.Name, "2", 0, true) }
	out.Lone = func() {
		must(t, c.Admin.CoreV1().Pods(out.Other).Delete(t.Context(), "calm", metav1.DeleteOptions{GracePeriodSeconds: new(int64(0))}))
		run(out.Other, "calm", other.Name, "2", 0, false)
	}
	run(out.Own, "urgent", node, "3", 1000, true)
	return out
}
