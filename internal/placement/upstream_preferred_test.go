// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package placement

import (
	"cmp"
	"fmt"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/upstream"
)

// TestUpstream_preferredNodes has the facts of TestNodeAffinityPriority in k8s.io/kubernetes v1.37.2
// pkg/scheduler/framework/plugins/nodeaffinity/node_affinity_test.go and of TestPreferredSchedulingTermsScore
// in k8s.io/component-helpers v0.37.2 scheduling/corev1/nodeaffinity/nodeaffinity_test.go: which of the
// preferred terms select a node, and their weights together.
func TestUpstream_preferredNodes(t *testing.T) {
	t.Parallel()
	rows := upstream.Cases(t)
	type labels = map[string]string
	type terms = []corev1.PreferredSchedulingTerm
	const in = corev1.NodeSelectorOpIn
	prefer := func(weight int32, term corev1.NodeSelectorTerm) corev1.PreferredSchedulingTerm {
		return corev1.PreferredSchedulingTerm{Weight: weight, Preference: term}
	}
	foo, key, az := want("foo", in, "bar"), want("key", in, "value"), want("az", in, "az1")
	one, three := terms{prefer(2, byLabels(foo))}, terms{prefer(2, byLabels(foo)), prefer(4, byLabels(key)), prefer(5, byLabels(foo, key, az))}
	bar, value, all := labels{"foo": "bar"}, labels{"key": "value"}, labels{"foo": "bar", "key": "value", "az": "az1"}
	invalid := byLabels(want("invalid key", in, "label_value"))
	rows.Run(t, "no terms", func(t *testing.T) {
		t.Parallel()
		w := newWorld()
		for name, has := range map[string]labels{"n0": bar, "n1": value, "n2": {"az": "az1"}} {
			n := node(name)
			n.Labels, n.Allocatable = has, new(snapshot.ResourcesOf(amounts("cpu=4 memory=10000")))
			w.Nodes[name] = n
		}
		s, class := w.prepared(fromAPI(&corev1.Pod{Spec: corev1.PodSpec{Containers: containers("cpu=1 memory=2000")}}))
		free, balanced := s.state(0).free(class.demand), s.state(0).balancing(class.demand)
		for i := range s.places {
			n := s.state(int32(i))
			if f, b := n.free(class.demand), n.balancing(class.demand); f != free || b != balanced {
				t.Errorf("node %d has %d and %d, and the first %d and %d", i, f, b, free, balanced)
			}
		}
	})
	// The scheduler skips the preferences of such a pod: they add nothing to the scores of any node.
	rows.Run(t, "no terms, and one node", func(t *testing.T) {
		t.Parallel()
		var got [2][2]int64
		for i, has := range []labels{bar, nil} {
			w := newWorld()
			n := node("n0")
			n.Labels, n.Allocatable = has, new(snapshot.ResourcesOf(amounts("cpu=4 memory=10000")))
			w.Nodes["n0"] = n
			s, class := w.prepared(fromAPI(&corev1.Pod{Spec: corev1.PodSpec{Containers: containers("cpu=1 memory=2000")}}))
			got[i] = [2]int64{s.state(0).free(class.demand), s.state(0).balancing(class.demand)}
		}
		if got[0] != got[1] || got[0] == [2]int64{} {
			t.Errorf("the node scores %v, and %v without labels", got[0], got[1])
		}
	})
	for _, tt := range []struct {
		name  string
		terms terms
		node  string
		nodes []labels
		want  []int32
		// normalized are the scores of the nodes, nil for none that upstream has.
		normalized []int64
	}{
		{name: "a term that is invalid", terms: terms{prefer(2, invalid)}, nodes: []labels{bar}, want: []int32{0}},
		{name: "a term that selects no node", terms: one, nodes: []labels{{"abc": "az11", "def": "az22"}, value, {"az": "az1"}}, want: []int32{0, 0, 0}, normalized: []int64{0, 0, 0}},
		{name: "a term that selects one node", terms: one, nodes: []labels{bar, value, {"az": "az1"}}, want: []int32{2, 0, 0}, normalized: []int64{100, 0, 0}},
		{name: "terms that select several nodes", terms: three, nodes: []labels{bar, all, value}, want: []int32{2, 11, 4}, normalized: []int64{18, 100, 36}},
		{name: "terms that select several nodes, without PreScore", terms: three, nodes: []labels{bar, all, value}, want: []int32{2, 11, 4}, normalized: []int64{18, 100, 36}},

		{name: "terms of which two are invalid", terms: terms{prefer(1, byFields(onNames("host_1", "host_2"))), prefer(1, byBoth(onNames("host_1"), want("label_1", in, "label_1_val"))), prefer(1, invalid)}, nodes: []labels{{}}, want: []int32{0}},
		{name: "an invalid term without a weight", terms: terms{prefer(0, byFields(onNames("host_1", "host_2")))}, node: "host_1", nodes: []labels{{}}, want: []int32{0}},
		{
			name:  "the first and the third term",
			terms: terms{prefer(5, byFields(onNames("host_1"))), prefer(7, byLabels(want("unknown_label", in, "unknown_label_val"))), prefer(11, byLabels(want("label_1", in, "label_1_val")))},
			node:  "host_1", nodes: []labels{{"label_1": "label_1_val"}}, want: []int32{16},
		},
	} {
		rows.Run(t, tt.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld()
			for i, has := range tt.nodes {
				n := node(cmp.Or(tt.node, fmt.Sprintf("n%d", i)))
				n.Labels = has
				w.Nodes[n.Name] = n
			}
			p := pod("p", "", preferring(tt.terms...))
			s := newSimulation(New(w.Snapshot, Scenario{}, false), nil)
			l := s.search(p, p.Scheduling)
			var got []int32
			for i := range tt.nodes {
				got = append(got, s.preferred(l, int32(i)))
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("the nodes have %v, want %v", got, tt.want)
			}
			for i, want := range tt.normalized {
				if score := affinityScore(got[i], slices.Max(got)); score != want {
					t.Errorf("node %d scores %d, want %d", i, score, want)
				}
			}
		})
	}
}
