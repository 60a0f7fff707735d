// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package placement

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/upstream"
)

// inZone is a free volume of nodes in this zone and its region.
func inZone(zone string) volumeOption {
	return func(v *snapshot.FreeVolume) {
		term := expression(corev1.LabelTopologyZone, corev1.NodeSelectorOpIn, "zone-"+zone)
		term.MatchExpressions = append(term.MatchExpressions, want(corev1.LabelTopologyRegion, corev1.NodeSelectorOpIn, "region-"+zone))
		v.Affinity = &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{term}}
	}
}

// inClass is a free volume of another class.
func inClass(class string) volumeOption { return func(v *snapshot.FreeVolume) { v.Class = class } }

// TestUpstream_volumeBindingNodes has the facts of TestVolumeBinding in k8s.io/kubernetes v1.37.2
// pkg/scheduler/framework/plugins/volumebinding/volume_binding_test.go about several nodes: which of them a pod's unbound
// claims keep it from. Scores of volumes are not among them.
func TestUpstream_volumeBindingNodes(t *testing.T) {
	t.Parallel()
	rows := upstream.Cases(t)
	nodes := func(names ...string) world {
		w := newWorld().stored()
		for _, name := range names {
			w.Nodes[name] = labelled(node(name), "node", name)
		}
		w.Storage.Classes["disks"] = &snapshot.StorageClass{Waits: true}
		return w
	}
	zones := func() world {
		w := nodes("zone-a-1", "zone-a-2", "zone-b-1", "zone-b-2", "zone-c-1", "zone-c-2").claim("one", "static", gi(50))
		for name, n := range w.Nodes {
			labelled(n, corev1.LabelTopologyZone, name[:6])
			labelled(n, corev1.LabelTopologyRegion, strings.Replace(name[:6], "zone", "region", 1))
		}
		return w.volume("a-0", "", 200, inZone("a")).volume("a-1", "", 200, inZone("a")).volume("b-0", "", 100, inZone("b")).volume("b-1", "", 100, inZone("b"))
	}
	local := func(w world, options ...volumeOption) world {
		return w.volume("a-0", "a", 200, options...).volume("a-1", "a", 200, options...).volume("b-0", "b", 100, options...).volume("b-1", "b", 100, options...)
	}
	one := func() world { return local(nodes("a", "b", "c").claim("one", "static", gi(50))) }
	left := func(node string, gi int64) *snapshot.Capacity { return capacity(node, gi<<30, -1) }
	dynamic := func(b int64) world {
		return nodes("a", "b", "c").claim("one", "dynamic", gi(10)).limited(left("a", 100), left("b", b), left("c", 10))
	}
	both := []string{"one", "two"}
	for _, tt := range []struct {
		name   string
		world  world
		claims []string
		// want has a letter for each node: "y" where it takes the pod, "-" where it never does.
		want string
	}{
		{name: "local volumes", world: one(), want: "yy-"},
		{name: "local volumes of two classes", world: local(one().claim("two", "disks", gi(100)), inClass("disks")), claims: both, want: "yy-"},
		{name: "volumes of zones", world: zones(), want: "yyyy--"},
		{name: "capacities of three nodes, one is just enough", world: dynamic(50), want: "yyy"},
		{name: "capacities and local volumes", world: dynamic(50).claim("two", "static", gi(50)).volume("a-0", "a", 100).volume("b-0", "b", 100).volume("c-0", "c", 100), claims: both, want: "yyy"},
		{name: "a capacity for two claims of a class", world: nodes("a").claim("one", "dynamic", gi(50)).claim("two", "dynamic", gi(50)).limited(left("a", 100)), claims: both, want: "y"},
		{name: "capacities of three nodes, two are small", world: dynamic(20), want: "yyy"},
	} {
		rows.Run(t, tt.name, func(t *testing.T) {
			t.Parallel()
			claims := tt.claims
			if claims == nil {
				claims = both[:1]
			}
			s, class := tt.world.prepared(pod("p", "", claiming(claims...)))
			got := ""
			for i := range s.places {
				got += string("yn-"[s.ask(class, int32(i))])
			}
			if got != tt.want {
				t.Errorf("nodes answer %s, want %s", got, tt.want)
			}
		})
	}
}
