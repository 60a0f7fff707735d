// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package planner

import (
	"cmp"
	"maps"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/admission"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/eviction"
)

// DesiredPolicy is an admission policy that a change wants, as another way to expand and
// to contract: new pods get the tolerations before the taints that need them are added,
// and no longer get them once these are removed.
type DesiredPolicy struct {
	Claim admission.Claim
	// Seen is what is there, nil for none.
	Seen *admission.Observed
}

// admit writes the policies: they give what is wanted, and what is not wanted any more for
// as long as a taint stands that it is for. They come after the labels that they require.
func (o *order) admit() {
	for _, d := range o.change.Policies {
		if d.Claim.Release {
			continue
		}
		plan, ok := o.planPolicy(d.Claim, d.Seen, nil)
		switch {
		case ok && plan.Adds:
			o.plan.Steps = append(o.plan.Steps, Step{Kind: Admit, Policy: plan})
			o.rules = o.rules.With(*plan.Policy)
		case d.Seen != nil:
			o.rules = o.rules.With(d.Seen.Policy)
		}
	}
}

// withdraw takes out of the policies what no live taint asks for any more, and deletes
// those that are given up.
func (o *order) withdraw() {
	for _, d := range o.change.Policies {
		claim, seen := d.Claim, d.Seen
		for _, s := range o.plan.Steps {
			if s.Kind == Admit && s.Policy.Name == claim.Name {
				// The plan of a create has no generation yet, and a policy without one is not owned.
				claim.Generation = cmp.Or(claim.Generation, "planned")
				seen = &admission.Observed{Policy: *s.Policy.Policy, Mark: claim.Mark}
			}
		}
		plan, ok := o.planPolicy(claim, seen, o.taints)
		if !ok || !plan.Changed {
			continue
		}
		o.plan.Steps = append(o.plan.Steps, Step{Kind: Withdraw, Policy: plan})
		switch {
		case plan.Delete:
			o.rules = o.rules.Without(claim.Name)
		case plan.Policy != nil:
			o.rules = o.rules.With(*plan.Policy)
		}
	}
}

// planPolicy merges the claim with what is there, as nodes are or as they will be.
func (o *order) planPolicy(claim admission.Claim, seen *admission.Observed, after map[string][]corev1.Taint) (admission.Plan, bool) {
	var live []corev1.Taint
	for name, node := range o.snapshot.Nodes {
		taints, changed := after[name]
		if !changed {
			taints = node.Taints
		}
		live = append(live, taints...)
	}
	plan, err := claim.Plan(seen, live, o.comparison != eviction.ComparisonOff)
	if err != nil {
		o.plan.PolicyErr = err
	}
	return plan, err == nil
}

// Policies are the policies of admission that resources of one provider configuration
// have, or will have by their plans, by the ids of these resources.
type Policies struct {
	mu     sync.Mutex
	wanted map[string]admission.Policy
}

// Note records the tolerations that the resource of this id gives to new pods.
func (p *Policies) Note(id string, policy admission.Policy) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.wanted == nil {
		p.wanted = map[string]admission.Policy{}
	}
	p.wanted[id] = policy
}

// Has reports whether the resource of this id has noted its policy.
func (p *Policies) Has(id string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	_, has := p.wanted[id]
	return has
}

// Over returns what pods are given once the linked resources are as planned: their
// policies come before the taints. Those of other resources may come later, and count as
// far as they are there already.
func (p *Policies) Over(rules *admission.Rules, linked []string) *admission.Rules {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, id := range slices.Sorted(maps.Keys(p.wanted)) {
		if slices.Contains(linked, id) {
			rules = rules.With(p.wanted[id])
		}
	}
	return rules
}
