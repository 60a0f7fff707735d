// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package placement

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
)

// A node holds in the end, and counters count, what they would if all pods were
// counted anew, and no node holds more than it has.
func TestSimulation_countsAsFromScratch(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		c := drawCluster(t, true, true)
		if rapid.Bool().Draw(t, "unsure") {
			c.change.Leaving = func(string) func(*snapshot.Pod) bool {
				return func(p *snapshot.Pod) bool { return strings.HasSuffix(p.Name, "1") }
			}
		}
		s := c.simulation()
		for order := range 6 {
			s.run(7, order)
			for i := range s.places {
				s.sameAsFromScratch(t, int32(i))
			}
			for _, one := range s.rules.shared {
				s.sameCount(t, one)
			}
			s.samePreferences(t)
		}
	})
}

func (s *simulation) sameAsFromScratch(t *rapid.T, i int32) {
	p := s.places[i]
	var want nodeState
	for _, o := range s.occupants(i, nil) {
		want.hold(p, o, 1)
		want.attach(p.limits, s.attachments.of(o.pod), 1)
	}
	got := s.state(i)
	if got.milliCPU != want.milliCPU || got.memory != want.memory || got.pods != want.pods || len(got.ports) != len(want.ports) || len(got.disks) != len(want.disks) || !sameVolumes(got, &want) {
		t.Fatalf("%s holds %+v, want %+v", p.node.Name, *got, want)
	}
	if got.milliCPU > p.has.MilliCPU || got.memory > p.has.Memory || got.pods > p.has.Pods {
		t.Fatalf("%s holds %+v and has %+v", p.node.Name, *got, *p.has)
	}
	for a, one := range got.ports {
		for _, other := range got.ports[:a] {
			if one.Conflicts(other) && s.everPlaced(i) {
				t.Fatalf("%s has conflicting ports %v", p.node.Name, got.ports)
			}
		}
	}
}

// sameVolumes reports whether as many volumes are attached.
func sameVolumes(a, b *nodeState) bool {
	for i := range max(len(a.counts), len(b.counts)) {
		of := func(n *nodeState) int64 {
			if n.counts == nil {
				return 0
			}
			return n.counts[i]
		}
		if of(a) != of(b) {
			return false
		}
	}
	return true
}

// everPlaced is set where the last port is that of a placed pod: those that were there before may
// conflict.
func (s *simulation) everPlaced(i int32) bool {
	var before int
	for _, o := range s.occupants(i, nil) {
		if o.replacement == nil && o.pod.Rules != nil {
			before += len(o.pod.Rules.Ports)
		}
	}
	return before < 2
}

func (s *simulation) sameCount(t *rapid.T, c *counter) {
	topology, on := c.topology, c.on
	if c.soft != nil {
		topology, on = c.soft.topology, c.soft.on
	}
	s.sameCounts(t, topology, on, func(i int32, o occupant) bool {
		return (c.eligible == nil || c.eligible[i]) && (c.includes == nil || c.includes(int(i))) && (!c.lasting || !o.terminating()) && c.selects(o)
	})
}

func (s *simulation) samePreferences(t *rapid.T) {
	for key, alike := range s.rules.attractions.of {
		for _, term := range alike.terms {
			if term.counted != nil {
				s.sameCounts(t, term.counted.topology, term.counted.on, func(_ int32, o occupant) bool { return rulesKey{o.pod.Rules, o.pod.Namespace} == key })
			}
		}
	}
	for key, d := range s.spreads.of {
		of := func(_ int32, o occupant) bool {
			return o.pod.Controller != nil && spreadKeyOf(o.pod.Controller, o.replacement != nil && o.replacement.next) == key && !o.terminating()
		}
		s.sameCounts(t, d.hosts.topology, d.hosts.on, of)
		s.sameCounts(t, d.zones.topology, d.zones.on, of)
	}
}

// sameCounts compares counts with those of the pods that are on nodes now.
func (s *simulation) sameCounts(t *rapid.T, of *topology, on func(int32) (int32, bool), counted func(i int32, o occupant) bool) {
	want := make([]int32, of.domains)
	for i := range s.places {
		for _, o := range s.occupants(int32(i), nil) {
			if of.of[i] >= 0 && counted(int32(i), o) {
				want[of.of[i]]++
			}
		}
	}
	for i := range s.places {
		if got, in := on(int32(i)); in && got != want[of.of[i]] {
			t.Fatalf("counted %d in the domain of node %d, want %v", got, i, want)
		}
	}
}
