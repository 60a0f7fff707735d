// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package preview

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
)

// gpu is the taint that most tests imagine.
var gpu = corev1.Taint{Key: "dedicated", Value: "gpu", Effect: corev1.TaintEffectNoExecute}

// cluster makes a snapshot of nodes and pods.
func cluster(nodes []*snapshot.Node, pods ...*snapshot.Pod) *snapshot.Snapshot {
	s := &snapshot.Snapshot{Nodes: map[string]*snapshot.Node{}, Pods: map[string][]*snapshot.Pod{}}
	for _, n := range nodes {
		s.Nodes[n.Name] = n
	}
	for _, p := range pods {
		s.Pods[p.Node] = append(s.Pods[p.Node], p)
	}
	return s
}

func node(name string, taints ...corev1.Taint) *snapshot.Node {
	return &snapshot.Node{Name: name, Labels: map[string]string{"pool": "gpu", "name": name}, Taints: taints}
}

// pod makes a pod of a Deployment; an empty owner makes a bare pod.
func pod(namespace, owner, name, on string, tolerations ...corev1.Toleration) *snapshot.Pod {
	p := &snapshot.Pod{
		Namespace: namespace, Name: name, Node: on, Labels: labels.Set{"app": owner},
		Scheduling: &snapshot.Scheduling{Tolerations: tolerations},
	}
	if owner != "" {
		p.Controller = &snapshot.Controller{Owner: snapshot.Owner{Group: "apps", Kind: "Deployment", Name: owner}, UID: types.UID(owner)}
	}
	return p
}

// patient tolerates the taint gpu for some seconds.
func patient(seconds int64) corev1.Toleration {
	return corev1.Toleration{Key: gpu.Key, Operator: corev1.TolerationOpExists, Effect: gpu.Effect, TolerationSeconds: &seconds}
}

// shop is a cluster with a pod of every kind.
func shop() *snapshot.Snapshot {
	cache := pod("shop", "cache", "cache-1", "a", patient(30))
	cache.LocalData = true
	picky := pod("shop", "train", "train-1", "b")
	picky.Scheduling.NodeSelector = map[string]string{"name": "b"}
	leaving := pod("shop", "web", "web-3", "b")
	leaving.Terminating = true
	s := cluster([]*snapshot.Node{node("a"), node("b"), {Name: "c"}},
		pod("shop", "web", "web-1", "a"), pod("shop", "web", "web-2", "b"), leaving,
		cache, pod("shop", "queue", "queue-1", "b", patient(300)),
		pod("ops", "", "debug", "a"), picky,
		pod("ops", "agent", "agent-1", "a", corev1.Toleration{Operator: corev1.TolerationOpExists}),
		pod("ops", "gated", "gated-1", "b", corev1.Toleration{Key: gpu.Key, Operator: corev1.TolerationOpGt, Value: "5"}, corev1.Toleration{Key: "size", Operator: corev1.TolerationOpExists}),
	)
	s.Budgets = snapshot.Budgets{"shop": {{Name: "web", Selector: labels.SelectorFromSet(labels.Set{"app": "web"}), Allowed: 1}}}
	s.Gaps = []string{"Jobs could not be read (no permission to list them): pods are counted by Job instead of by CronJob"}
	return s
}

// guide is a cluster with nodes as a cloud names them.
func guide() *snapshot.Snapshot {
	one, two := "ip-10-0-1-17.ec2.internal", "ip-10-0-2-40.ec2.internal"
	picky := pod("ml", "train", "train-7d9c-x2x", two)
	picky.Scheduling.NodeSelector = map[string]string{"pool": "gpu"}
	s := cluster([]*snapshot.Node{node(one), node(two), {Name: "ip-10-0-3-9.ec2.internal"}},
		pod("ops", "", "debug", one), picky, pod("shop", "web", "web-5c4b-9kq", one), pod("shop", "web", "web-5c4b-f7d", two), pod("shop", "cart", "cart-66d-p4z", two))
	s.Budgets = snapshot.Budgets{"shop": {{Name: "web", Selector: labels.SelectorFromSet(labels.Set{"app": "web"}), Allowed: 1}}}
	return s
}

// crowd is a cluster with more pods and workloads than are listed.
func crowd() *snapshot.Snapshot {
	var pods []*snapshot.Pod
	for i := range 60 {
		owner := fmt.Sprintf("app-%02d", i)
		pods = append(pods, pod("load", owner, owner+"-x", "a"), pod("load", owner, owner+"-y", "a", patient(60)))
	}
	return cluster([]*snapshot.Node{node("a"), node("b")}, pods...)
}
