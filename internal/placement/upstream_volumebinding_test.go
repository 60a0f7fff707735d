// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package placement

import (
	"testing"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/upstream"
)

// TestUpstream_volumeBinding has the facts about bound claims of TestVolumeBinding and
// TestFindPodVolumesWithoutProvisioning in k8s.io/kubernetes v1.37.2
// pkg/scheduler/framework/plugins/volumebinding: which node a volume keeps a pod from.
func TestUpstream_volumeBinding(t *testing.T) {
	t.Parallel()
	rows := upstream.Cases(t)
	anywhere := newWorld()
	on := func(name string) world { return newWorld().bindTo("data", "pv", expression("node", "In", name)) }
	for _, tt := range []struct {
		name    string
		volumes world
		claims  []string
		fits    bool
	}{
		{name: "no claims", volumes: anywhere, fits: true},
		{name: "a bound claim, a volume for every node", volumes: anywhere, claims: []string{"data"}, fits: true},
		{name: "a bound claim, a volume for another node, beside an unbound claim", volumes: on("node2"), claims: []string{"data", "unbound"}},
		{name: "no volumes", volumes: on("node2"), fits: true},
		{name: "a volume without a claim", volumes: on("node2"), fits: true},
		{name: "a bound claim, a volume for the node", volumes: on("node1"), claims: []string{"data"}, fits: true},
		{name: "a claim that was bound at once, a volume for the node", volumes: on("node1"), claims: []string{"data"}, fits: true},
		{name: "a claim that was bound at once, a volume for another node", volumes: on("node2"), claims: []string{"data"}},
	} {
		rows.Run(t, tt.name, func(t *testing.T) {
			t.Parallel()
			w := tt.volumes.run(pod("p", "gone", claiming(tt.claims...)))
			w.Nodes["node1"] = labelled(node("node1"), "node", "node1")
			if fits := w.fits(t, "p", Change{}); fits != tt.fits {
				t.Errorf("fits %t, want %t", fits, tt.fits)
			}
		})
	}
}
