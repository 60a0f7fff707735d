// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package eviction

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
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
	*snapshot.Snapshot
}

func newWorld(nodes ...*snapshot.Node) world {
	w := world{&snapshot.Snapshot{
		Nodes: map[string]*snapshot.Node{}, Pods: map[string][]*snapshot.Pod{},
		Parents: map[types.UID]snapshot.Owner{}, Budgets: snapshot.Budgets{},
	}}
	for _, n := range nodes {
		w.Nodes[n.Name] = n
	}
	return w
}

func (w world) run(pods ...*snapshot.Pod) world {
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
	w.Budgets[namespace] = append(w.Budgets[namespace], snapshot.Budget{Name: name, Selector: parsed, Allowed: allowed})
	return w
}

func node(name string, taints ...string) *snapshot.Node {
	return &snapshot.Node{Name: name, Labels: map[string]string{"kubernetes.io/hostname": name}, Taints: taintsOf(taints...)}
}

type podOption func(*snapshot.Pod)

// pod is one of a Deployment's, running in namespace "app", unless options say
// otherwise.
func pod(name, node string, options ...podOption) *snapshot.Pod {
	p := &snapshot.Pod{
		Namespace: "app", Name: name, Node: node, UID: types.UID("uid-" + name),
		Controller: &snapshot.Controller{Owner: snapshot.Owner{Group: "apps", Kind: "ReplicaSet", Name: "web-5d"}, UID: "rs-web"},
		Scheduling: &snapshot.Scheduling{}, Labels: labels.Set{"app": "web"}, Ready: true,
	}
	for _, o := range options {
		o(p)
	}
	return p
}

func tolerating(tolerations ...corev1.Toleration) podOption {
	return func(p *snapshot.Pod) { p.Scheduling.Tolerations = tolerations }
}

func ownedBy(kind, name string) podOption {
	return func(p *snapshot.Pod) {
		p.Controller = &snapshot.Controller{Owner: snapshot.Owner{Group: "apps", Kind: kind, Name: name}, UID: types.UID(kind + "-" + name)}
	}
}

func bare(p *snapshot.Pod)        { p.Controller = nil }
func completed(p *snapshot.Pod)   { p.Completed = true }
func pending(p *snapshot.Pod)     { p.Pending = true }
func terminating(p *snapshot.Pod) { p.Terminating = true }

// mirror is as the kubelet makes it: its node owns it.
func mirror(p *snapshot.Pod) {
	p.Mirror, p.Controller = true, &snapshot.Controller{Owner: snapshot.Owner{Kind: "Node", Name: p.Node}, UID: types.UID("Node-" + p.Node)}
}

func selecting(key, value string) podOption {
	return func(p *snapshot.Pod) { p.Scheduling.NodeSelector = map[string]string{key: value} }
}

// pinned is how the DaemonSet controller binds a pod to its node.
func pinned(name string) podOption {
	return func(p *snapshot.Pod) {
		p.Scheduling.Affinity = &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
			MatchFields: []corev1.NodeSelectorRequirement{{Key: "metadata.name", Operator: corev1.NodeSelectorOpIn, Values: []string{name}}},
		}}}
	}
}

func tainting(node string, taints ...string) Scenario {
	return Scenario{Taints: map[string][]corev1.Taint{node: taintsOf(taints...)}}
}

func draining(nodes ...string) Scenario {
	c := Scenario{Drains: map[string]bool{}}
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

func labelled(n *snapshot.Node, key, value string) *snapshot.Node {
	n.Labels[key] = value
	return n
}

func expression(key string, op corev1.NodeSelectorOperator, values ...string) corev1.NodeSelectorTerm {
	return corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{{Key: key, Operator: op, Values: values}}}
}

// having gives a node as many cores and Gi of memory, and room for ten pods.
func having(n *snapshot.Node, cores, gi int64, others ...snapshot.Amount) *snapshot.Node {
	n.Allocatable = &snapshot.Resources{MilliCPU: cores * 1000, Memory: gi << 30, Pods: 10, Others: others}
	return n
}

// asking is a pod that asks for as much, and holds it where it is.
func asking(cores, gi int64, others ...snapshot.Amount) podOption {
	return func(p *snapshot.Pod) {
		r := snapshot.Resources{MilliCPU: cores * 1000, Memory: gi << 30, Others: others}
		p.Demand = &snapshot.Demand{Asks: r, Holds: r}
	}
}

// other is a pod that is not one of those that are asked about.
func other(name, node string, options ...podOption) *snapshot.Pod {
	return pod(name, node, append([]podOption{ownedBy("ReplicaSet", "other")}, options...)...)
}
