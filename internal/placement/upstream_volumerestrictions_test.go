// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package placement

import (
	"testing"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/upstream"
)

// exclusive binds claims of namespace "app" to volumes that one pod can use at a time.
func (w world) exclusive(claims ...string) world {
	if w.Volumes == nil {
		w.Volumes = map[string]map[string]*snapshot.Volume{"app": {}}
	}
	for _, claim := range claims {
		w.Volumes["app"][claim] = &snapshot.Volume{Name: "pv-" + claim, Exclusive: true}
	}
	return w
}

// TestUpstream_volumeRestrictions has the facts of TestAccessModeConflicts in k8s.io/kubernetes v1.37.2
// pkg/scheduler/framework/plugins/volumerestrictions: whether pods that run keep a pod from its claims.
func TestUpstream_volumeRestrictions(t *testing.T) {
	t.Parallel()
	rows := upstream.Cases(t)
	for _, tt := range []struct {
		name          string
		claims, other []string
		fits          bool
	}{
		{name: "nothing is claimed", fits: true},
		{name: "another pod uses a claim of many pods", claims: []string{"one"}, other: []string{"shared"}, fits: true},
		{name: "another pod uses the claim", claims: []string{"one"}, other: []string{"one", "shared"}},
		{name: "another pod uses both claims", claims: []string{"one", "two"}, other: []string{"one", "two", "shared"}},
	} {
		rows.Run(t, tt.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(node("n1"), node("n2"), node("n3")).exclusive("one", "two").run(pod("p", "n1", claiming(tt.claims...)), other("q", "n2", claiming(tt.other...)))
			if got := w.simulate().of(t, "web-5d").Placed; got != map[bool]Range{true: {1, 1}}[tt.fits] {
				t.Errorf("placed %v", got)
			}
		})
	}
}
