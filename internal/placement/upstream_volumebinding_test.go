// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package placement

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/upstream"
)

// TestUpstream_volumeBinding has the facts of TestVolumeBinding, TestFindPodVolumesWithoutProvisioning,
// TestFindPodVolumesWithProvisioning and TestCapacity in k8s.io/kubernetes v1.37.2
// pkg/scheduler/framework/plugins/volumebinding: which node a claim keeps a pod from. The cluster has one node, node1.
func TestUpstream_volumeBinding(t *testing.T) {
	t.Parallel()
	rows := upstream.Cases(t)
	cluster := func() world { return newWorld(labelled(node("node1"), "node", "node1")) }
	anywhere := cluster()
	on := func(name string) world { return cluster().bindTo("data", "pv", expression("node", "In", name)) }
	open := func() world { return cluster().stored() }
	bound := func(w world, node string) world {
		w.Storage.Bound["app"]["data"] = "pv"
		return w.bindTo("data", "pv", expression("node", "In", node))
	}
	one := func() world { return open().claim("one", "static") }
	two := func() world { return one().claim("two", "static", gi(5)) }
	dynamic := func() world { return open().claim("one", "dynamic") }
	narrow := func(value string) world {
		w := dynamic()
		w.Storage.Classes["dynamic"].Topologies = []corev1.TopologySelectorTerm{{MatchLabelExpressions: []corev1.TopologySelectorLabelRequirement{{Key: "node", Values: []string{value}}}}}
		return w
	}
	other := dynamic()
	other.Storage.Classes["dynamic"].Limited = true
	other.Storage.Classes["other"] = &snapshot.StorageClass{Waits: true, Provisions: true, Limited: true, Capacities: []*snapshot.Capacity{capacity("node1", 1<<30, -1)}}
	for _, tt := range []struct {
		name   string
		volume world
		claims []string
		fits   bool
		// ephemeral is set for a pod with a generic ephemeral volume.
		ephemeral bool
	}{
		{name: "no claims", volume: anywhere, fits: true},
		{name: "a bound claim, a volume for every node", volume: anywhere, claims: []string{"data"}, fits: true},
		{name: "a bound claim, a volume for another node, beside an unbound claim", volume: bound(one().volume("a", "node1", 5), "node2"), claims: []string{"data", "one"}},
		{name: "no volumes", volume: on("node2"), fits: true},
		{name: "a volume without a claim", volume: on("node2"), fits: true},
		{name: "a bound claim, a volume for the node", volume: on("node1"), claims: []string{"data"}, fits: true},
		{name: "a claim that was bound at once, a volume for the node", volume: on("node1"), claims: []string{"data"}, fits: true},
		{name: "a claim that was bound at once, a volume for another node", volume: on("node2"), claims: []string{"data"}},

		{name: "a claim that does not exist", volume: open(), claims: []string{"one"}},
		{name: "a claim that does not exist beside a bound one", volume: bound(open(), "node1"), claims: []string{"data", "one"}},
		{name: "a claim alone that does not exist", volume: open(), claims: []string{"none"}},
		{name: "a claim whose volume is gone", volume: open().claim("one", "static", lost), claims: []string{"one"}},
		{name: "a claim that names a volume", volume: open().claim("one", "static", named).volume("a", "node1", 5), claims: []string{"one"}},
		{name: "a claim that names a volume beside another one", volume: one().claim("two", "static", named).volume("a", "node1", 5).volume("b", "node1", 10), claims: []string{"one", "two"}},
		{name: "an unbound claim, a volume of the node", volume: one().volume("c", "node2", 1).volume("a", "node1", 5).volume("b", "node1", 10), claims: []string{"one"}, fits: true},
		{name: "an unbound claim, a volume of another node", volume: one().volume("c", "node2", 1), claims: []string{"one"}},
		{name: "an unbound claim, no volume", volume: one(), claims: []string{"one"}},
		{name: "two unbound claims, two volumes", volume: two().volume("a", "node1", 5).volume("b", "node1", 10), claims: []string{"one", "two"}, fits: true},
		{name: "two unbound claims, the larger one first, a small and a large volume", volume: two().volume("a", "node1", 1).volume("b", "node1", 5), claims: []string{"two", "one"}, fits: true},
		{name: "two unbound claims, one volume", volume: two().volume("a", "node1", 5), claims: []string{"one", "two"}},
		{name: "a bound and an unbound claim, volumes of the node", volume: bound(one().volume("a", "node1", 5), "node1"), claims: []string{"one", "data"}, fits: true},
		{name: "a bound and an unbound claim, a volume of another node", volume: bound(one().volume("c", "node2", 1), "node1"), claims: []string{"one", "data"}},
		{name: "an unbound claim of a class that does not wait", volume: open().claim("one", "immediate"), claims: []string{"one"}},
		{name: "an unbound claim of a class that does not wait beside a bound one", volume: bound(open().claim("one", "immediate"), "node1"), claims: []string{"one", "data"}},
		{name: "an unbound claim of a class that does not wait beside one of a class that does", volume: one().claim("two", "immediate").volume("a", "node1", 5), claims: []string{"one", "two"}},

		{name: "a bound claim of a generic ephemeral volume", volume: open().owns("p", "static"), ephemeral: true, fits: true},

		{name: "a volume is provisioned", volume: dynamic(), claims: []string{"one"}, fits: true},
		{name: "a volume is there and one is provisioned", volume: dynamic().claim("two", "static").volume("a", "node1", 5), claims: []string{"one", "two"}, fits: true},
		{name: "a bound claim and one for which a volume is provisioned", volume: bound(dynamic(), "node1"), claims: []string{"one", "data"}, fits: true},
		{name: "a bound claim and one for which a volume is provisioned on the node", volume: bound(open().claim("one", "dynamic", selected("node1")), "node1"), claims: []string{"one", "data"}, fits: true},
		{name: "a claim for which a volume is provisioned on another node", volume: open().claim("one", "dynamic", selected("node2")), claims: []string{"one"}},
		{name: "a claim of a class that does not wait and has a provisioner", volume: open().claim("one", "immediate"), claims: []string{"one"}},
		{name: "a claim that was bound at once and one for which a volume is provisioned", volume: bound(dynamic(), "node1"), claims: []string{"data", "one"}, fits: true},
		{name: "a class without a provisioner", volume: open().claim("one", "static"), claims: []string{"one"}},
		{name: "a topology without the node", volume: narrow("node2"), claims: []string{"one"}},
		{name: "a topology with the node", volume: narrow("node1"), claims: []string{"one"}, fits: true},
		{name: "a driver that reports capacities and has reported none", volume: dynamic().limited(), claims: []string{"one"}},

		{name: "capacity of every node", volume: dynamic().limited(capacity("", 1<<30, -1)), claims: []string{"one"}, fits: true},
		{name: "capacity of the node", volume: dynamic().limited(capacity("node1", 1<<30, -1)), claims: []string{"one"}, fits: true},
		{name: "capacity of another node and of this one", volume: dynamic().limited(capacity("node2", 1<<30, -1), capacity("node1", 1<<30, -1)), claims: []string{"one"}, fits: true},
		{name: "no capacity object", volume: dynamic().limited(), claims: []string{"one"}},
		{name: "capacity of another node", volume: dynamic().limited(capacity("node2", 1<<30, -1)), claims: []string{"one"}},
		{name: "capacity of another class", volume: other, claims: []string{"one"}},
		{name: "too little capacity", volume: dynamic().limited(capacity("node1", 1<<20, -1)), claims: []string{"one"}},
		{name: "enough capacity, volumes must be smaller", volume: dynamic().limited(capacity("node1", 1<<30, 1<<20)), claims: []string{"one"}},
		{name: "no capacity is left", volume: dynamic().limited(capacity("node1", 0, -1)), claims: []string{"one"}},
		{name: "no volume is small enough", volume: dynamic().limited(capacity("node1", -1, 0)), claims: []string{"one"}},
		{name: "a capacity that is not reported", volume: dynamic().limited(capacity("node1", -1, -1)), claims: []string{"one"}},
	} {
		rows.Run(t, tt.name, func(t *testing.T) {
			t.Parallel()
			p := pod("p", "", claiming(tt.claims...))
			if tt.ephemeral {
				ephemeralVolume(p)
			}
			if fits := New(tt.volume.Snapshot, Scenario{}, false).Fits(p, p.Scheduling); fits != tt.fits {
				t.Errorf("fits %t, want %t", fits, tt.fits)
			}
		})
	}
}
