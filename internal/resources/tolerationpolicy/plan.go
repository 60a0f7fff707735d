// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package tolerationpolicy

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/diag"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/admission"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/kube"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/tf/message"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/tf/session"
)

// Claim notes the policy, and tells the other resources of the run what pods will be given.
func (r *tolerationPolicy) Claim(_ context.Context, c change, known bool, diags *diag.Diagnostics) {
	r.Data.ClaimPolicy(session.Holder(c.Own.Generation), c.Want.Name, nameAt, diags)
	if known && !diags.HasError() {
		r.Data.Policies.Note(c.Want.Owner, c.Want.Policy)
	}
}

// Preview has the API server try the policy, and reports what else there is to know.
func (r *tolerationPolicy) Preview(ctx context.Context, c change, diags *diag.Diagnostics) {
	if c.Verb == "delete" {
		return
	}
	if r.Claim(ctx, c, true, diags); diags.HasError() {
		return
	}
	claim, own := c.Want, c.Own
	r.Data.RefuseOperators(tolerationsAt, claim.Tolerations, diags)
	if _, err := r.Data.Identify(ctx, own.Cluster, diags); err != nil || diags.HasError() {
		if err != nil {
			r.Data.Unreadable("toleration policy \""+claim.Name+"\"", err, diags)
		}
		return
	}
	r.Data.CheckNamespaces(ctx, claim.Policy, matchAt, tolerationsAt, diags)
	if diags.HasError() {
		return
	}
	seen, err := r.Data.Cluster.Policy(ctx, claim.Name)
	if err == nil {
		err = r.try(ctx, seen, claim, own, diags)
	}
	switch {
	case err == nil:
	case kube.OutOfReach(err):
		r.Data.Unreachable(err, diags)
	default:
		diags.Append(explain("plan", claim.Name, err))
	}
}

// try makes the policy as a dry run.
func (r *tolerationPolicy) try(ctx context.Context, seen *admission.Observed, claim admission.Claim, own ownership, diags *diag.Diagnostics) error {
	if err := r.Data.TryPolicy(ctx, seen, claim); err != nil {
		return err
	}
	if seen != nil && own.Generation == "" {
		message.WarnAdoptedPolicy(claim, diags)
	}
	return nil
}
