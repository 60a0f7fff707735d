// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package tfschema

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework-validators/setvalidator"
	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/admission"
)

// Outcomes of a pod where a policy cannot be evaluated.
const (
	FailurePolicyIgnore = "Ignore"
	FailurePolicyFail   = "Fail"
)

// MatchModel is the object match of a policy.
type MatchModel struct {
	Namespaces        types.Set    `tfsdk:"namespaces"`
	NamespaceSelector types.String `tfsdk:"namespace_selector"`
	PodSelector       types.String `tfsdk:"pod_selector"`
	Requests          types.Set    `tfsdk:"requests"`
	MatchAll          types.Bool   `tfsdk:"match_all"`
}

// MatchType is the type of the object.
var MatchType = map[string]attr.Type{
	"namespaces": types.SetType{ElemType: types.StringType}, "namespace_selector": types.StringType, "pod_selector": types.StringType,
	"requests": types.SetType{ElemType: types.StringType}, "match_all": types.BoolType,
}

// MatchAttributes are the attributes of the object.
func MatchAttributes() map[string]schema.Attribute {
	return map[string]schema.Attribute{
		"namespaces": schema.SetAttribute{
			Optional:            true,
			ElementType:         types.StringType,
			MarkdownDescription: "Namespaces of the pods. Includes a system namespace only if it is named here.",
			Validators:          []validator.Set{setvalidator.SizeAtLeast(1), setvalidator.NoNullValues(), setvalidator.ValueStringsAre(namespaceName())},
		},
		"namespace_selector": schema.StringAttribute{
			Optional:            true,
			MarkdownDescription: "Label selector of the namespaces, instead of `namespaces`. It must match no system namespace.",
			Validators:          []validator.String{objectSelector()},
		},
		"pod_selector": schema.StringAttribute{
			Optional:            true,
			MarkdownDescription: "Label selector of the pods.",
			Validators:          []validator.String{objectSelector()},
		},
		"requests": schema.SetAttribute{
			Optional:            true,
			ElementType:         types.StringType,
			MarkdownDescription: "Extended resources, such as `nvidia.com/gpu`: matches pods that request at least one of them.",
			Validators:          []validator.Set{setvalidator.SizeAtLeast(1), setvalidator.NoNullValues(), setvalidator.ValueStringsAre(ExtendedResource())},
		},
		"match_all": schema.BoolAttribute{
			Optional:            true,
			MarkdownDescription: "Whether to match every pod outside system namespaces, instead of other criteria.",
		},
	}
}

func namespaceName() validator.String {
	return check{description: "must be the name of a namespace", find: func(s string) string {
		return first("\""+s+"\" is not the name of a namespace: ", validation.IsDNS1123Label(s))
	}}
}

// ObjectName checks that a string is a name of an object as most kinds have it.
func ObjectName() validator.String {
	return check{description: "must be a name of lower case letters, digits, - and .", find: func(s string) string {
		return first("\""+s+"\" is no name: ", validation.IsDNS1123Subdomain(s))
	}}
}

// ExtendedResource checks that a string is the name of an extended resource
// (k8s.io/kubernetes v1.37.1 pkg/apis/core/v1/helper/helpers.go, IsExtendedResourceName).
func ExtendedResource() validator.String {
	return check{description: "must be the name of an extended resource, such as nvidia.com/gpu", find: func(s string) string {
		switch {
		case kubernetesOwn(s):
			return fmt.Sprintf("%q is one of Kubernetes' own resources.", s)
		case !strings.Contains(s, "/"):
			return fmt.Sprintf("%q has no domain.", s)
		case strings.HasPrefix(s, corev1.DefaultResourceRequestsPrefix):
			return fmt.Sprintf("%q is a name as quotas have it: leave out %q.", s, corev1.DefaultResourceRequestsPrefix)
		}
		return first(fmt.Sprintf("%q is not the name of an extended resource: ", s), validation.IsQualifiedName(corev1.DefaultResourceRequestsPrefix+s))
	}}
}

// kubernetesOwn reports whether a name is that of a resource that Kubernetes defines itself.
func kubernetesOwn(s string) bool {
	own := []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourceStorage, corev1.ResourceEphemeralStorage, corev1.ResourcePods}
	return slices.Contains(own, corev1.ResourceName(s)) || strings.HasPrefix(s, corev1.ResourceHugePagesPrefix) || strings.Contains(s, corev1.ResourceDefaultNamespacePrefix)
}

// MatchOf reads the object at a path, and checks what can be told without a cluster; false
// while any part of it is not known, or something is wrong with it.
func MatchOf(ctx context.Context, from types.Object, at path.Path, diags *diag.Diagnostics) (admission.Match, bool) {
	if from.IsNull() || from.IsUnknown() {
		return admission.Match{}, false
	}
	var in MatchModel
	diags.Append(from.As(ctx, &in, objectAsIs)...)
	if diags.HasError() || in.NamespaceSelector.IsUnknown() || in.PodSelector.IsUnknown() || in.MatchAll.IsUnknown() {
		return admission.Match{}, false
	}
	out := admission.Match{All: in.MatchAll.ValueBool(), NamespaceSelector: in.NamespaceSelector.ValueString(), PodSelector: in.PodSelector.ValueString()}
	for set, list := range map[*types.Set]*[]string{&in.Namespaces: &out.Namespaces, &in.Requests: &out.Requests} {
		if set.IsUnknown() || slices.ContainsFunc(set.Elements(), attr.Value.IsUnknown) {
			return admission.Match{}, false
		}
		diags.Append(set.ElementsAs(ctx, list, false)...)
		slices.Sort(*list)
	}
	checkMatch(out, at, diags)
	return out, !diags.HasError()
}

// checkMatch refuses what no user can mean.
func checkMatch(out admission.Match, at path.Path, diags *diag.Diagnostics) {
	switch {
	case out.Empty() && !out.All:
		diags.AddAttributeError(at, "Unable to match every pod with an empty match",
			"Nothing in match narrows down the pods, so the policy would change every new pod outside the system namespaces. Set namespaces, namespace_selector, pod_selector or requests; or match_all = true, if that is intended.")
	case !out.Empty() && out.All:
		diags.AddAttributeError(at.AtName("match_all"), "Unable to match every pod and only some", "match_all = true is set together with what narrows the match. Leave out one of the two.")
	case len(out.Namespaces) > 0 && out.NamespaceSelector != "":
		diags.AddAttributeError(at.AtName("namespace_selector"), "Unable to match namespaces both by name and by selector", "A pod would have to be in a namespace that is named and that matches. Leave out namespaces or namespace_selector.")
	}
}

// MatchObject makes the object; what is empty is null.
func MatchObject(ctx context.Context, m admission.Match, diags *diag.Diagnostics) types.Object {
	set := func(names []string) types.Set {
		if len(names) == 0 {
			return types.SetNull(types.StringType)
		}
		out, found := types.SetValueFrom(ctx, types.StringType, names)
		diags.Append(found...)
		return out
	}
	model := MatchModel{Namespaces: set(m.Namespaces), NamespaceSelector: OrNull(m.NamespaceSelector), PodSelector: OrNull(m.PodSelector), Requests: set(m.Requests)}
	if m.All {
		model.MatchAll = types.BoolValue(true)
	}
	out, found := types.ObjectValueFrom(ctx, MatchType, model)
	diags.Append(found...)
	return out
}
