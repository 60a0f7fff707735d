// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package eviction

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
)

// The drained node is cordoned, and cordons keep away only pods that do not tolerate their taint.
func TestEvaluate_aPodThatToleratesACordonReturnsToTheDrainedNode(t *testing.T) {
	t.Parallel()
	cordon := tolerating(exists(corev1.TaintNodeUnschedulable, corev1.TaintEffectNoSchedule))
	everything := tolerating(exists("", ""))
	agent := pod("agent", "n1", ownedBy("DaemonSet", "agent"), asking(2, 2))
	closing := draining("n1")
	closing.Closed = map[string]bool{"n1": true}
	selected := draining("n1")
	selected.Selects = func(p *snapshot.Pod) bool { return p.Name == "p" }
	for name, tt := range map[string]struct {
		pod    *snapshot.Pod
		beside *snapshot.Pod
		change Scenario
		back   bool
	}{
		"it tolerates the cordon":                             {pod: pod("p", "n1", cordon, asking(4, 4)), change: draining("n1"), back: true},
		"it tolerates everything":                             {pod: pod("p", "n1", everything, asking(4, 4)), change: draining("n1"), back: true},
		"it does not tolerate the cordon":                     {pod: pod("p", "n1", asking(4, 4)), change: draining("n1")},
		"another drained pod does not hold its room":          {pod: pod("p", "n1", cordon, asking(4, 4)), beside: other("q", "n1", asking(5, 5), selecting("kubernetes.io/hostname", "n3")), change: draining("n1"), back: true},
		"a pod that the drain does not select keeps its room": {pod: pod("p", "n1", cordon, asking(4, 4)), beside: other("q", "n1", asking(2, 2)), change: selected},
		"a pod of a DaemonSet keeps its room":                 {pod: pod("p", "n1", cordon, asking(4, 4)), beside: agent, change: draining("n1")},
		"its node is deleted with its machine":                {pod: pod("p", "n1", everything, asking(4, 4)), change: closing},
		"its selector does not match the node that is kept":   {pod: pod("p", "n1", everything, asking(4, 4), selecting("kubernetes.io/hostname", "n3")), change: draining("n1")},
	} {
		w := newWorld(having(node("n1"), 5, 5), node("n2", "b:NoSchedule", "c:NoSchedule")).run(tt.pod)
		w.Nodes["n2"] = having(w.Nodes["n2"], 1, 1)
		if tt.beside != nil {
			w = w.run(tt.beside)
		}
		r := Evaluate(w.Snapshot, tt.change, ComparisonOff)
		v := about(t, r, "p")
		if got := r.Placement(v); (got == "fits") != tt.back || r.Gone(v) == tt.back {
			t.Errorf("%s: placement %q, gone %t: %s", name, got, r.Gone(v), r.Why(v))
		}
		if alone := newEvaluation(w.Snapshot, tt.change, ComparisonOff).nodes().Fits(tt.pod, tt.pod.Scheduling); alone != tt.back {
			t.Errorf("%s: it fits alone %t", name, alone)
		}
	}
}

// A pod whose template names its node is created there whatever taints it has, and the kubelet refuses it without the labels that it requires.
func TestEvaluate_aPodWhoseTemplateNamesItsNodeStays(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		change Scenario
		want   string
	}{
		"its node is tainted":       {Scenario{Taints: map[string][]corev1.Taint{"n1": {{Key: "a", Effect: corev1.TaintEffectNoSchedule}}}}, ""},
		"its node loses its labels": {Scenario{Labels: map[string]map[string]string{"n1": {}}}, "requires labels that its node does not have any more"},
	} {
		p := pod("p", "n1", selecting("pool", "gpu"), func(p *snapshot.Pod) { p.NamesNode = true })
		n := node("n1")
		n.Labels = map[string]string{"pool": "gpu"}
		v := about(t, Evaluate(newWorld(n, node("n2")).run(p).Snapshot, tt.change, ComparisonOff), "p")
		if v.Verdict != Stays || v.OtherNodes != (tt.want != "") || !strings.Contains(v.Reason, tt.want) {
			t.Errorf("%s: %s, other nodes %t: %s", name, v.Verdict, v.OtherNodes, v.Reason)
		}
	}
}
