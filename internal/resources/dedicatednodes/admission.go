// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package dedicatednodes

import (
	"context"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-framework/types/basetypes"
	corev1 "k8s.io/api/core/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/admission"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/planner"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
	tfschema "github.com/kubetaint/terraform-provider-kubetaint/internal/tf/schema"
)

// admissionModel is the object admission.
type admissionModel struct {
	Name              types.String         `tfsdk:"name"`
	Match             types.Object         `tfsdk:"match"`
	TolerationSeconds tfschema.WholeNumber `tfsdk:"toleration_seconds"`
	Pin               types.Bool           `tfsdk:"pin"`
	FailurePolicy     types.String         `tfsdk:"failure_policy"`
}

var admissionType = map[string]attr.Type{
	"name": types.StringType, "match": types.ObjectType{AttrTypes: tfschema.MatchType}, "toleration_seconds": tfschema.WholeNumberType{}, "pin": types.BoolType, "failure_policy": types.StringType,
}

// Paths of the object and its parts.
var (
	admissionAt = path.Root("admission")
	policyAt    = admissionAt.AtName("name")
	matchAt     = admissionAt.AtName("match")
)

func admissionAttribute() schema.Attribute {
	return schema.SingleNestedAttribute{
		Optional:            true,
		MarkdownDescription: "MutatingAdmissionPolicy that adds tolerations for all `taints` to new pods selected by `match`.",
		Attributes: map[string]schema.Attribute{
			"name": schema.StringAttribute{
				Required:            true,
				MarkdownDescription: "Name of the policy and its binding. A change creates the new policy first.",
				Validators:          []validator.String{tfschema.ObjectName()},
			},
			"match": schema.SingleNestedAttribute{
				Required:            true,
				MarkdownDescription: "Conditions that new pods must meet to get the tolerations. All must match.",
				Attributes:          tfschema.MatchAttributes(),
			},
			"toleration_seconds": schema.Int64Attribute{
				CustomType:          tfschema.WholeNumberType{},
				Optional:            true,
				MarkdownDescription: "Seconds for which pods tolerate the `NoExecute` taints. Default: forever.",
			},
			"pin": schema.BoolAttribute{
				Optional:            true,
				MarkdownDescription: "Whether pods run only on these nodes: the policy adds required node affinity. Default: `false`.",
			},
			"failure_policy": schema.StringAttribute{
				Optional:            true,
				MarkdownDescription: "Pods if the policy cannot be evaluated: `Ignore` (default) admits them unchanged, `Fail` rejects them.",
				Validators:          []validator.String{stringvalidator.OneOf(tfschema.FailurePolicyIgnore, tfschema.FailurePolicyFail)},
			},
		},
	}
}

// policy returns the policy that is wanted, nil for none; false while any of it is not
// known or something is wrong.
func (m model) policy(ctx context.Context, own ownership, taints []corev1.Taint, labels map[string]string, diags *diag.Diagnostics) (*admission.Claim, bool) {
	if m.Admission.IsNull() {
		return nil, true
	}
	if m.Admission.IsUnknown() {
		return nil, false
	}
	var in admissionModel
	diags.Append(m.Admission.As(ctx, &in, basetypes.ObjectAsOptions{})...)
	if diags.HasError() || in.Name.IsUnknown() || in.TolerationSeconds.IsUnknown() || in.Pin.IsUnknown() || in.FailurePolicy.IsUnknown() {
		return nil, false
	}
	match, known := tfschema.MatchOf(ctx, in.Match, matchAt, diags)
	if !known {
		return nil, false
	}
	out := &admission.Claim{Mark: admission.Mark{Owner: m.ID.ValueString(), Generation: own.Generation}}
	out.Name, out.Match, out.Fail = in.Name.ValueString(), match, in.FailurePolicy.ValueString() == tfschema.FailurePolicyFail
	for _, t := range taints {
		out.Tolerations = append(out.Tolerations, tolerationFor(t, in.TolerationSeconds))
	}
	if in.Pin.ValueBool() {
		if out.Pin = labels; len(labels) == 0 {
			diags.AddAttributeError(admissionAt.AtName("pin"), "Unable to pin pods without labels",
				"Pods are pinned by requiring the labels of the nodes, and labels is empty. Add a label, or leave out pin.")
		}
	}
	return out, !diags.HasError()
}

// tolerationFor is the toleration for a taint; seconds count for NoExecute alone.
func tolerationFor(t corev1.Taint, seconds tfschema.WholeNumber) corev1.Toleration {
	out := taint.TolerationFor(t)
	if t.Effect == corev1.TaintEffectNoExecute {
		out.TolerationSeconds = seconds.ValueInt64Pointer()
	}
	return out
}

