// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package evictionpreview_test

import (
	"maps"
	"slices"
	"testing"
)

// How many of a thousand may differ from the prediction.
const (
	mostOutside    = 5   // workloads outside of their range
	mostWrong      = 3   // pods of workloads with a number, where no proof stands
	mostFar        = 50  // clusters whose total of Pending pods is off by more than two
	mostVictims    = 0   // clusters with another number of preempted pods on other nodes
	mostUnlike     = 10  // workloads with another number of preempted pods
	mostUnnumbered = 200 // workloads without a number
	mostCrowded    = 500 // workloads without a number, in crowded clusters and with a ResourceQuota
	mostWider      = 50  // workloads with a wider range than ten equal changes come to
	enoughClusters = 400 // clusters that show each share exactly, and have each feature several times
)

// share is how many of all differ from the prediction, and how many of a thousand may.
type share struct {
	what            string
	n, of, perMille int
	// class is set for one kind of workloads: even enoughClusters have few of these.
	class bool
	// few is how many more may in few clusters, 1 if it is 0: one workload that differs does so by several pods.
	few int
}

// exceeded reports whether more differ than may. No share allows more than its figure, with two exceptions:
//   - One class of workloads may have one more.
//   - Fewer clusters than enoughClusters may have one more, or few.
func (s share) exceeded(clusters int) bool {
	more := 0
	if s.class {
		more = 1
	}
	if clusters < enoughClusters {
		more = max(1, s.few)
	}
	return s.n*1000 > s.of*s.perMille+more*1000
}

// expectShares fails for each share that is exceeded.
func expectShares(t *testing.T, clusters int, shares ...share) {
	t.Helper()
	for _, s := range shares {
		t.Logf("%s: %d of %d, at most %.1f %% may be", s.what, s.n, s.of, float64(s.perMille)/10)
		if s.exceeded(clusters) {
			t.Errorf("%s: %d of %d are too many in %d clusters", s.what, s.n, s.of, clusters)
		}
	}
}

// expect fails if the simulation is wrong too often, in all or in one class.
func (c *placed) expect(t *testing.T) {
	t.Helper()
	t.Logf("%d clusters, %d workloads, %d with Pending pods, %d of which something is proved, %d preempted pods", c.clusters, c.workloads, c.pending, c.proved, c.victims)
	expectShares(t, c.clusters, slices.Concat(c.differing("all", false), []share{
		{what: "clusters with a total of Pending pods off by more than two", n: c.far, of: c.clusters, perMille: mostFar},
		{what: "clusters with another number of preempted pods", n: c.wrongVictims, of: c.clusters, perMille: mostVictims, few: 3},
	})...)
	for _, class := range slices.Sorted(maps.Keys(c.classes)) {
		expectShares(t, c.clusters, c.classes[class].differing(class, true)...)
	}
}

// differing returns the shares of workloads and of pods that differ from the prediction.
func (c *placed) differing(of string, class bool) []share {
	return []share{
		{what: of + ", workloads outside of their range", n: c.outside, of: c.workloads, perMille: mostOutside, class: class, few: 2},
		{what: of + ", pods other than predicted", n: c.wrong, of: c.pods, perMille: mostWrong, class: class, few: 4},
	}
}

// unnumbered returns the share of workloads without a number. Few clusters may be of another sort than most.
func (c *placed) unnumbered(of string, perMille, few int) share {
	return share{what: of + ", workloads without a number", n: c.workloads - c.numbers, of: c.workloads, perMille: perMille, few: few}
}

func TestShare_exceeded(t *testing.T) {
	t.Parallel()
	const few, enough = enoughClusters - 1, enoughClusters
	for name, tt := range map[string]struct {
		share    share
		clusters int
		most     int
	}{
		"enough clusters":                    {share{of: 1000, perMille: mostOutside}, enough, 5},
		"enough clusters, a part is cut off": {share{of: 1399, perMille: mostOutside}, enough, 6},
		"one class":                          {share{of: 1000, perMille: mostOutside, class: true}, enough, 6},
		"one class of few workloads":         {share{of: 40, perMille: mostOutside, class: true}, enough, 1},
		"few clusters":                       {share{of: 1000, perMille: mostOutside}, few, 6},
		"few clusters of one class":          {share{of: 1000, perMille: mostOutside, class: true}, few, 6},
		"few clusters show numbers less":     {share{of: 10, perMille: mostUnnumbered, few: 4}, few, 6},
		"enough clusters show numbers":       {share{of: 10, perMille: mostUnnumbered, few: 4}, enough, 2},
		"preempted in enough clusters":       {share{of: 400, perMille: mostVictims}, enough, 0},
		"preempted in few clusters":          {share{of: 399, perMille: mostVictims}, few, 1},
		"pods":                               {share{of: 3000, perMille: mostWrong}, enough, 9},
		"totals":                             {share{of: 400, perMille: mostFar}, enough, 20},
		"nothing to count":                   {share{perMille: mostWrong}, enough, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for n := range tt.most + 3 {
				tt.share.n = n
				if got, want := tt.share.exceeded(tt.clusters), n > tt.most; got != want {
					t.Errorf("%d of %d exceed the share: %t, want %t", n, tt.share.of, got, want)
				}
			}
		})
	}
}
