// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package planner

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/eviction"
)

func TestDrain(t *testing.T) {
	t.Parallel()
	of := func(kind string) *eviction.Controller {
		return &eviction.Controller{Owner: eviction.Owner{Kind: kind, Name: "x"}}
	}
	for name, tt := range map[string]struct {
		pod     eviction.Pod
		rules   DrainRules
		leaves  bool
		refused string
	}{
		"a Deployment's pod leaves":                 {pod: eviction.Pod{Controller: of("ReplicaSet")}, leaves: true},
		"one that is ending is waited for":          {pod: eviction.Pod{Terminating: true}, leaves: true},
		"a static pod stays":                        {pod: eviction.Pod{Mirror: true}},
		"a DaemonSet's pod stops it":                {pod: eviction.Pod{Controller: of("DaemonSet")}, refused: "belongs to a DaemonSet, which would recreate it at once"},
		"unless they are left alone":                {pod: eviction.Pod{Controller: of("DaemonSet"), LocalData: true}, rules: DrainRules{IgnoreDaemonSets: true}},
		"an ending one of them is not waited for":   {pod: eviction.Pod{Controller: of("DaemonSet"), Terminating: true}, rules: DrainRules{IgnoreDaemonSets: true}},
		"a completed one of them leaves":            {pod: eviction.Pod{Controller: of("DaemonSet"), Completed: true}, leaves: true},
		"local data stops it":                       {pod: eviction.Pod{Controller: of("ReplicaSet"), LocalData: true}, refused: "has local data (emptyDir) that would be lost"},
		"unless it may go":                          {pod: eviction.Pod{Controller: of("ReplicaSet"), LocalData: true}, rules: DrainRules{DeleteLocalData: true}, leaves: true},
		"a pod without a controller stops it":       {pod: eviction.Pod{}, rules: DrainRules{DeleteLocalData: true}, refused: "has no controller that would recreate it"},
		"a completed pod without a controller goes": {pod: eviction.Pod{Completed: true, LocalData: true}, leaves: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			leave, refusals := Drain([]*eviction.Pod{&tt.pod}, tt.rules)
			why := ""
			for _, r := range refusals {
				why = r.Why
			}
			if diff := cmp.Diff(tt.refused, why); diff != "" || (len(leave) > 0) != tt.leaves {
				t.Errorf("%d leave, want %v; refused: %s", len(leave), tt.leaves, diff)
			}
		})
	}
}
