// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package placement

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
)

// sharing are two Pending pods with the claim "one", which ask for as many cores, on nodes n2 and n3 with 8 each.
func sharing(cores int64, class string, options ...claimOption) world {
	w := threeNodes().claim("one", class, options...)
	for _, name := range []string{"w0", "w1"} {
		w.Waiting = append(w.Waiting, pod(name, "", claiming("one"), asking(cores, 1), ownedBy("ReplicaSet", "w")))
	}
	return w
}

// topology has volumes of class "dynamic" made for nodes with these values of a label alone.
func (w world) topology(key string, values ...string) world {
	for _, n := range w.SortedNodes() {
		n.Labels["zone"] = "z"
	}
	w.Storage.Classes["dynamic"].Topologies = []corev1.TopologySelectorTerm{{MatchLabelExpressions: []corev1.TopologySelectorLabelRequirement{{Key: key, Values: values}}}}
	return w
}

// The first pod with a claim decides for which node its volume is made. While that lasts, the others fit no other node, and
// then those that can use the volume (k8s.io/kubernetes v1.37.2 pkg/scheduler/framework/plugins/volumebinding/binder.go,
// FindPodVolumes and AssumePodVolumes).
func TestSharedClaims_podsUseTheVolumeOfTheFirst(t *testing.T) {
	t.Parallel()
	const together, apart, pending = "on one node", "on two nodes", "one is Pending"
	large := capacity("", 8<<30, -1)
	for name, tt := range map[string]struct {
		world   world
		want    []string
		unknown []string
	}{
		"a volume of a node has room for both":                    {world: sharing(1, "dynamic").topology("node", "n2", "n3"), want: []string{together}},
		"a volume of a node has room for one":                     {world: sharing(8, "dynamic").topology("node", "n2", "n3"), want: []string{pending}},
		"a volume of a zone has room for both on a node":          {world: sharing(1, "dynamic").topology("zone", "z"), want: []string{together}},
		"a volume of a zone has room for one on each node":        {world: sharing(8, "dynamic").topology("zone", "z"), want: []string{apart}},
		"capacity of each node, room for both on a node":          {world: sharing(1, "dynamic").limited(capacity("n2", 1<<30, -1), capacity("n3", 1<<30, -1)), want: []string{together}},
		"capacity of each node, room for one on each node":        {world: sharing(8, "dynamic").limited(capacity("n2", 1<<30, -1), capacity("n3", 1<<30, -1)), want: []string{pending}},
		"capacity of all nodes, room for one on each node":        {world: sharing(8, "dynamic").limited(large), want: []string{apart}},
		"capacity of all nodes for one volume, not for two":       {world: sharing(8, "dynamic").limited(capacity("", 1<<30, -1)), want: []string{apart}},
		"no topology is known, room for both on a node":           {world: sharing(1, "dynamic"), want: []string{together}},
		"no topology is known, room for one on each node":         {world: sharing(8, "dynamic"), want: []string{apart, pending}, unknown: []string{`volumes of StorageClass "dynamic"`}},
		"a node was chosen before, room for both on it":           {world: sharing(1, "dynamic", selected("n3")), want: []string{together}},
		"a node was chosen before, room for one on it":            {world: sharing(8, "dynamic", selected("n3")), want: []string{pending}},
		"available volumes of two nodes, room for both on a node": {world: sharing(1, "static").volume("a", "n2", 1).volume("b", "n3", 1), want: []string{together}},
		"available volumes of two nodes, room for one on each":    {world: sharing(8, "static").volume("a", "n2", 1).volume("b", "n3", 1), want: []string{pending}},
		"an available volume of every node":                       {world: sharing(8, "static").volume("a", "", 1), want: []string{apart}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, got := newSimulation(New(tt.world.Snapshot, gone("n1"), false), nil), map[string]bool{}
			for order := range Orders {
				s.run(1, order)
				switch one, other := s.replacements[0].node, s.replacements[1].node; {
				case one < 0 || other < 0:
					got[pending] = true
				case one == other:
					got[together] = true
				default:
					got[apart] = true
				}
			}
			for _, one := range []string{together, apart, pending} {
				if got[one] != slices.Contains(tt.want, one) {
					t.Errorf("%s in some order: %t", one, got[one])
				}
			}
			if unknown := s.unmodelledStorage(); !slices.Equal(unknown, tt.unknown) {
				t.Errorf("not modelled %q", unknown)
			}
		})
	}
}

// A claim that pods name keeps its volume when one of them is gone. A generic ephemeral volume goes with its pod.
func TestUsedStorage_aClaimKeepsItsVolume(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		world world
		keeps bool
	}{
		"an available volume of a claim":                    {threeNodes().claim("one", "static").volume("a", "n2", 1), true},
		"a volume that is made for a claim":                 {threeNodes().claim("one", "dynamic").limited(capacity("", 1<<30, -1)), true},
		"an available volume of a generic ephemeral volume": {threeNodes().owns("p", "static").volume("a", "n2", 1), false},
		"a volume that is made for one":                     {threeNodes().owns("p", "dynamic").limited(capacity("", 1<<30, -1)), false},
	} {
		p := pod("p", "", claiming("one"), ownedBy("ReplicaSet", "w"))
		if len(tt.world.Storage.Owned) > 0 {
			p = pod("p", "", ephemeralVolume, ownedBy("ReplicaSet", "w"))
			clear(tt.world.Storage.Bound["app"])
		}
		tt.world.Waiting = []*snapshot.Pod{p}
		s := newSimulation(New(tt.world.Snapshot, gone("n1"), false), nil)
		s.run(1, 1)
		placed := s.replacements[0]
		uses := func() bool {
			sum := len(s.used.volumes)
			for _, size := range s.used.capacities {
				sum += int(size)
			}
			return sum > 0
		}
		if placed.node < 0 || !uses() {
			t.Fatalf("%s: the pod is on %d, with %v", name, placed.node, placed.binding)
		}
		if s.used.release(placed.binding); uses() != tt.keeps {
			t.Errorf("%s: it stays used: %t", name, uses())
		}
	}
}
