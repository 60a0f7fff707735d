// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package placement

import (
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/upstream"
)

// TestUpstream_nodeVolumeLimits has the facts about claims of CSI drivers of TestCSILimits in k8s.io/kubernetes
// v1.37.2 pkg/scheduler/framework/plugins/nodevolumelimits: whether a node attaches a pod's volumes.
func TestUpstream_nodeVolumeLimits(t *testing.T) {
	t.Parallel()
	rows := upstream.Cases(t)
	// without is the limit of a node that has none.
	const without = -1
	ebs, running, gce := []string{"ebs-0"}, []string{"ebs-3"}, []string{"gce-0", "gce-1"}
	for _, tt := range []struct {
		name   string
		limit  int64
		claims []string
		others [][]string
		fits   bool
		// ephemeral are volumes of the pod's own claims, beside those that another pod on the node has.
		ephemeral, beside int
	}{
		{name: "a node with room for one more", limit: 4, claims: ebs, others: [][]string{running, {"ebs-1", "ebs-2"}}, fits: true},
		{name: "a node without room", limit: 2, claims: ebs, others: [][]string{running, {"ebs-1", "ebs-2"}}},
		{name: "a node without a limit of the driver", limit: without, claims: ebs, others: [][]string{running, {"ebs-1", "ebs-2"}}, fits: true},
		{name: "a node without room, beside volumes of another driver", limit: 2, claims: ebs, others: [][]string{gce, {"ebs-1", "ebs-2"}}},
		{name: "a node whose volumes are of another driver", limit: 2, claims: gce, others: [][]string{{"ebs-1", "ebs-2"}, running}, fits: true},
		{name: "a pod without claims", limit: 2, fits: true},
		{name: "a node without room, one of its pods has a claim without a volume", limit: 2, claims: ebs, others: [][]string{{"ebs-unbound"}, {"ebs-1", "ebs-2"}}},
		{name: "two pods have the same claim without a volume", limit: 4, claims: ebs, others: [][]string{{"ebs-unbound"}, {"ebs-unbound"}, {"ebs-1", "ebs-2"}}, fits: true},
		{name: "an ephemeral volume, a node without a limit of the driver", limit: without, ephemeral: 1, fits: true},
		{name: "an ephemeral volume, a node without room", limit: 2, ephemeral: 1, others: [][]string{running, {"ebs-1", "ebs-2"}}},
		{name: "a node without room beside ephemeral volumes", limit: 2, claims: ebs, others: [][]string{running}, beside: 2},
		{name: "a node without room beside an ephemeral volume and others", limit: 3, claims: ebs, others: [][]string{running, {"ebs-1", "ebs-2"}}, beside: 1},
		{name: "a node with room beside an ephemeral volume and others", limit: 5, claims: ebs, others: [][]string{running, {"ebs-1", "ebs-2"}}, beside: 1, fits: true},
		{name: "a pod with a claim, a node with room", limit: 2, claims: ebs, fits: true},
	} {
		rows.Run(t, tt.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(node("n1"), node("n2")).attaching("ebs", tt.limit, tt.limit, "ebs-0", "ebs-1", "ebs-2", "ebs-3", "ebs-unbound").attaching("gce", tt.limit, tt.limit, gce...)
			if tt.limit == without {
				delete(w.Attachments.Limits, "n2")
			}
			p, beside := pod("p", "n1", claiming(tt.claims...)), other("beside", "n2")
			w.run(p, beside)
			w.Attachments.Owned = map[types.UID][]*snapshot.CSIVolume{}
			for owner, n := range map[*snapshot.Pod]int{p: tt.ephemeral, beside: tt.beside} {
				owner.Ephemeral = n > 0
				for i := range n {
					w.Attachments.Owned[owner.UID] = append(w.Attachments.Owned[owner.UID], &snapshot.CSIVolume{Driver: "ebs", Handle: fmt.Sprint(owner.Name, i)})
				}
			}
			for _, claims := range tt.others {
				w.run(other("q", "n2", claiming(claims...)))
			}
			if got := w.simulate().of(t, "web-5d").Placed; got != map[bool]Range{true: {1, 1}}[tt.fits] {
				t.Errorf("placed %v", got)
			}
		})
	}
}
