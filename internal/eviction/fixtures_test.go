// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package eviction

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
)

// taintsOf reads taints in kubectl's notation.
func taintsOf(notations ...string) []corev1.Taint {
	var out []corev1.Taint
	for _, n := range notations {
		t, err := taint.Parse(n)
		if err != nil {
			panic(err)
		}
		out = append(out, t)
	}
	return out
}

func exists(key string, effect corev1.TaintEffect) corev1.Toleration {
	return corev1.Toleration{Key: key, Operator: corev1.TolerationOpExists, Effect: effect}
}

func equal(key, value string, effect corev1.TaintEffect) corev1.Toleration {
	return corev1.Toleration{Key: key, Operator: corev1.TolerationOpEqual, Value: value, Effect: effect}
}

func lessThan(key, value string) corev1.Toleration {
	return corev1.Toleration{Key: key, Operator: corev1.TolerationOpLt, Value: value, Effect: corev1.TaintEffectNoExecute}
}

func greaterThan(key, value string) corev1.Toleration {
	return corev1.Toleration{Key: key, Operator: corev1.TolerationOpGt, Value: value, Effect: corev1.TaintEffectNoExecute}
}

func lasting(t corev1.Toleration, seconds int64) corev1.Toleration {
	t.TolerationSeconds = &seconds
	return t
}

// world is a snapshot that is being built.
type world struct {
	*Snapshot
}

func newWorld(nodes ...*Node) world {
	w := world{&Snapshot{
		Nodes: map[string]*Node{}, Pods: map[string][]*Pod{},
		Parents: map[types.UID]Owner{}, Budgets: Budgets{},
	}}
	for _, n := range nodes {
		w.Nodes[n.Name] = n
	}
	return w
}

func (w world) run(pods ...*Pod) world {
	for _, p := range pods {
		w.Pods[p.Node] = append(w.Pods[p.Node], p)
	}
	return w
}

func (w world) budget(namespace, name, selector string, allowed int32) world {
	parsed, err := labels.Parse(selector)
	if err != nil {
		panic(err)
	}
	w.Budgets[namespace] = append(w.Budgets[namespace], Budget{Name: name, Selector: parsed, Allowed: allowed})
	return w
}

func node(name string, taints ...string) *Node {
	return &Node{Name: name, Labels: map[string]string{"kubernetes.io/hostname": name}, Taints: taintsOf(taints...)}
}

type podOption func(*Pod)

// pod is one of a Deployment's, running in namespace "app", unless options say
// otherwise.
func pod(name, node string, options ...podOption) *Pod {
	p := &Pod{
		Namespace: "app", Name: name, Node: node, UID: types.UID("uid-" + name),
		Controller: &Controller{Owner: Owner{Group: "apps", Kind: "ReplicaSet", Name: "web-5d"}, UID: "rs-web"},
		Scheduling: &Scheduling{}, Labels: labels.Set{"app": "web"}, Ready: true,
	}
	for _, o := range options {
		o(p)
	}
	return p
}

func tolerating(tolerations ...corev1.Toleration) podOption {
	return func(p *Pod) { p.Scheduling.Tolerations = tolerations }
}

func ownedBy(kind, name string) podOption {
	return func(p *Pod) {
		p.Controller = &Controller{Owner: Owner{Group: "apps", Kind: kind, Name: name}, UID: types.UID(kind + "-" + name)}
	}
}

func bare(p *Pod)        { p.Controller = nil }
func unready(p *Pod)     { p.Ready = false }
func completed(p *Pod)   { p.Completed = true }
func pending(p *Pod)     { p.Pending = true }
func terminating(p *Pod) { p.Terminating = true }

// mirror is as the kubelet makes it: its node owns it.
func mirror(p *Pod) {
	p.Mirror, p.Controller = true, &Controller{Owner: Owner{Kind: "Node", Name: p.Node}, UID: types.UID("Node-" + p.Node)}
}

func selecting(key, value string) podOption {
	return func(p *Pod) { p.Scheduling.NodeSelector = map[string]string{key: value} }
}

// pinned is how the DaemonSet controller binds a pod to its node.
func pinned(name string) podOption {
	return func(p *Pod) {
		p.Scheduling.Affinity = &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
			MatchFields: []corev1.NodeSelectorRequirement{{Key: "metadata.name", Operator: corev1.NodeSelectorOpIn, Values: []string{name}}},
		}}}
	}
}

func tainting(node string, taints ...string) Change {
	return Change{Taints: map[string][]corev1.Taint{node: taintsOf(taints...)}}
}

func draining(nodes ...string) Change {
	c := Change{Drains: map[string]bool{}}
	for _, n := range nodes {
		c.Drains[n] = true
	}
	return c
}

// only returns the verdict of the one pod in the report.
func only(t *testing.T, r *Report) PodVerdict {
	t.Helper()
	if len(r.Pods) != 1 {
		t.Fatalf("the report has %d pods, want 1", len(r.Pods))
	}
	return r.Pods[0]
}

func verdictOf(v PodVerdict) string {
	if v.Verdict == EvictedAfter {
		return fmt.Sprintf("%s %d", v.Verdict, v.AfterSeconds)
	}
	return string(v.Verdict)
}
