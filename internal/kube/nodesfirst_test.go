// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package kube

import "testing"

func TestNodesFirst(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		missing, before, pods int
		want                  bool
	}{
		"one node of 1,000 with 30 pods each":             {1, 0, 30_000, true},
		"ten nodes of 1,000":                              {10, 0, 30_000, true},
		"eleven nodes of 1,000":                           {11, 0, 30_000, false},
		"half of 1,000 nodes":                             {500, 0, 30_000, false},
		"all of 1,000 nodes":                              {1_000, 0, 30_000, false},
		"the tenth of 200 resources with a node each":     {1, 9, 30_000, true},
		"the eleventh of 200 resources with a node each":  {1, 10, 30_000, false},
		"two nodes after nine":                            {2, 9, 30_000, false},
		"fifty nodes of 5,000":                            {50, 0, 150_000, true},
		"a cluster of one page":                           {1, 0, pageSize, false},
		"a cluster of two pages":                          {1, 0, pageSize + 1, true},
		"nodes that are known already, beyond the number": {0, 10, 30_000, true},
		"a cluster without pods":                          {1, 0, 0, false},
	} {
		if got := nodesFirst(tc.missing, tc.before, tc.pods); got != tc.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
