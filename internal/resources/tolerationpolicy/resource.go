// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package tolerationpolicy

import (
	"context"
	"errors"
	"fmt"
	"maps"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/admission"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/eviction"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/kube"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/rollout"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/tf/managed"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/tf/message"
	tfschema "github.com/kubetaint/terraform-provider-kubetaint/internal/tf/schema"
)

var _ resource.ResourceWithValidateConfig = (*tolerationPolicy)(nil)

type tolerationPolicy struct {
	managed.Skeleton[model, admission.Claim, *admission.Observed, string]
}

// NewResource returns the resource.
func NewResource() resource.Resource {
	r := &tolerationPolicy{}
	r.Type, r.Name, r.IdentifiedBy, r.Identifies, r.Unproved = r, "toleration_policy", "name", "Name of the policy.", true
	return r
}

// ValidateConfig checks what can be told without a cluster.
func (r *tolerationPolicy) ValidateConfig(ctx context.Context, req resource.ValidateConfigRequest, resp *resource.ValidateConfigResponse) {
	var config model
	resp.Diagnostics.Append(tfschema.Decode(ctx, req.Config.Raw, req.Config.Schema, &config)...)
	if resp.Diagnostics.HasError() {
		return
	}
	tfschema.MatchOf(ctx, config.Match, matchAt, &resp.Diagnostics)
	tfschema.WarnKeyless(ctx, tfschema.Named("toleration policy", config.Name), config.Tolerations, tolerationsAt, &resp.Diagnostics)
}

// Observe reads the policy and its binding, which are gone where neither exists.
func (r *tolerationPolicy) Observe(ctx context.Context, m model, _ ownership, _ *diag.Diagnostics) (*admission.Observed, error) {
	seen, err := r.Data.Cluster.Policy(ctx, m.Name.ValueString())
	if err == nil && seen == nil {
		err = managed.Gone(fmt.Errorf("%s: %w", m.Title(ctx), kube.ErrNotFound))
	}
	return seen, err
}

// Recover owns a policy with the state's id.
func (r *tolerationPolicy) Recover(_ context.Context, own ownership, state model, seen *admission.Observed, diags *diag.Diagnostics) (ownership, error) {
	generation := ""
	if seen.Err == nil && seen.Owner == state.ID.ValueString() {
		generation = seen.Generation
	} else {
		diags.Append(managed.NotThisCluster("No policy", state.ID.ValueString()))
	}
	return own.Recover(func() string { return generation }), nil
}

// Refresh compares the policy with the state. A policy that has another owner by now shows in
// nothing but objects.
func (r *tolerationPolicy) Refresh(ctx context.Context, state model, own ownership, seen *admission.Observed, diags *diag.Diagnostics) (model, ownership, error) {
	objects := map[string]string{admission.PolicyKind: admission.Different}
	if seen.Err == nil && seen.Generation == own.Generation {
		state.take(ctx, seen.Policy, own, diags)
		objects = maps.Clone(seen.Differs)
		if len(seen.Retiring) > 0 && r.retires(ctx, state, own, seen, diags) {
			objects[admission.PolicyKind] = "retiring"
		}
	}
	state.Objects = wrong(ctx, objects, diags)
	return state, own, nil
}

// retires reports whether a policy gives tolerations that nothing needs any more.
func (r *tolerationPolicy) retires(ctx context.Context, state model, own ownership, seen *admission.Observed, diags *diag.Diagnostics) bool {
	desired, known := state.Desired(ctx, own, diags)
	nodes, err := r.Data.Cluster.Nodes(ctx)
	if !known || err != nil {
		return false
	}
	plan, err := desired.Plan(seen, rollout.Taints(nodes), r.Data.Comparison != eviction.ComparisonOff)
	return err == nil && plan.Policy != nil && len(plan.Policy.Retiring) < len(seen.Retiring)
}

// Apply makes the policy, and then the binding that puts it in force. A destroy deletes the binding
// first, so that nothing is given any more.
func (r *tolerationPolicy) Apply(ctx context.Context, c change, diags *diag.Diagnostics) *applied {
	_, err := rollout.EnforcePolicy(ctx, r.Data.Cluster, c.Want, r.Data.Comparison)
	if err != nil {
		diags.Append(explain(c.Verb, c.Want.Name, err))
		return nil
	}
	return &applied{Model: c.Model}
}

// Import takes a policy of this provider into the state.
func (r *tolerationPolicy) Import(ctx context.Context, req resource.ImportStateRequest, diags *diag.Diagnostics) (model, ownership) {
	name, own, ok := r.Named(ctx, req, diags)
	if !ok {
		return model{}, own
	}
	state := model{Name: types.StringValue(name)}
	seen, err := r.Data.Cluster.Policy(ctx, name)
	if err == nil && seen == nil {
		err = r.Data.Cluster.PoliciesServed()
	}
	switch {
	case err != nil:
		diags.Append(explain("import", name, err))
	case seen == nil:
		diags.AddError("Unable to import toleration policy \""+name+"\"", "There is none of this name. The id is the name of the policy (kubectl get mutatingadmissionpolicies -l "+admission.ManagedByLabel+"="+admission.ManagedBy+").")
	case seen.Err != nil:
		diags.Append(explain("import", name, errors.Join(&admission.Conflict{Name: name}, seen.Err)))
	default:
		own.Generation = seen.Generation
		state.ID, state.Objects = types.StringValue(seen.Owner), wrong(ctx, seen.Differs, diags)
		state.take(ctx, seen.Policy, own, diags)
	}
	return state, own
}

// explain words an error of a change.
func explain(verb, name string, err error) diag.Diagnostic {
	if said := message.ExplainPolicy(verb, name, nameAt, err); said != nil {
		return said
	}
	if verb == "plan" || verb == "import" {
		return message.UnableTo(verb+" toleration policy \""+name+"\"", err)
	}
	goesOn := message.GoesOn(verb, "What was written stays, with this resource's id in its ownership record; a policy without its binding changes no pods.", "import the policy and destroy it.")
	return message.Failed("Unable to "+verb+" toleration policy \""+name+"\"", goesOn, err)
}
