// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package snapshot

import (
	"testing"

	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/upstream"
)

// refusalCase is a pod of namespace app, and a PDB that may guard it.
type refusalCase struct {
	name     string
	option   func(*Pod)
	selector string
	allowed  int32
	// status are the PDB's healthy pods, and how many there must be.
	status [2]int32
	// only is the policy that the case is about, "" for each of them.
	only    policyv1.UnhealthyPodEvictionPolicyType
	refused bool
}

func (tt *refusalCase) run(t *testing.T) {
	t.Parallel()
	for _, policy := range []policyv1.UnhealthyPodEvictionPolicyType{policyv1.IfHealthyBudget, policyv1.AlwaysAllow} {
		if tt.only != "" && tt.only != policy {
			continue
		}
		one := &Pod{Namespace: "app", Name: "web", Labels: labels.Set{"app": "web"}, Ready: true}
		if tt.option != nil {
			tt.option(one)
		}
		selector, err := labels.Parse(tt.selector)
		if err != nil {
			t.Fatal(err)
		}
		all := Budgets{"app": {{Name: "foo", Selector: selector, Allowed: tt.allowed, Healthy: tt.status[0], MinHealthy: tt.status[1], AlwaysAllow: policy == policyv1.AlwaysAllow}}}
		budgets := all.Guarding(one)
		if refused := len(budgets) > 1 || len(budgets) == 1 && budgets[0].Allowed < 1; refused != tt.refused {
			t.Errorf("%s: refused %t by %s, want %t", policy, refused, BudgetNames(budgets), tt.refused)
		}
	}
}

// TestUpstream_evictionRegistry has the facts of TestEvictionWithETCD and TestEviction in
// k8s.io/kubernetes v1.37.2 pkg/registry/core/pod/storage/eviction_test.go that follow from
// phase, deletion, readiness, the policy of a PDB and the number of disruptions that it
// allows: whether a PDB refuses that a pod is evicted now. Upstream runs each case with both
// policies, unless it names one. A deletion that fails by itself is not refused by a PDB.
func TestUpstream_evictionRegistry(t *testing.T) {
	t.Parallel()
	const ours, everything = "app=web", ""
	const byDefault, always = policyv1.IfHealthyBudget, policyv1.AlwaysAllow
	pending, unready := func(p *Pod) { p.Pending, p.Ready = true, false }, func(p *Pod) { p.Ready = false }
	met := [2]int32{2, 2}
	rows := upstream.Cases(t)
	for _, tt := range []refusalCase{
		// TestEvictionWithETCD. Its running pods are not ready.
		{name: "running, no disruption allowed", option: unready, selector: ours, only: byDefault, refused: true},
		{name: "pending, no disruption allowed", option: pending, selector: ours},
		{name: "succeeded, no disruption allowed", option: completed, selector: ours},
		{name: "failed, no disruption allowed", option: completed, selector: ours},
		{name: "running, one disruption allowed", option: unready, selector: ours, allowed: 1},
		{name: "running, a budget of other pods", option: unready, selector: "app=other"},
		{name: "running, a budget of all pods", option: unready, selector: everything, only: byDefault, refused: true},

		// TestEviction.
		{name: "pending, and deleted at the third try", option: pending, selector: ours},
		{name: "pending, and running at the second try", option: unready, selector: ours, only: byDefault, refused: true},
		{name: "pending, and running at the second try, AlwaysAllow", option: unready, selector: ours, only: always},
		{name: "pending, and running at the second try, one disruption allowed", option: unready, selector: ours, allowed: 1, only: byDefault},
		{name: "pending, and each deletion conflicts", option: pending, selector: ours},
		{name: "pending, and the precondition of the deletion fails", option: pending, selector: ours},
		{name: "terminating, no disruption allowed", option: terminating, selector: ours},
		{name: "ready, a budget that is met", selector: ours, status: met, refused: true},
		{name: "ready, one disruption allowed", selector: ours, allowed: 1, status: [2]int32{3, 3}},
		{name: "not ready, a budget that is met", option: unready, selector: ours, status: met},
		{name: "not ready, AlwaysAllow, a budget that wants no healthy pod", option: unready, selector: ours, only: always},
		{name: "not ready, a budget that is met, and the deletion conflicts", option: unready, selector: ours, status: met},
		{name: "not ready, a budget that is met, and the deletion fails", option: unready, selector: ours, status: met},
		{name: "ready, a budget of all pods", selector: everything, status: [2]int32{3, 3}, refused: true},
		{name: "a budget that failed to sync allows no disruption", selector: everything, refused: true},
		{name: "a negative number of disruptions", option: unready, selector: ours, allowed: -1, only: byDefault, refused: true},
		{name: "a budget that gives a reason allows no disruption", selector: everything, status: [2]int32{4, 3}, refused: true},
	} {
		rows.Run(t, tt.name, tt.run)
	}
}

// The policy decides about pods that are not ready, and about no others.
func TestBudgets_policyIsAboutPodsThatAreNotReady(t *testing.T) {
	t.Parallel()
	const ours = "app=web"
	const byDefault, always = policyv1.IfHealthyBudget, policyv1.AlwaysAllow
	unready := func(p *Pod) { p.Ready = false }
	for _, tt := range []refusalCase{
		{name: "not ready, a budget that is exceeded", option: unready, selector: ours, status: [2]int32{2, 1}},
		{name: "not ready, a budget that is not met", option: unready, selector: ours, status: [2]int32{0, 1}, only: byDefault, refused: true},
		{name: "not ready, a budget that is not met, one disruption allowed", option: unready, selector: ours, status: [2]int32{0, 1}, allowed: 1},
		{name: "not ready, AlwaysAllow, a budget that is not met", option: unready, selector: ours, status: [2]int32{0, 1}, only: always},
		{name: "not ready, a budget of other pods that is not met", option: unready, selector: "app=other", status: [2]int32{0, 1}},
		{name: "ready, a budget that wants no healthy pod", selector: ours, refused: true},
		{name: "ready, a budget that is not met", selector: ours, status: [2]int32{0, 1}, refused: true},
	} {
		t.Run(tt.name, tt.run)
	}
}
