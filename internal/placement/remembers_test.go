// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package placement

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
)

// A finder shares what it has found out between pods that are equal in what decides. One that
// has been asked about other pods before must give the answers of one that has not.
func TestFinder_givesTheAnswersOfANewOne(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld()
		for i := range rapid.IntRange(1, 5).Draw(t, "nodes") {
			n := node(fmt.Sprintf("n%d", i), rapid.SampledFrom([][]string{nil, {"a:NoSchedule"}, {"b:NoExecute"}}).Draw(t, "taints")...)
			n = labelled(n, "pool", rapid.SampledFrom([]string{"a", "b"}).Draw(t, "pool"))
			n.Unschedulable = rapid.Bool().Draw(t, "cordoned")
			if rapid.Bool().Draw(t, "has") {
				n = having(n, rapid.Int64Range(1, 4).Draw(t, "cores"), 8)
			}
			w.Nodes[n.Name] = n
		}
		w = w.bindTo("here", "pv-1", onHost("n0")).bindTo("there", "pv-2", onHost("n1")).bindTo("pool", "pv-3", expression("pool", "In", "a"))
		schedulings := []*snapshot.Scheduling{
			{},
			{Tolerations: []corev1.Toleration{exists("a", "")}, NodeSelector: map[string]string{"pool": "a"}},
			{Tolerations: []corev1.Toleration{exists("", "")}, Affinity: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{expression("pool", "In", "b")}}},
		}
		demands := []*snapshot.Demand{nil, {Asks: snapshot.Resources{MilliCPU: 2000}}, {Asks: snapshot.Resources{MilliCPU: 2000}, Priority: 5}, {Asks: snapshot.Resources{Memory: 9 << 30}}}
		var pods []*snapshot.Pod
		for i := range rapid.IntRange(2, 6).Draw(t, "pods") {
			p := pod(fmt.Sprintf("p%d", i), fmt.Sprintf("n%d", rapid.IntRange(0, 4).Draw(t, "on")), claiming(rapid.SampledFrom([][]string{nil, {"here"}, {"there"}, {"pool"}, {"here", "pool"}}).Draw(t, "claims")...))
			p.Scheduling, p.Demand = rapid.SampledFrom(schedulings).Draw(t, "scheduling"), rapid.SampledFrom(demands).Draw(t, "demand")
			pods = append(pods, p)
		}
		w = w.run(pods...).run(other("heavy", "n0", asking(1, 0)))
		used := New(w.Snapshot, Scenario{}, false)
		for _, p := range pods {
			fresh := New(w.Snapshot, Scenario{}, false)
			fits := used.Fits(p, p.Scheduling)
			if want := fresh.Fits(p, p.Scheduling); fits != want {
				t.Fatalf("%s fits %t, want %t", p.Name, fits, want)
			}
			if fits {
				continue
			}
			if got, want := used.Obstacles(p, p.Scheduling), fresh.Obstacles(p, p.Scheduling); got != want {
				t.Fatalf("%s: got %q, want %q", p.Name, got, want)
			}
		}
	})
}

func TestFinder_asksTheRequirementThatFewestNodesMeetFirst(t *testing.T) {
	t.Parallel()
	w := newWorld(labelled(node("n1"), "pool", "a"), labelled(node("n2"), "pool", "a"), labelled(node("n3"), "disk", "ssd"), node("n4"))
	p := pod("p", "n1", selecting("pool", "a"), requiring(expression("disk", corev1.NodeSelectorOpIn, "ssd")))
	w = w.run(p)
	want := ": 2 do not match its node affinity, 1 does not match its node selector"
	if got := New(w.Snapshot, Scenario{}, false).Obstacles(p, p.Scheduling); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
