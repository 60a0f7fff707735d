// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package snapshot

import (
	"testing"

	"k8s.io/apimachinery/pkg/labels"
)

// TestUpstream_evictionRegistry has the facts of TestEvictionWithETCD and TestEviction in
// k8s.io/kubernetes v1.37.2 pkg/registry/core/pod/storage/eviction_test.go that follow from
// phase, deletion, readiness, the policy of a PDB and the number of disruptions that it
// allows: whether the eviction API refuses to evict a pod now.
func TestUpstream_evictionRegistry(t *testing.T) {
	t.Parallel()
	const ours, everything = "app=web", ""
	pending, unready := func(p *Pod) { p.Pending = true }, func(p *Pod) { p.Ready = false }
	failed, succeeded := completed, completed
	for _, tt := range []struct {
		name     string
		option   func(*Pod)
		selector string
		allowed  int32
		refused  bool
		// status are the PDB's healthy pods, and how many there must be.
		status [2]int32
		always bool
	}{
		{name: "running, no disruption allowed", selector: ours, refused: true},
		{name: "pending, no disruption allowed", option: pending, selector: ours},
		{name: "succeeded, no disruption allowed", option: succeeded, selector: ours},
		{name: "failed, no disruption allowed", option: failed, selector: ours},
		{name: "running, one disruption allowed", selector: ours, allowed: 1},
		{name: "running, a budget of other pods", selector: "app=other"},
		{name: "running, a budget of all pods", selector: everything, refused: true},
		{name: "pending, and deleted at the second try", option: pending, selector: ours},
		{name: "pending, and running at the second try", selector: ours, refused: true},
		{name: "pending, and running at the second try, one disruption allowed", selector: ours, allowed: 1},
		{name: "terminating, no disruption allowed", option: terminating, selector: ours},
		{name: "running and ready, no disruption allowed", selector: ours, refused: true},
		{name: "running and ready, one disruption allowed", selector: ours, allowed: 1},
		{name: "running and ready, a budget of all pods", selector: everything, refused: true},
		{name: "a budget that failed to sync allows no disruption", selector: ours, refused: true},
		{name: "a budget that gives a reason allows no disruption", selector: ours, refused: true},
		{name: "a negative number of disruptions", selector: ours, allowed: -1, refused: true},
		{name: "not ready, a budget that is met", option: unready, selector: ours, status: [2]int32{1, 1}},
		{name: "not ready, a budget that is exceeded", option: unready, selector: ours, status: [2]int32{2, 1}},
		{name: "not ready, a budget that is not met", option: unready, selector: ours, status: [2]int32{0, 1}, refused: true},
		{name: "not ready, a budget that wants no healthy pod", option: unready, selector: ours, refused: true},
		{name: "not ready, a budget that is not met, one disruption allowed", option: unready, selector: ours, status: [2]int32{0, 1}, allowed: 1},
		{name: "not ready, AlwaysAllow, a budget that is not met", option: unready, selector: ours, status: [2]int32{0, 1}, always: true},
		{name: "not ready, AlwaysAllow, a budget that is met", option: unready, selector: ours, status: [2]int32{1, 1}, always: true},
		{name: "ready, a budget that is met", selector: ours, status: [2]int32{1, 1}, refused: true},
		{name: "ready, AlwaysAllow, no disruption allowed", selector: ours, always: true, refused: true},
		{name: "not ready, AlwaysAllow, a budget of other pods", option: unready, selector: "app=other", always: true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			one := &Pod{Namespace: "app", Name: "web", Labels: labels.Set{"app": "web"}, Ready: true}
			if tt.option != nil {
				tt.option(one)
			}
			selector, err := labels.Parse(tt.selector)
			if err != nil {
				t.Fatal(err)
			}
			all := Budgets{"app": {{Name: "foo", Selector: selector, Allowed: tt.allowed, Healthy: tt.status[0], MinHealthy: tt.status[1], AlwaysAllow: tt.always}}}
			budgets := all.Guarding(one)
			if refused := len(budgets) > 1 || len(budgets) == 1 && budgets[0].Allowed < 1; refused != tt.refused {
				t.Errorf("refused %t by %s, want %t", refused, BudgetNames(budgets), tt.refused)
			}
		})
	}
	for name, reason := range evictionRegistryLeftOut {
		if reason == "" {
			t.Errorf("%s is left out without a reason", name)
		}
	}
}

// evictionRegistryLeftOut are the other cases of the two tests. The other tests of the file
// are about options and preconditions of deletions, and the status of PDBs afterwards.
var evictionRegistryLeftOut = map[string]string{
	"TestEvictionWithETCD/bad name in Url":                             "a request names the pod once",
	"TestEviction/pending, always conflict on delete":                  "conflicts between requests are not predicted",
	"TestEviction/pending, always conflict, resource version":          "conflicts between requests are not predicted",
	"TestEviction/pending, running at the second try, budget conflict": "conflicts between requests are not predicted",
	"TestEviction/unhealthy pod, resource version conflict":            "conflicts between requests are not predicted",
	"TestEviction/unhealthy pod, other error on delete":                "errors of the server are not predicted",
	"TestEviction/too many disrupted pods":                             "the budget's list of disrupted pods is not in the snapshot",
}
