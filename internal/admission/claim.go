// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package admission

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
)

// Claim is the policy that one resource wants, and what it may call its own.
type Claim struct {
	Policy
	Mark
	// TakeOver makes a policy of the same owner and another generation owned, as a create
	// does: an earlier create was killed, or the object is being replaced by a new one.
	TakeOver bool
	// Release gives the policy up, as a destroy does.
	Release bool
}

// TakingOver is the same of a create, which adopts a policy that carries its id.
func (c Claim) TakingOver() Claim {
	c.TakeOver = true
	return c
}

// Entries are none: a policy is owned as a whole.
func (c Claim) Entries() []string { return nil }

// Conflict is the error where a policy of the wanted name has another owner.
type Conflict struct {
	Name string
	// Owner is the id of the resource that it belongs to, "" where it is none of this
	// provider's.
	Owner string
}

// Error names the owner.
func (c *Conflict) Error() string {
	if c.Owner == "" {
		return fmt.Sprintf("%s %q was not created by this provider", PolicyKind, c.Name)
	}
	return fmt.Sprintf("%s %q is owned by %q", PolicyKind, c.Name, c.Owner)
}

// Owns reports whether a policy that is there is the claim's. One without a generation is not: no
// create leaves such a policy behind.
func (c Claim) Owns(seen *Observed) bool {
	if seen == nil || seen.Err != nil || seen.Generation == "" {
		return false
	}
	return seen.Generation == c.Generation || c.TakeOver && seen.Owner == c.Owner
}

// Plan is what the claim makes of a policy that is there, nil for none.
type Plan struct {
	// Name is that of the policy.
	Name string
	// Policy is what is to be written, nil where it is to be deleted or not changed.
	Policy *Policy
	// Delete reports that what is there goes.
	Delete bool
	// Changed reports that there is something to do, Adds that it is more than to take
	// tolerations out.
	Changed, Adds bool
}

// Plan merges the claim with what is there. A toleration that is no longer wanted stays,
// as retiring, where one of the live taints is tolerated by it and by nothing else that
// the policy gives: pods made meanwhile need it. Of a release nothing stays.
// Planning again changes nothing. Errors: *Conflict.
func (c Claim) Plan(seen *Observed, live []corev1.Taint, comparison bool) (Plan, error) {
	if c.Release {
		owned := c.Owns(seen)
		return Plan{Name: c.Name, Delete: owned, Changed: owned}, nil
	}
	if seen != nil && !c.Owns(seen) {
		return Plan{}, &Conflict{Name: c.Name, Owner: seen.Owner}
	}
	wanted := c.Policy
	wanted.Retiring = nil
	if seen == nil {
		return Plan{Name: c.Name, Policy: &wanted, Changed: true, Adds: true}, nil
	}
	for _, t := range seen.inSpec() {
		if slices.ContainsFunc(live, func(l corev1.Taint) bool {
			return l.Effect != corev1.TaintEffectPreferNoSchedule && taint.Tolerates(t, l, comparison) && taint.FirstMatch(wanted.given(), l, comparison) < 0
		}) {
			wanted.Retiring = append(wanted.Retiring, t)
		}
	}
	plan := Plan{Name: c.Name, Policy: &wanted, Adds: len(seen.Differs) > 0 || seen.Generation != c.Generation}
	plan.Changed = plan.Adds || !wanted.Equal(seen.Policy)
	plan.Adds = plan.Adds || plan.Changed && !wanted.within(seen.Policy)
	return plan, nil
}
