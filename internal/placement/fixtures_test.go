// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package placement

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

// world is a snapshot that is being built.
type world struct {
	*snapshot.Snapshot
}

func newWorld(nodes ...*snapshot.Node) world {
	w := world{&snapshot.Snapshot{Nodes: map[string]*snapshot.Node{}, Pods: map[string][]*snapshot.Pod{}}}
	for _, n := range nodes {
		w.Nodes[n.Name] = n
	}
	return w
}

// named returns a pod of the world.
func (w world) named(t *testing.T, name string) *snapshot.Pod {
	t.Helper()
	for _, pods := range w.Pods {
		for _, p := range pods {
			if p.Name == name {
				return p
			}
		}
	}
	t.Fatalf("there is no pod %s", name)
	return nil
}

// fits reports whether a node would take the pod that replaces one of this name.
func (w world) fits(t *testing.T, name string, change Scenario) bool {
	t.Helper()
	p := w.named(t, name)
	return New(w.Snapshot, change, false).Fits(p, p.Scheduling)
}

func (w world) run(pods ...*snapshot.Pod) world {
	for _, p := range pods {
		w.Pods[p.Node] = append(w.Pods[p.Node], p)
	}
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
func completed(p *snapshot.Pod)   { p.Completed = true }
func terminating(p *snapshot.Pod) { p.Terminating = true }

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

func labelled(n *snapshot.Node, key, value string) *snapshot.Node {
	n.Labels[key] = value
	return n
}

func cordoned(n *snapshot.Node) *snapshot.Node {
	n.Unschedulable = true
	return n
}

func requiring(terms ...corev1.NodeSelectorTerm) podOption {
	return func(p *snapshot.Pod) { p.Scheduling.Affinity = &corev1.NodeSelector{NodeSelectorTerms: terms} }
}

func preferring(terms ...corev1.PreferredSchedulingTerm) podOption {
	return func(p *snapshot.Pod) { p.Scheduling.Preferred = terms }
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

// scored is a pod that counts as so much in scores.
func scored(cores, gi int64) podOption {
	return func(p *snapshot.Pod) { p.Demand.ScoredMilliCPU, p.Demand.ScoredMemory = cores*1000, gi<<30 }
}

// disk is as much local storage of a node, and scratch what a pod asks for of it.
func disk(n *snapshot.Node, gi int64) *snapshot.Node {
	n.Allocatable.EphemeralStorage = gi << 30
	return n
}

func scratch(gi int64) podOption {
	return func(p *snapshot.Pod) {
		p.Demand.Asks.EphemeralStorage, p.Demand.Holds.EphemeralStorage = gi<<30, gi<<30
	}
}

func priority(n int32) podOption { return func(p *snapshot.Pod) { p.Demand.Priority = n } }

func patient(p *snapshot.Pod) { p.Demand.Patient = true }

// other is a pod that is not one of those that are asked about.
func other(name, node string, options ...podOption) *snapshot.Pod {
	return pod(name, node, append([]podOption{ownedBy("ReplicaSet", "other")}, options...)...)
}

func tenPods(node string) []*snapshot.Pod {
	var out []*snapshot.Pod
	for _, name := range []string{"q0", "q1", "q2", "q3", "q4", "q5", "q6", "q7", "q8", "q9"} {
		out = append(out, other(name, node))
	}
	return out
}

// bindTo gives a claim of namespace "app" a volume with an affinity.
func (w world) bindTo(claim, volume string, terms ...corev1.NodeSelectorTerm) world {
	if w.Volumes == nil {
		w.Volumes = map[string]map[string]*snapshot.Volume{"app": {}}
	}
	w.Volumes["app"][claim] = &snapshot.Volume{Name: volume, Affinity: &corev1.NodeSelector{NodeSelectorTerms: terms}}
	return w
}

func claiming(claims ...string) podOption {
	return func(p *snapshot.Pod) { p.Claims = claims }
}

func onHost(name string) corev1.NodeSelectorTerm {
	return expression("kubernetes.io/hostname", "In", name)
}

// many makes nodes that are alike.
func many(n int, prefix string, one func(name string) *snapshot.Node) []*snapshot.Node {
	var out []*snapshot.Node
	for i := range n {
		out = append(out, one(fmt.Sprintf("%s-%d", prefix, i)))
	}
	return out
}
