// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package tfschema

import (
	"cmp"
	"context"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework-validators/int64validator"
	"github.com/hashicorp/terraform-plugin-framework-validators/setvalidator"
	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/eviction"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/tf/message"
)

// Attributes of the evictions block that limit which pods are evicted.
const (
	maxPods             = string(eviction.MaxPods)
	maxPending          = string(eviction.MaxPending)
	maxLost             = string(eviction.MaxLost)
	protectedNamespaces = string(eviction.ProtectedNamespaces)
	protectedSelector   = string(eviction.ProtectedSelector)
	onlyThese           = string(eviction.Only)
)

const (
	strandedRefuse = "refuse"
	strandedEvict  = "evict"
)

// EvictionsModel is the evictions block, of the provider or of a resource.
type EvictionsModel struct {
	MaxPods             WholeNumber  `tfsdk:"max_pods"`
	MaxPending          WholeNumber  `tfsdk:"max_pending"`
	MaxLost             WholeNumber  `tfsdk:"max_lost"`
	ProtectedNamespaces types.Set    `tfsdk:"protected_namespaces"`
	ProtectedSelector   types.String `tfsdk:"protected_selector"`
	Only                types.Set    `tfsdk:"only"`
	Stranded            types.String `tfsdk:"stranded"`
}

// Known reports whether every value of the block is known; nil is.
func (m *EvictionsModel) Known() bool {
	if m == nil {
		return true
	}
	for _, value := range m.limits() {
		if value.IsUnknown() {
			return false
		}
	}
	return !m.Stranded.IsUnknown() && !slices.ContainsFunc(slices.Concat(m.ProtectedNamespaces.Elements(), m.Only.Elements()), attr.Value.IsUnknown)
}

// limits returns the attributes that limit which pods are evicted.
func (m *EvictionsModel) limits() map[string]attr.Value {
	return map[string]attr.Value{
		maxPods: m.MaxPods, maxPending: m.MaxPending, maxLost: m.MaxLost,
		protectedNamespaces: m.ProtectedNamespaces, protectedSelector: m.ProtectedSelector, onlyThese: m.Only,
	}
}

// Limits returns the block's limits; attributes that it leaves out are those
// of defaults. All values must be known.
func (m *EvictionsModel) Limits(ctx context.Context, defaults message.Limits) (message.Limits, diag.Diagnostics) {
	var diags diag.Diagnostics
	if m == nil {
		defaults.Inherited = []string{maxPods, maxPending, maxLost, protectedNamespaces, protectedSelector, onlyThese}
		return defaults, diags
	}
	b := message.Limits{Limits: defaults.Limits, OnlyAlone: defaults.OnlyAlone}
	b.MaxPods = cmp.Or(m.MaxPods.ValueInt64Pointer(), defaults.MaxPods)
	b.MaxPending = cmp.Or(m.MaxPending.ValueInt64Pointer(), defaults.MaxPending)
	b.MaxLost = cmp.Or(m.MaxLost.ValueInt64Pointer(), defaults.MaxLost)
	if !m.Stranded.IsNull() {
		b.EvictStranded = m.Stranded.ValueString() == strandedEvict
	}
	for attribute, value := range m.limits() {
		if value.IsNull() {
			b.Inherited = append(b.Inherited, attribute)
		}
	}
	if !m.ProtectedNamespaces.IsNull() {
		b.Namespaces = nil
		diags.Append(m.ProtectedNamespaces.ElementsAs(ctx, &b.Namespaces, false)...)
	}
	if !m.ProtectedSelector.IsNull() {
		selector, err := labels.Parse(m.ProtectedSelector.ValueString())
		if err != nil {
			diags.Append(NoSelector(path.Root("evictions").AtName(protectedSelector), m.ProtectedSelector.ValueString(), err))
		}
		b.Selector = selector
	}
	if !m.Only.IsNull() {
		b.Only = approvalsOf(ctx, m.Only, &diags)
		b.OnlyAlone = len(b.Inherited) == len(m.limits())-1 && m.Stranded.IsNull()
	}
	return b, diags
}

// Validators of the evictions block, shared by the provider's and the
// resources' schemas, which are different Go types for the same attributes.
var (
	MaxPodsValidators             = []validator.Int64{int64validator.AtLeast(0)}
	ProtectedNamespacesValidators = []validator.Set{setvalidator.SizeAtLeast(1), setvalidator.NoNullValues()}
	ProtectedSelectorValidators   = []validator.String{Selector()}
	StrandedValidators            = []validator.String{stringvalidator.OneOf(strandedRefuse, strandedEvict)}
)

// Descriptions of the evictions block, shared in the same way.
const (
	EvictionsDescription           = "Limits on evicted pods, checked at plan and before the first write. Default: the provider's."
	MaxPodsDescription             = "Maximum number of pods that may be evicted. `0` allows none. Default: no limit."
	MaxPendingDescription          = "Maximum number of replacement pods that may stay Pending. Default: no limit."
	MaxLostDescription             = "Maximum number of lost pods: bare, or of failing Jobs or runs. Default: no limit."
	ProtectedNamespacesDescription = "Namespaces whose pods must not be evicted. Default: none."
	ProtectedSelectorDescription   = "Label selector of pods that must not be evicted. Default: none."
	OnlyDescription                = "Workloads whose pods may be evicted, such as `shop/Deployment/web`, `ml/*`. `[]`: none. Default: all."
	StrandedDescription            = "Pods that tolerate only the replaced taint: `refuse` (default) the change, or `evict` them."
)
