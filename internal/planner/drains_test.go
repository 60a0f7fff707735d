// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package planner

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/eviction"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
)

func TestDrain(t *testing.T) {
	t.Parallel()
	of := func(kind string) *snapshot.Controller {
		return &snapshot.Controller{Owner: snapshot.OwnerOf("apps/v1", kind, "x")}
	}
	selecting := func(selector string) DrainRules {
		return DrainRules{PodSelector: labels.SelectorFromSet(labels.Set{"app": selector})}
	}
	web := labels.Set{"app": "web"}
	for name, tt := range map[string]struct {
		pod     snapshot.Pod
		rules   DrainRules
		leaves  bool
		refused string
	}{
		"a Deployment's pod leaves":                 {pod: snapshot.Pod{Controller: of("ReplicaSet")}, leaves: true},
		"one that is ending is waited for":          {pod: snapshot.Pod{Terminating: true}, leaves: true},
		"a static pod stays":                        {pod: snapshot.Pod{Mirror: true}},
		"a DaemonSet's pod stops it":                {pod: snapshot.Pod{Controller: of("DaemonSet")}, refused: "is owned by a DaemonSet, which would recreate it immediately"},
		"a pod of another group's DaemonSet leaves": {pod: snapshot.Pod{Controller: &snapshot.Controller{Owner: snapshot.OwnerOf("apps.kruise.io/v1alpha1", "DaemonSet", "x")}}, leaves: true},
		"unless they are left alone":                {pod: snapshot.Pod{Controller: of("DaemonSet"), LocalData: true}, rules: DrainRules{IgnoreDaemonSets: true}},
		"an ending one of them is not waited for":   {pod: snapshot.Pod{Controller: of("DaemonSet"), Terminating: true}, rules: DrainRules{IgnoreDaemonSets: true}},
		"a completed one of them leaves":            {pod: snapshot.Pod{Controller: of("DaemonSet"), Completed: true}, leaves: true},
		"local data stops it":                       {pod: snapshot.Pod{Controller: of("ReplicaSet"), LocalData: true}, refused: "has local data (emptyDir) that would be lost"},
		"unless it may go":                          {pod: snapshot.Pod{Controller: of("ReplicaSet"), LocalData: true}, rules: DrainRules{DeleteLocalData: true}, leaves: true},
		"a pod without a controller stops it":       {pod: snapshot.Pod{}, rules: DrainRules{DeleteLocalData: true}, refused: "has no controller that would recreate it"},
		"a completed pod without a controller goes": {pod: snapshot.Pod{Completed: true, LocalData: true}, leaves: true},

		"a pod that the selector matches leaves":              {pod: snapshot.Pod{Controller: of("ReplicaSet"), Labels: web}, rules: selecting("web"), leaves: true},
		"a pod that the selector does not match stays":        {pod: snapshot.Pod{Controller: of("ReplicaSet"), Labels: web}, rules: selecting("db")},
		"such a pod is not waited for":                        {pod: snapshot.Pod{Terminating: true, Labels: web}, rules: selecting("db")},
		"such a pod stays when it has completed":              {pod: snapshot.Pod{Completed: true, Labels: web}, rules: selecting("db")},
		"such a pod of a DaemonSet stops nothing":             {pod: snapshot.Pod{Controller: of("DaemonSet"), Labels: web}, rules: selecting("db")},
		"such a pod without a controller stops nothing":       {pod: snapshot.Pod{Labels: web}, rules: selecting("db")},
		"such a pod with local data stops nothing":            {pod: snapshot.Pod{Controller: of("ReplicaSet"), LocalData: true, Labels: web}, rules: selecting("db")},
		"a matching pod of a DaemonSet stops it":              {pod: snapshot.Pod{Controller: of("DaemonSet"), Labels: web}, rules: selecting("web"), refused: "is owned by a DaemonSet, which would recreate it immediately"},
		"a matching static pod stays":                         {pod: snapshot.Pod{Mirror: true, Labels: web}, rules: selecting("web")},
		"a matching pod without a controller stops it":        {pod: snapshot.Pod{Labels: web}, rules: selecting("web"), refused: "has no controller that would recreate it"},
		"a pod without a controller stops a deletion as well": {pod: snapshot.Pod{}, rules: DrainRules{DisableEviction: true}, refused: "has no controller that would recreate it"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			leave, refusals := Drain([]*snapshot.Pod{&tt.pod}, tt.rules)
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

// TestRefuseGuarded: an eviction that a single PodDisruptionBudget forbids is asked for again,
// since it may be allowed later. A pod that several cover is never evicted.
func TestRefuseGuarded(t *testing.T) {
	t.Parallel()
	budget := func(name, app string) snapshot.Budget {
		return snapshot.Budget{Name: name, Selector: labels.SelectorFromSet(labels.Set{"app": app})}
	}
	for name, tt := range map[string]struct {
		pod     snapshot.Pod
		budgets []snapshot.Budget
		want    string
	}{
		"one budget can let it go later":       {budgets: []snapshot.Budget{budget("web", "web"), budget("db", "db")}},
		"two budgets never let it go":          {budgets: []snapshot.Budget{budget("web", "web"), budget("all", "web")}, want: "is covered by 2 PodDisruptionBudgets (web, all), and the eviction API evicts no pod that more than one covers"},
		"no budget counts before it has begun": {pod: snapshot.Pod{Pending: true}, budgets: []snapshot.Budget{budget("web", "web"), budget("all", "web")}},
		"no budget counts when it has ended":   {pod: snapshot.Pod{Completed: true}, budgets: []snapshot.Budget{budget("web", "web"), budget("all", "web")}},
		"no budget counts while it is ending":  {pod: snapshot.Pod{Terminating: true}, budgets: []snapshot.Budget{budget("web", "web"), budget("all", "web")}},
		"budgets of others are not its own":    {pod: snapshot.Pod{Namespace: "other"}, budgets: []snapshot.Budget{budget("web", "web"), budget("all", "web")}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tt.pod.Labels = labels.Set{"app": "web"}
			got := ""
			for _, r := range refuseGuarded(&snapshot.Snapshot{Budgets: snapshot.Budgets{"": tt.budgets}}, []*snapshot.Pod{&tt.pod}) {
				got = r.Why
			}
			if got != tt.want {
				t.Errorf("it is refused with %q, want %q", got, tt.want)
			}
		})
	}
}

// TestPlan_deletionBypassesPodDisruptionBudgets: they stop no drain before it begins, and hold none.
func TestPlan_deletionBypassesPodDisruptionBudgets(t *testing.T) {
	t.Parallel()
	web := aWorkload(t, "Deployment", "web")
	for name, tt := range map[string]struct {
		deletes             bool
		budgets             int
		refusals, deadlocks int
		obeyed              bool
	}{
		"a PDB holds evictions":         {budgets: 1, deadlocks: 1, obeyed: true},
		"a PDB holds no deletions":      {deletes: true, budgets: 1},
		"two PDBs stop evictions":       {budgets: 2, refusals: 1, deadlocks: 1},
		"two PDBs stop no deletions":    {deletes: true, budgets: 2},
		"evictions without a PDB begin": {},
		"deletions without a PDB begin": {deletes: true},
	} {
		s := aSnapshot([]*snapshot.Node{aNode(t, "a", "gpu"), aNode(t, "b", "cpu")}, aPod(t, web, "a1", "a"))
		s.Pods["a"][0].Labels, s.Pods["a"][0].Ready = labels.Set{"app": "web"}, true
		s.Budgets = snapshot.Budgets{}
		for n := range tt.budgets {
			s.Budgets["shop"] = append(s.Budgets["shop"], snapshot.Budget{Name: fmt.Sprint("web-", n), Selector: labels.SelectorFromSet(labels.Set{"app": "web"}), Most: new(int32(0))})
		}
		plan := Order(s, Change{Drain: &NodeDrain{Nodes: []string{"a"}, Rules: DrainRules{DisableEviction: tt.deletes}}}, eviction.ComparisonOff)
		if got := plan.DrainDeadlocks(s); len(plan.DrainRefusals) != tt.refusals || len(got) != tt.deadlocks {
			t.Errorf("%s: refused %+v, deadlocks %+v", name, plan.DrainRefusals, got)
		}
		if beyond := plan.DrainReport().Pods[0].Beyond; beyond != nil && beyond.Obeyed != tt.obeyed || (beyond == nil) != (tt.budgets == 0 || tt.refusals > 0) {
			t.Errorf("%s: beyond its PDB is %+v", name, beyond)
		}
	}
}

func TestPlan_DrainDeadlocks(t *testing.T) {
	t.Parallel()
	web := aWorkload(t, "Deployment", "web")
	s := aSnapshot([]*snapshot.Node{aNode(t, "a", "gpu"), aNode(t, "b", "cpu")}, aPod(t, web, "a1", "a"))
	s.Pods["a"][0].Labels, s.Pods["a"][0].Ready = labels.Set{"app": "web"}, true
	s.Budgets = snapshot.Budgets{"shop": {{Name: "web", Selector: labels.SelectorFromSet(labels.Set{"app": "web"}), Most: new(int32(0))}}}
	for name, tt := range map[string]struct {
		change    Change
		deadlocks int
		report    bool
	}{
		"no drain":                                 {Change{Nodes: []NodeTaints{desire(t, pool(t, "gpu"), "x:NoSchedule")}}, 0, false},
		"a drain of no node":                       {Change{Drain: &NodeDrain{}}, 0, false},
		"a drain of a node without pods":           {Change{Drain: &NodeDrain{Nodes: []string{"b"}}}, 0, true},
		"a drain that its budget never allows":     {Change{Drain: &NodeDrain{Nodes: []string{"a"}}}, 1, true},
		"a drain that comes behind another change": {Change{Nodes: []NodeTaints{desire(t, pool(t, "cpu"), "x:NoSchedule")}, Drain: &NodeDrain{Nodes: []string{"a"}}}, 1, true},
	} {
		plan := Order(s, tt.change, eviction.ComparisonOff)
		if got := plan.DrainDeadlocks(s); len(got) != tt.deadlocks || (plan.DrainReport() != nil) != tt.report {
			t.Errorf("%s: deadlocks %+v, report %+v", name, got, plan.DrainReport())
		}
	}
}
