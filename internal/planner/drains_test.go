// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package planner

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/eviction"
)

func TestDrain(t *testing.T) {
	t.Parallel()
	of := func(kind string) *eviction.Controller {
		return &eviction.Controller{Owner: eviction.OwnerOf("apps/v1", kind, "x")}
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
		"a pod of another group's DaemonSet leaves": {pod: eviction.Pod{Controller: &eviction.Controller{Owner: eviction.OwnerOf("apps.kruise.io/v1alpha1", "DaemonSet", "x")}}, leaves: true},
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

// TestRefuseGuarded: what a single budget forbids may be allowed later, and is asked for
// again; what several cover is never allowed.
func TestRefuseGuarded(t *testing.T) {
	t.Parallel()
	budget := func(name, app string) eviction.Budget {
		return eviction.Budget{Name: name, Selector: labels.SelectorFromSet(labels.Set{"app": app})}
	}
	for name, tt := range map[string]struct {
		pod     eviction.Pod
		budgets []eviction.Budget
		want    string
	}{
		"one budget can let it go later":    {budgets: []eviction.Budget{budget("web", "web"), budget("db", "db")}},
		"two budgets never let it go":       {budgets: []eviction.Budget{budget("web", "web"), budget("all", "web")}, want: "is covered by 2 PodDisruptionBudgets (web, all), and the eviction API evicts no pod that more than one covers"},
		"nobody asks before it has begun":   {pod: eviction.Pod{Pending: true}, budgets: []eviction.Budget{budget("web", "web"), budget("all", "web")}},
		"nobody asks when it has ended":     {pod: eviction.Pod{Completed: true}, budgets: []eviction.Budget{budget("web", "web"), budget("all", "web")}},
		"nobody asks while it is ending":    {pod: eviction.Pod{Terminating: true}, budgets: []eviction.Budget{budget("web", "web"), budget("all", "web")}},
		"budgets of others are not its own": {pod: eviction.Pod{Namespace: "other"}, budgets: []eviction.Budget{budget("web", "web"), budget("all", "web")}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tt.pod.Labels = labels.Set{"app": "web"}
			got := ""
			for _, r := range RefuseGuarded(&eviction.Snapshot{Budgets: eviction.Budgets{"": tt.budgets}}, []*eviction.Pod{&tt.pod}) {
				got = r.Why
			}
			if got != tt.want {
				t.Errorf("it is refused with %q, want %q", got, tt.want)
			}
		})
	}
}
