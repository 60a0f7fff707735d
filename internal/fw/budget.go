// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package fw

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

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
	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
)

// Budget is how many and which pods a change may make leave.
type Budget struct {
	// MaxPods is nil for no limit.
	MaxPods    *int64
	Namespaces []string
	// Selector is nil where no pods are protected by label.
	Selector labels.Selector
	// EvictStranded lets a change through that strands pods.
	EvictStranded bool
	// Inherited are the attributes that come from the provider block.
	Inherited []string
}

// Set says whether there is anything to check.
func (b Budget) Set() bool {
	return b.MaxPods != nil || len(b.Namespaces) > 0 || b.Selector != nil
}

// Violation is a part of the budget that a change exceeds.
type Violation struct {
	// Attribute is the name within the evictions block.
	Attribute string
	// Message says what is exceeded, without a full stop.
	Message string
	// Pods are the protected pods.
	Pods []string
	// Inherited is set where the attribute stands in the provider block.
	Inherited bool
}

// Check compares a report with the budget. Every verdict but stays counts.
func (b Budget) Check(report *eviction.Report) []Violation {
	var out []Violation
	note := func(attribute string, pods []string, format string, args ...any) {
		out = append(out, Violation{Attribute: attribute, Message: fmt.Sprintf(format, args...), Pods: pods, Inherited: slices.Contains(b.Inherited, attribute)})
	}
	if all, verb := pick(report, func(*snapshot.Pod) bool { return true }); b.MaxPods != nil && int64(len(all)) > *b.MaxPods {
		note(maxPods, nil, "%s %s leave, and max_pods allows %d", Count(len(all), "pod"), verb, *b.MaxPods)
	}
	if hit, verb := pick(report, func(p *snapshot.Pod) bool { return slices.Contains(b.Namespaces, p.Namespace) }); len(hit) > 0 {
		note(protectedNamespaces, hit, "%s of protected namespaces %s leave", Count(len(hit), "pod"), verb)
	}
	if b.Selector != nil {
		if hit, verb := pick(report, func(p *snapshot.Pod) bool { return b.Selector.Matches(p.Labels) }); len(hit) > 0 {
			note(protectedSelector, hit, "%s that protected_selector %q matches %s leave", Count(len(hit), "pod"), b.Selector, verb)
		}
	}
	return out
}

// pick names the pods that count, and says whether the change would make them
// leave, or might where that is known of none.
func pick(report *eviction.Report, match func(*snapshot.Pod) bool) (names []string, verb string) {
	verb = "might"
	for _, v := range report.Pods {
		if v.Verdict == eviction.Stays || !match(v.Pod) {
			continue
		}
		names = append(names, v.Pod.Key())
		if v.Leaves() {
			verb = "would"
		}
	}
	return names, verb
}

// Some names the first few of a list and counts the rest.
func Some(all []string) string {
	const few = 5
	if len(all) <= few {
		return strings.Join(all, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(all[:few], ", "), len(all)-few)
}

// The attributes of the evictions block that bound who leaves.
const (
	maxPods             = "max_pods"
	protectedNamespaces = "protected_namespaces"
	protectedSelector   = "protected_selector"
)

const (
	strandedRefuse = "refuse"
	strandedEvict  = "evict"
)

// EvictionsModel is the evictions block, of the provider or of a resource.
type EvictionsModel struct {
	MaxPods             WholeNumber  `tfsdk:"max_pods"`
	ProtectedNamespaces types.Set    `tfsdk:"protected_namespaces"`
	ProtectedSelector   types.String `tfsdk:"protected_selector"`
	Stranded            types.String `tfsdk:"stranded"`
}

// Known says whether every value of the block is known; nil is.
func (m *EvictionsModel) Known() bool {
	if m == nil {
		return true
	}
	unknown := m.MaxPods.IsUnknown() || m.ProtectedNamespaces.IsUnknown() || m.ProtectedSelector.IsUnknown() || m.Stranded.IsUnknown()
	return !unknown && !slices.ContainsFunc(m.ProtectedNamespaces.Elements(), attr.Value.IsUnknown)
}

// Budget returns the block's budget; attributes that it leaves out are those
// of defaults. All values must be known.
func (m *EvictionsModel) Budget(ctx context.Context, defaults Budget) (Budget, diag.Diagnostics) {
	var diags diag.Diagnostics
	if m == nil {
		defaults.Inherited = []string{maxPods, protectedNamespaces, protectedSelector}
		return defaults, diags
	}
	b := Budget{MaxPods: cmp.Or(m.MaxPods.ValueInt64Pointer(), defaults.MaxPods), Namespaces: defaults.Namespaces, Selector: defaults.Selector, EvictStranded: defaults.EvictStranded}
	if !m.Stranded.IsNull() {
		b.EvictStranded = m.Stranded.ValueString() == strandedEvict
	}
	for attribute, value := range map[string]attr.Value{maxPods: m.MaxPods, protectedNamespaces: m.ProtectedNamespaces, protectedSelector: m.ProtectedSelector} {
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
	EvictionsDescription           = "Budget for the pods that a change makes leave. It is checked at plan and again right before the first write that makes pods leave: where it is exceeded, the run ends with an error and none of them leaves. Without a budget, the change is made whoever leaves. A pod of which it is unknown whether it leaves counts as one that does."
	MaxPodsDescription             = "How many pods may leave at most. `0` lets nobody leave. Default: no limit."
	ProtectedNamespacesDescription = "Namespaces of which no pod may leave. Default: none."
	ProtectedSelectorDescription   = "Label selector, in kubectl's syntax, of pods that may not leave. Default: none."
	StrandedDescription            = "What to do about pods that tolerate a taint which is replaced and not the new one: `refuse` (the default) writes no taint while there are any, `evict` goes on."
)
