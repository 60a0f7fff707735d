// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package machineset

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
)

func TestHolds(t *testing.T) {
	t.Parallel()
	pod := func(name string, change func(*snapshot.Pod)) *snapshot.Pod {
		p := &snapshot.Pod{Namespace: "shop", Name: name, Node: "n", Ready: true, Labels: labels.Set{"app": name}, Controller: &snapshot.Controller{Owner: snapshot.Owner{Group: "apps", Kind: "ReplicaSet", Name: name}}}
		if change != nil {
			change(p)
		}
		return p
	}
	budgets := snapshot.Budgets{"shop": {
		{Name: "strict", Selector: labels.SelectorFromSet(labels.Set{"app": "db"}), Allowed: 0},
		{Name: "first", Selector: labels.SelectorFromSet(labels.Set{"app": "both"}), Allowed: 1},
		{Name: "second", Selector: labels.SelectorFromSet(labels.Set{"app": "both"}), Allowed: 0},
		{Name: "lax", Selector: labels.SelectorFromSet(labels.Set{"app": "web"}), Allowed: 1},
	}}
	for name, tt := range map[string]struct {
		machine Machine
		pods    []*snapshot.Pod
		want    []string
	}{
		"a budget that allows nothing": {Machine{Deleting: true}, []*snapshot.Pod{pod("db", nil)},
			[]string{`pod shop/db on node n is held by PodDisruptionBudget "shop/strict", which currently allows no eviction`}},
		"two budgets, whatever they allow": {Machine{Deleting: true}, []*snapshot.Pod{pod("both", nil)},
			[]string{`pod shop/both on node n is covered by PodDisruptionBudgets "shop/first", "shop/second", and the eviction API refuses to evict it until only one does`}},
		"pods in the order of their names":                    {Machine{Deleting: true}, []*snapshot.Pod{pod("web", nil), pod("api", nil)}, []string{"pod shop/api on node n has not been evicted yet", "pod shop/web on node n has not been evicted yet"}},
		"a budget that allows it for a pod that is not ready": {Machine{Deleting: true}, []*snapshot.Pod{pod("web", func(p *snapshot.Pod) { p.Ready = false })}, []string{"pod shop/web on node n has not been evicted yet"}},
		"a budget that allows it":                             {Machine{Deleting: true}, []*snapshot.Pod{pod("web", nil)}, []string{"pod shop/web on node n has not been evicted yet"}},
		"a pod that is not ready": {Machine{Deleting: true}, []*snapshot.Pod{pod("db", func(p *snapshot.Pod) { p.Ready = false })},
			[]string{`pod shop/db on node n is held by PodDisruptionBudget "shop/strict", which currently allows no eviction; the pod is not ready, and unhealthyPodEvictionPolicy AlwaysAllow would allow it`}},
		"a pod that is ending":  {Machine{Deleting: true}, []*snapshot.Pod{pod("db", func(p *snapshot.Pod) { p.Terminating = true })}, []string{"pod shop/db on node n is terminating"}},
		"not a DaemonSet's pod": {Machine{Deleting: true}, []*snapshot.Pod{pod("db", func(p *snapshot.Pod) { p.Controller.Kind = "DaemonSet" })}, nil},
		"that of another group's DaemonSet": {Machine{Deleting: true}, []*snapshot.Pod{pod("db", func(p *snapshot.Pod) { p.Controller.Group, p.Controller.Kind = "apps.kruise.io", "DaemonSet" })},
			[]string{`pod shop/db on node n is held by PodDisruptionBudget "shop/strict", which currently allows no eviction`}},
		"not a static pod":                  {Machine{Deleting: true}, []*snapshot.Pod{pod("db", func(p *snapshot.Pod) { p.Mirror = true })}, nil},
		"not where the node is not drained": {Machine{Deleting: true, NoDrain: true}, []*snapshot.Pod{pod("db", nil)}, nil},
		"a lifecycle hook":                  {Machine{Deleting: true, Hooks: []string{"Migrate of storage"}}, nil, []string{"the lifecycle hook Migrate of storage holds m"}},
		"nothing where it stays":            {Machine{Hooks: []string{"Migrate of storage"}}, []*snapshot.Pod{pod("db", nil)}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tt.machine.Name, tt.machine.Node = "m", "n"
			got := Holds(Observed{Machines: []*Machine{&tt.machine}}, &snapshot.Snapshot{Pods: map[string][]*snapshot.Pod{"n": tt.pods}}, budgets)
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}
