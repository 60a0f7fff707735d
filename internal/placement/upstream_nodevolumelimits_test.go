// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package placement

import (
	"testing"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/upstream"
)

// TestUpstream_nodeVolumeLimits has the facts about bound claims of CSI drivers of TestCSILimits in k8s.io/kubernetes
// v1.37.2 pkg/scheduler/framework/plugins/nodevolumelimits: whether a node attaches a pod's volumes.
func TestUpstream_nodeVolumeLimits(t *testing.T) {
	t.Parallel()
	rows := upstream.Cases(t)
	// without is the limit of a node that has none.
	const without = -1
	ebs, gce := []string{"ebs-0"}, []string{"gce-0", "gce-1"}
	for _, tt := range []struct {
		name   string
		limit  int64
		claims []string
		others [][]string
		fits   bool
	}{
		{name: "a node with room for one more", limit: 4, claims: ebs, others: [][]string{nil, {"ebs-1", "ebs-2"}}, fits: true},
		{name: "a node without room", limit: 2, claims: ebs, others: [][]string{nil, {"ebs-1", "ebs-2"}}},
		{name: "a node without a limit of the driver", limit: without, claims: ebs, others: [][]string{nil, {"ebs-1", "ebs-2"}}, fits: true},
		{name: "a node without room, beside volumes of another driver", limit: 2, claims: ebs, others: [][]string{gce, {"ebs-1", "ebs-2"}}},
		{name: "a node whose volumes are of another driver", limit: 2, claims: gce, others: [][]string{{"ebs-1", "ebs-2"}, nil}, fits: true},
		{name: "a pod without claims", limit: 2, fits: true},
		{name: "a pod with a claim, a node with room", limit: 2, claims: ebs, fits: true},
	} {
		rows.Run(t, tt.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(node("n1"), node("n2")).attaching("ebs", tt.limit, tt.limit, "ebs-0", "ebs-1", "ebs-2").attaching("gce", tt.limit, tt.limit, gce...)
			if tt.limit == without {
				delete(w.Attachments.Limits, "n2")
			}
			w.run(pod("p", "n1", claiming(tt.claims...)))
			for _, claims := range tt.others {
				w.run(other("q", "n2", claiming(claims...)))
			}
			if got := w.simulate().of(t, "web-5d").Placed; got != map[bool]Range{true: {1, 1}}[tt.fits] {
				t.Errorf("placed %v", got)
			}
		})
	}
}