// without adds the policy of an earlier configuration that is not meant any more.
func (w wanted) without(before wanted) wanted {
	for _, old := range before.policies {
		if !w.claims(old.Name) {
			w = w.giveUp(old)
		}
	}
	return w
}

// claims reports whether there is a claim on the policy of a name.
func (w wanted) claims(name string) bool {
	return slices.ContainsFunc(w.policies, func(p admission.Claim) bool { return p.Name == name })
}

// giveUp adds a policy that is not meant any more.
func (w wanted) giveUp(old admission.Claim) wanted {
	old.Release = true
	w.policies = append(w.policies[:len(w.policies):len(w.policies)], old)
	return w
}

// withPolicies adds the policies with the id and generation of this resource that are not meant. Who may
// not list policies knows that of the state alone.
func (r *dedicatedNodes) withPolicies(ctx context.Context, desired wanted) (wanted, error) {
	all, err := r.Data.Cluster.Policies(ctx)
	if err != nil {
		return desired, err
	}
	mark := admission.Mark{Owner: desired.owner(), Generation: desired.nodes.Claim.Generation}
	for _, seen := range all {
		if claim := (admission.Claim{Policy: seen.Policy, Mark: mark}); seen.Owner == mark.Owner && claim.Owns(&seen) && !desired.claims(seen.Name) {
			desired = desired.giveUp(claim)
			desired.found = append(slices.Clone(desired.found), seen.Name)
		}
	}
	return desired, nil
}

// warnFound names the policies that a plan deletes and that neither configuration nor state names.
func (w wanted) warnFound(plan planner.Plan, diags *diag.Diagnostics) {
	for _, step := range plan.Steps {
		if name := step.Policy.Name; step.Policy.Delete && slices.Contains(w.found, name) {
			diags.AddWarning("Deleting toleration policy \""+name+"\" beyond the changed attributes",
				"An interrupted update of \""+w.owner()+"\" created it, as its ownership record shows. New pods no longer get its tolerations. To keep it, add it to admission.")
		}
	}
}

// observePolicies reads the policies.
func (r *dedicatedNodes) observePolicies(ctx context.Context, desired wanted) (map[string]*admission.Observed, error) {
	out := map[string]*admission.Observed{}
	for _, claim := range desired.policies {
		seen, err := r.Data.Cluster.Policy(ctx, claim.Name)
		if err != nil {
			return nil, &policyError{claim.Name, err}
		}
		out[claim.Name] = seen
	}
	return out, nil
}

// policyError is an error of a policy.
type policyError struct {
	name string
	err  error
}

// Error returns the original error.
func (e *policyError) Error() string { return e.err.Error() }

// Unwrap returns the original error.
func (e *policyError) Unwrap() error { return e.err }

// driftOfPolicies reports which policies are out of sync.
func (o observation) driftOfPolicies(desired wanted, note func(string, taint.Status)) {
	for _, claim := range desired.policies {
		name, seen := "policy/"+claim.Name, o.policies[claim.Name]
		switch {
		case claim.Release:
			if claim.Owns(seen) {
				note(name, taint.Different)
			}
		case seen == nil || seen.Differs[admission.PolicyKind] == admission.Missing || seen.Differs[admission.BindingKind] == admission.Missing:
			note(name, taint.Missing)
		case !seen.InForce() || !claim.Owns(seen) || !same(claim, seen.Policy):
			note(name, taint.Different)
		}
	}
}

// same reports whether a policy is in sync, whatever retires.
func same(claim admission.Claim, seen admission.Policy) bool {
	seen.Retiring, claim.Retiring = nil, nil
	return claim.Equal(seen)
}

// desiredPolicies is what the planner gets of them.
func (o observation) desiredPolicies(desired wanted) []planner.DesiredPolicy {
	var out []planner.DesiredPolicy
	for _, claim := range desired.policies {
		out = append(out, planner.DesiredPolicy{Claim: claim, Seen: o.policies[claim.Name]})
	}
	return out
}

// tryPolicies has the API server check the policies that the plan writes.
func (r *dedicatedNodes) tryPolicies(ctx context.Context, desired wanted, observed observation, plan planner.Plan, diags *diag.Diagnostics) bool {
	for _, claim := range desired.policies {
		for _, step := range plan.Steps {
			if step.Kind != planner.Admit || step.Policy.Name != claim.Name {
				continue
			}
			r.Data.CheckNamespaces(ctx, claim.Policy, matchAt, policyAt, diags)
			if err := r.Data.TryPolicy(ctx, observed.policies[claim.Name], claim); err != nil {
				diags.Append(explain("plan", desired, &policyError{claim.Name, err}))
			}
		}
	}
	return !diags.HasError()
}
