// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package machineset

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/eviction"
)

func TestHolds(t *testing.T) {
	t.Parallel()
	pod := func(name string, change func(*eviction.Pod)) *eviction.Pod {
		p := &eviction.Pod{Namespace: "shop", Name: name, Node: "n", Ready: true, Labels: labels.Set{"app": name}, Controller: &eviction.Controller{Owner: eviction.Owner{Group: "apps", Kind: "ReplicaSet", Name: name}}}
		if change != nil {
			change(p)
		}
		return p
	}
	budgets := eviction.Budgets{"shop": {
		{Name: "strict", Selector: labels.SelectorFromSet(labels.Set{"app": "db"}), Allowed: 0},
		{Name: "first", Selector: labels.SelectorFromSet(labels.Set{"app": "both"}), Allowed: 1},
		{Name: "second", Selector: labels.SelectorFromSet(labels.Set{"app": "both"}), Allowed: 0},
		{Name: "lax", Selector: labels.SelectorFromSet(labels.Set{"app": "web"}), Allowed: 1},
	}}
	for name, tt := range map[string]struct {
		machine Machine
		pods    []*eviction.Pod
		want    []string
	}{
		"a budget that allows nothing": {Machine{Deleting: true}, []*eviction.Pod{pod("db", nil)},
			[]string{`pod shop/db on node n is held by PodDisruptionBudget "shop/strict", which allows no eviction now`}},
		"two budgets, whatever they allow": {Machine{Deleting: true}, []*eviction.Pod{pod("both", nil)},
			[]string{`pod shop/both on node n is covered by PodDisruptionBudgets "shop/first", "shop/second", and the eviction API refuses to evict it until only one does`}},
		"a budget that allows it": {Machine{Deleting: true}, []*eviction.Pod{pod("web", nil)}, []string{"pod shop/web on node n has not been evicted yet"}},
		"a pod that is not ready": {Machine{Deleting: true}, []*eviction.Pod{pod("db", func(p *eviction.Pod) { p.Ready = false })},
			[]string{`pod shop/db on node n is held by PodDisruptionBudget "shop/strict", which allows no eviction now; the pod is not ready, and unhealthyPodEvictionPolicy AlwaysAllow would allow it`}},
		"a pod that is ending":              {Machine{Deleting: true}, []*eviction.Pod{pod("db", func(p *eviction.Pod) { p.Terminating = true })}, []string{"pod shop/db on node n is terminating"}},
		"not a DaemonSet's pod":             {Machine{Deleting: true}, []*eviction.Pod{pod("db", func(p *eviction.Pod) { p.Controller.Kind = "DaemonSet" })}, nil},
		"not a static pod":                  {Machine{Deleting: true}, []*eviction.Pod{pod("db", func(p *eviction.Pod) { p.Mirror = true })}, nil},
		"not where the node is not drained": {Machine{Deleting: true, NoDrain: true}, []*eviction.Pod{pod("db", nil)}, nil},
		"a lifecycle hook":                  {Machine{Deleting: true, Hooks: []string{"Migrate of storage"}}, nil, []string{"the lifecycle hook Migrate of storage holds m"}},
		"nothing where it stays":            {Machine{Hooks: []string{"Migrate of storage"}}, []*eviction.Pod{pod("db", nil)}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tt.machine.Name, tt.machine.Node = "m", "n"
			got := Holds(Observed{Machines: []*Machine{&tt.machine}}, &eviction.Snapshot{Pods: map[string][]*eviction.Pod{"n": tt.pods}}, budgets)
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}
