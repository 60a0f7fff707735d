// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package tolerationpolicy

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/admission"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/rollout"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/tf/managed"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/tf/message"
	tfschema "github.com/kubetaint/terraform-provider-kubetaint/internal/tf/schema"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/tf/session"
)

var (
	_ resource.ResourceWithConfigure      = (*tolerationPolicy)(nil)
	_ resource.ResourceWithValidateConfig = (*tolerationPolicy)(nil)
	_ resource.ResourceWithModifyPlan     = (*tolerationPolicy)(nil)
	_ resource.ResourceWithImportState    = (*tolerationPolicy)(nil)
	_ resource.ResourceWithIdentity       = (*tolerationPolicy)(nil)
)

type tolerationPolicy struct {
	managed.Resource
}

// NewResource returns the resource.
func NewResource() resource.Resource {
	return &tolerationPolicy{}
}

// Metadata names the resource.
func (r *tolerationPolicy) Metadata(_ context.Context, req resource.MetadataRequest, resp *resource.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + "_toleration_policy"
}

// ValidateConfig checks what can be told without a cluster.
func (r *tolerationPolicy) ValidateConfig(ctx context.Context, req resource.ValidateConfigRequest, resp *resource.ValidateConfigResponse) {
	var config model
	resp.Diagnostics.Append(req.Config.Get(ctx, &config)...)
	if resp.Diagnostics.HasError() {
		return
	}
	tfschema.MatchOf(ctx, config.Match, matchAt, &resp.Diagnostics)
	tfschema.WarnKeyless(ctx, tfschema.Named("toleration policy", config.Name), config.Tolerations, path.Root("tolerations"), &resp.Diagnostics)
}

// Create makes the policy, and then the binding that puts it in force. An error saves no
// state: what is written carries the id, and the next create adopts it.
func (r *tolerationPolicy) Create(ctx context.Context, req resource.CreateRequest, resp *resource.CreateResponse) {
	defer func() { r.Data.Distinguish(ctx, &resp.Diagnostics, req.Plan) }()
	var plan model
	resp.Diagnostics.Append(req.Plan.Get(ctx, &plan)...)
	if resp.Diagnostics.HasError() {
		return
	}
	cluster, ok := r.Data.ConnectedToWrite(ctx, "", &resp.Diagnostics)
	if !ok {
		return
	}
	own := managed.NewOwnership[string](cluster)
	plan.ID = types.StringValue(admission.NewID(r.Data.Owner, plan.Name.ValueString()))
	claim, known := plan.claim(ctx, own, &resp.Diagnostics)
	claim.TakeOver = true
	r.Data.Created.Store(plan.ID.ValueString(), true)
	if known && r.enforce(ctx, "create", claim, &resp.Diagnostics) {
		r.save(ctx, plan, own, &resp.State, resp.Identity, resp.Private, &resp.Diagnostics)
	}
}

// Update changes the policy in place.
func (r *tolerationPolicy) Update(ctx context.Context, req resource.UpdateRequest, resp *resource.UpdateResponse) {
	defer func() { r.Data.Distinguish(ctx, &resp.Diagnostics, req.State) }()
	var state, plan model
	resp.Diagnostics.Append(req.State.Get(ctx, &state)...)
	resp.Diagnostics.Append(req.Plan.Get(ctx, &plan)...)
	own, ok := r.owned(ctx, req.Private, state, &resp.Diagnostics)
	if !ok {
		return
	}
	plan.ID = state.ID
	claim, known := plan.claim(ctx, own, &resp.Diagnostics)
	if known && r.enforce(ctx, "update", claim, &resp.Diagnostics) {
		r.save(ctx, plan, own, &resp.State, resp.Identity, resp.Private, &resp.Diagnostics)
	}
}

// Delete deletes the binding, so that nothing is given any more, and then the policy. One
// that a newer object with the same id has adopted stays.
func (r *tolerationPolicy) Delete(ctx context.Context, req resource.DeleteRequest, resp *resource.DeleteResponse) {
	defer func() { r.Data.Distinguish(ctx, &resp.Diagnostics, req.State) }()
	var state model
	resp.Diagnostics.Append(req.State.Get(ctx, &state)...)
	own, ok := r.owned(ctx, req.Private, state, &resp.Diagnostics)
	if !ok {
		return
	}
	claim := admission.Claim{Mark: admission.Mark{Owner: state.ID.ValueString(), Generation: own.Generation}, Release: true}
	claim.Name = state.Name.ValueString()
	r.enforce(ctx, "delete", claim, &resp.Diagnostics)
}

// owned returns what an existing instance owns, on the cluster that it is on.
func (r *tolerationPolicy) owned(ctx context.Context, private session.PrivateReader, state model, diags *diag.Diagnostics) (ownership, bool) {
	if diags.HasError() {
		return ownership{}, false
	}
	own, err := r.ownership(ctx, private, state, diags)
	return managed.Connect(ctx, r.Data, own, state.ID.ValueString(), err, diags)
}

// enforce makes the policy as it is claimed.
func (r *tolerationPolicy) enforce(ctx context.Context, verb string, claim admission.Claim, diags *diag.Diagnostics) bool {
	if _, err := rollout.EnforcePolicy(ctx, r.Data.Cluster, claim, r.Data.Comparison); err != nil {
		diags.Append(explain(verb, claim.Name, err))
		return false
	}
	return true
}

func (r *tolerationPolicy) save(ctx context.Context, m model, own ownership, state *tfsdk.State, to *tfsdk.ResourceIdentity, private session.PrivateWriter, diags *diag.Diagnostics) {
	own.Save(ctx, private, diags)
	diags.Append(state.Set(ctx, m)...)
	if to != nil {
		diags.Append(to.Set(ctx, identity{Name: m.Name})...)
	}
}

// explain words an error of a change.
func explain(verb, name string, err error) diag.Diagnostic {
	if said := message.ExplainPolicy(verb, name, nameAt, err); said != nil {
		return said
	}
	detail := "What was written stays, with this resource's id in its ownership record; a policy without its binding changes no pods. "
	switch verb {
	case "plan", "import":
		return message.UnableTo(verb+" toleration policy \""+name+"\"", err)
	case "create":
		detail += "Nothing is saved in the state. Apply again to continue where it stopped. To give up instead, import the policy and destroy it."
	default:
		detail += "Apply again to continue where it stopped."
	}
	if advice := message.Advise(err); advice != "" {
		detail = advice + "\n\n" + detail
	}
	return diag.NewErrorDiagnostic("Unable to "+verb+" toleration policy \""+name+"\"", detail+"\n\nOriginal error: "+err.Error())
}
