// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package placement

import (
	"maps"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
)

// TestSimulate_podsAvoidPreferNoSchedule: twelve small pods go to the node with fewer taints that they do not
// tolerate, and leave the other one to a large pod, in every order in which scores count. Where nothing tells the
// nodes apart, they take room on both.
func TestSimulate_podsAvoidPreferNoSchedule(t *testing.T) {
	t.Parallel()
	const prefer = corev1.TaintEffectPreferNoSchedule
	roomy := func(name string, taints ...string) *snapshot.Node {
		n := having(node(name, taints...), 12, 64)
		n.Allocatable.Pods = 110
		return n
	}
	sometimes := Range{0, 1}
	for _, tt := range []struct {
		name        string
		n2, n3      []string
		change      map[string][]corev1.Taint
		tolerations []corev1.Toleration
		want        Range
	}{
		{name: "no taint", want: exactly(1)},
		{name: "a taint on one node", n2: []string{"soft:PreferNoSchedule"}, want: sometimes},
		{name: "a taint on both nodes", n2: []string{"soft:PreferNoSchedule"}, n3: []string{"other:PreferNoSchedule"}, want: exactly(1)},
		{name: "one node has more taints", n2: []string{"soft:PreferNoSchedule", "softer:PreferNoSchedule"}, n3: []string{"soft:PreferNoSchedule"}, want: sometimes},
		{name: "a taint that is tolerated", n2: []string{"soft:PreferNoSchedule"}, tolerations: []corev1.Toleration{exists("soft", prefer)}, want: exactly(1)},
		{name: "a toleration of every effect", n2: []string{"soft:PreferNoSchedule"}, tolerations: []corev1.Toleration{exists("soft", "")}, want: exactly(1)},
		{name: "a toleration of another effect", n2: []string{"soft:PreferNoSchedule"}, tolerations: []corev1.Toleration{exists("soft", corev1.TaintEffectNoSchedule)}, want: sometimes},
		{name: "a taint that the change adds", change: map[string][]corev1.Taint{"n3": taintsOf("soft:PreferNoSchedule")}, want: sometimes},
		{name: "a taint that the change removes", n2: []string{"soft:PreferNoSchedule"}, change: map[string][]corev1.Taint{"n2": nil}, want: exactly(1)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(roomy("n1"), roomy("n2", tt.n2...), roomy("n3", tt.n3...))
			w = w.run(replicas("small", "n1", 12, cloned, asking(1, 1), scored(1, 1), priority(10), tolerating(tt.tolerations...))...)
			w = w.run(pod("large", "n1", ownedBy("ReplicaSet", "large"), asking(12, 1), scored(12, 1)))
			change := gone("n1")
			maps.Copy(change.Taints, tt.change)
			out := inOneWave(New(w.Snapshot, change, false), w.evictAll("n1")).try(Orders, 1)
			if out.Pending != tt.want || out.of(t, "small").Pending != exactly(0) {
				t.Errorf("%v are Pending, want %v, and %v of the small ones", out.Pending, tt.want, out.of(t, "small").Pending)
			}
		})
	}
}

// TestSimulate_podsFollowPreferredNodeAffinity: twelve urgent pods go to the node that they prefer, and leave no room for a
// pod that requires it, in every order in which scores count. Where they prefer the other node, or both alike, they leave room.
func TestSimulate_podsFollowPreferredNodeAffinity(t *testing.T) {
	t.Parallel()
	const in = corev1.NodeSelectorOpIn
	roomy := func(name string, taints ...string) *snapshot.Node {
		n := labelled(having(node(name, taints...), 12, 64), "zone", name)
		n.Allocatable.Pods = 110
		return n
	}
	prefer := func(weight int32, zones ...string) corev1.PreferredSchedulingTerm {
		return corev1.PreferredSchedulingTerm{Weight: weight, Preference: expression("zone", in, zones...)}
	}
	type terms = []corev1.PreferredSchedulingTerm
	never, sometimes := exactly(0), Range{0, 1}
	for _, tt := range []struct {
		name   string
		terms  terms
		taints []string
		labels map[string]map[string]string
		want   Range
	}{
		{name: "no preference", want: never},
		{name: "the node that the other pod requires", terms: terms{prefer(1, "n2")}, want: sometimes},
		{name: "the other node", terms: terms{prefer(1, "n3")}, want: never},
		{name: "both nodes", terms: terms{prefer(50, "n2", "n3")}, want: never},
		{name: "both nodes, the required one more", terms: terms{prefer(10, "n2", "n3"), prefer(90, "n2")}, want: sometimes},
		{name: "both nodes, the other one more", terms: terms{prefer(10, "n2", "n3"), prefer(90, "n3")}, want: never},
		{name: "a taint that weighs more", terms: terms{prefer(1, "n2")}, taints: []string{"soft:PreferNoSchedule"}, want: never},
		{name: "labels that the change gives", terms: terms{prefer(1, "new")}, labels: map[string]map[string]string{"n2": {"kubernetes.io/hostname": "n2", "zone": "new"}}, want: sometimes},
		{name: "a name of a node", terms: terms{{Weight: 1, Preference: byFields(onNames("n2"))}}, want: sometimes},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(roomy("n1"), roomy("n2", tt.taints...), roomy("n3"))
			w = w.run(replicas("urgent", "n1", 12, cloned, asking(1, 1), scored(1, 1), priority(10), preferring(tt.terms...))...)
			w = w.run(pod("calm", "n1", ownedBy("ReplicaSet", "calm"), asking(1, 1), scored(1, 1), selecting("kubernetes.io/hostname", "n2")))
			change := gone("n1")
			change.Labels = tt.labels
			out := New(w.Snapshot, change, false).Simulate(w.evictAll("n1"), Orders, 1)
			if out.Pending != tt.want || out.of(t, "urgent").Pending != exactly(0) {
				t.Errorf("%v are Pending, want %v, and %v of the urgent ones", out.Pending, tt.want, out.of(t, "urgent").Pending)
			}
		})
	}
}
