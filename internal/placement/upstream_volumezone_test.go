// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package placement

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/upstream"
)

// TestUpstream_volumeZone has the facts of TestSingleZone, TestMultiZone and TestWithBinding in k8s.io/kubernetes
// v1.37.2 pkg/scheduler/framework/plugins/volumezone/volume_zone_test.go: which node the zone or region of a
// volume keeps a pod from.
func TestUpstream_volumeZone(t *testing.T) {
	t.Parallel()
	rows := upstream.Cases(t)
	const (
		zone, region       = corev1.LabelTopologyZone, corev1.LabelTopologyRegion
		oldZone, oldRegion = corev1.LabelFailureDomainBetaZone, corev1.LabelFailureDomainBetaRegion
	)
	in := func(key, value string) labels.Set { return labels.Set{key: value, "useless": "none"} }
	for _, tt := range []struct {
		name         string
		volume, node labels.Set
		fits         bool
		// unbound is the class of a claim that no volume is bound to.
		unbound *string
	}{
		{name: "no volume", node: in(oldZone, "a"), fits: true},
		{name: "a node without labels", volume: in(oldZone, "a"), fits: true},
		{name: "the same zone, by the old label", volume: in(oldZone, "a"), node: in(oldZone, "a"), fits: true},
		{name: "the same region, by the old label", volume: in(oldRegion, "r"), node: in(oldRegion, "r"), fits: true},
		{name: "another region, by the old label", volume: in(oldRegion, "r"), node: in(oldRegion, "q")},
		{name: "another zone, by the old label", volume: in(oldZone, "a"), node: in(oldZone, "b")},
		{name: "the same zone", volume: in(zone, "a"), node: in(zone, "a"), fits: true},
		{name: "the same region", volume: in(region, "r"), node: in(region, "r"), fits: true},
		{name: "another region", volume: in(region, "r"), node: in(region, "q")},
		{name: "another zone", volume: in(zone, "a"), node: in(zone, "b")},
		{name: "a zone and a region, a node with a zone alone", volume: labels.Set{zone: "a", region: "r"}, node: in(zone, "a")},
		{name: "the new label, a node with the old one", volume: in(zone, "a"), node: in(oldZone, "a")},
		{name: "the old label, a node with the new one", volume: in(oldZone, "a"), node: in(zone, "a"), fits: true},
		{name: "the old label, a node with the new one in another zone", volume: in(oldZone, "a"), node: in(zone, "b")},

		{name: "two zones, a node without labels", volume: in(oldZone, "c__a"), fits: true},
		{name: "two zones by the old label, one is the node's", volume: in(oldZone, "c__a"), node: in(oldZone, "a"), fits: true},
		{name: "two zones by the old label, none is the node's", volume: in(oldZone, "c__a"), node: in(oldZone, "b")},
		{name: "two zones, one is the node's", volume: in(zone, "c__a"), node: in(zone, "a"), fits: true},
		{name: "two zones, none is the node's", volume: in(zone, "c__a"), node: in(zone, "b")},

		{name: "a bound claim in the zone of the node", volume: in(oldZone, "a"), node: in(oldZone, "a"), fits: true},
		{name: "an unbound claim without a class", node: in(oldZone, "a"), unbound: new("")},
		{name: "an unbound claim of a class that does not exist", node: in(oldZone, "a"), unbound: new("none")},
		{name: "an unbound claim of a class that does not wait", node: in(oldZone, "a"), unbound: new("immediate")},
		{name: "an unbound claim of a class that waits", node: in(oldZone, "a"), unbound: new("dynamic"), fits: true},
	} {
		rows.Run(t, tt.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(&snapshot.Node{Name: "node1", Labels: tt.node}).run(pod("p", "gone", claiming("data")))
			if tt.unbound != nil {
				w = w.stored().claim("data", *tt.unbound)
			}
			if zones := snapshot.ZonesOf(tt.volume); zones != nil {
				w.Volumes = map[string]map[string]*snapshot.Volume{"app": {"data": {Name: "pv", Zones: &zones}}}
			}
			if fits := w.fits(t, "p", Scenario{}); fits != tt.fits {
				t.Errorf("fits %t, want %t", fits, tt.fits)
			}
		})
	}
}

func TestObstacles_nameTheZoneOfAVolume(t *testing.T) {
	t.Parallel()
	zones := snapshot.Zones{corev1.LabelTopologyZone: {"a", "b"}}
	w := newWorld(labelled(node("own"), corev1.LabelTopologyZone, "a"), labelled(node("tainted", "gone:NoExecute"), corev1.LabelTopologyZone, "b"), labelled(node("other"), corev1.LabelTopologyZone, "c")).run(pod("p", "own", claiming("data")))
	w.Volumes = map[string]map[string]*snapshot.Volume{"app": {"data": {Name: "pv", Zones: &zones}}}
	p := w.named(t, "p")
	got := New(w.Snapshot, tainting("own", "gone:NoExecute"), false).Obstacles(p, p.Scheduling)
	if want := ": 1 is tainted gone:NoExecute, its volume pv is bound to nodes with topology.kubernetes.io/zone=a or b"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestZonesOf_ignoresALabelWithAnEmptyZone(t *testing.T) {
	t.Parallel()
	if zones := snapshot.ZonesOf(labels.Set{corev1.LabelTopologyZone: "a__", "other": "b"}); zones != nil {
		t.Errorf("zones %v", zones)
	}
}
