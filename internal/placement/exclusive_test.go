// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package placement

import (
	"testing"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
)

func TestExclusive_claimsAreUsedByOnePodAtATime(t *testing.T) {
	t.Parallel()
	data := claiming("data")
	nodes := func(pods ...*snapshot.Pod) world {
		return newWorld(having(node("n1"), 8, 8), having(node("n2"), 8, 8), having(node("n3"), 8, 8)).exclusive("data").run(pods...)
	}
	waits := func(w world, p *snapshot.Pod) world {
		w.Waiting = append(w.Waiting, p)
		return w
	}
	web := func(options ...podOption) *snapshot.Pod { return pod("p", "n1", append(options, asking(1, 1))...) }
	for name, tt := range map[string]struct {
		world   world
		pending Range
		reason  string
	}{
		"the evicted pod's own use ends":            {world: nodes(web(data))},
		"a pod that stays uses it":                  {nodes(web(data), other("q", "n2", data)), Range{1, 1}, "2 are ruled out while another pod uses its ReadWriteOncePod claim, 1 is tainted gone:NoExecute"},
		"a pod of another namespace has a namesake": {world: nodes(web(data), other("q", "n2", data, func(p *snapshot.Pod) { p.Namespace = "prod" }))},
		"a pod that has completed used it":          {world: nodes(web(data), other("q", "n2", data, completed))},
		"a Pending pod may get it first":            {waits(nodes(web(data)), other("q", "", data, asking(1, 1))), Range{0, 1}, "2 are ruled out while another pod uses its ReadWriteOncePod claim, 1 is tainted gone:NoExecute"},
		"a pod that terminates gives it up":         {world: nodes(web(data), other("q", "n2", data, terminating))},
		"it preempts the pod that uses it":          {world: nodes(pod("p", "n1", data, asking(1, 1), priority(9)), other("q", "n2", data, asking(1, 1)))},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := tt.world.simulate().of(t, "web-5d")
			if got.Missing != tt.pending || got.Reason != tt.reason {
				t.Errorf("pending %v, reason %q", got.Missing, got.Reason)
			}
		})
	}
}
