// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package workloadtolerations

import (
	"context"
	"strings"
	"time"

	"github.com/hashicorp/terraform-plugin-framework-timeouts/resource/timeouts"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/objectplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-framework/types/basetypes"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/tf/managed"
	tfschema "github.com/kubetaint/terraform-provider-kubetaint/internal/tf/schema"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/tf/session"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/toleration"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/workload"
)

// model is the resource as it is in configuration, plan and state.
type model struct {
	ID             types.String   `tfsdk:"id"`
	Workload       types.Object   `tfsdk:"workload"`
	Path           types.String   `tfsdk:"path"`
	Tolerations    types.Set      `tfsdk:"tolerations"`
	WaitForRollout types.Bool     `tfsdk:"wait_for_rollout"`
	Retire         types.String   `tfsdk:"retire"`
	Timeouts       timeouts.Value `tfsdk:"timeouts"`
}

// workloadModel is the workload object.
type workloadModel struct {
	APIVersion types.String `tfsdk:"api_version"`
	Kind       types.String `tfsdk:"kind"`
	Namespace  types.String `tfsdk:"namespace"`
	Name       types.String `tfsdk:"name"`
	Selector   types.String `tfsdk:"selector"`
}

// identity is what an import block by identity names.
type identity struct {
	APIVersion types.String `tfsdk:"api_version"`
	Kind       types.String `tfsdk:"kind"`
	Namespace  types.String `tfsdk:"namespace"`
	Name       types.String `tfsdk:"name"`
	Selector   types.String `tfsdk:"selector"`
	Path       types.String `tfsdk:"path"`
}

// target reports which objects are meant, and where their tolerations stand.
type target struct {
	workload.Ref
	// Selector is set in place of a name.
	Selector labels.Selector
	// Path is resolved, claimPath is as marks have it.
	Path      []string
	claimPath string
}

// String returns KIND/NAMESPACE/NAME, with a selector in place of a name; a path that is not the
// known one follows after #. A kind that is not known has its group.
func (t target) String() string { return t.written(t.GroupedKind()) }

// written is the same with the kind in these words.
func (t target) written(kind string) string {
	ref := t.Ref
	ref.Kind = kind
	out := ref.String()
	if t.Selector != nil {
		out = kind + "/" + t.Namespace + "/" + t.selector()
	}
	if t.claimPath != "" {
		out += "#" + t.claimPath
	}
	return out
}

// title names the target for a reader.
func (t target) title() string {
	if t.Selector == nil {
		return t.Title()
	}
	return t.Kind + "s of \"" + t.Namespace + "\" matching \"" + t.Selector.String() + "\""
}

// show is the command that shows the target.
func (t target) show() string {
	which := t.Name
	if t.Selector != nil {
		which = "-l '" + t.selector() + "'"
	}
	return "kubectl get " + t.Kubectl(which) + " -o yaml"
}

// whose names a target that may not be known yet.
func whose(t target, known bool) string {
	if !known {
		return "a workload"
	}
	return t.title()
}

func (t target) selector() string {
	return strings.ReplaceAll(t.Selector.String(), "==", "=")
}

// ownership is what the resource remembers beside its state, change what a plan or an apply is about, and applied
// what an apply has left.
type (
	ownership = managed.Ownership[toleration.ID]
	change    = managed.Operation[model, wanted, toleration.ID]
	applied   = managed.Applied[model]
)

const (
	// defaultTimeout leaves a slow rollout its time.
	defaultTimeout = 20 * time.Minute
	// defaultDeleteTimeout is for writes alone.
	defaultDeleteTimeout = 10 * time.Minute
)

// objectAsIs reads objects whose attributes are all of framework types.
var objectAsIs = basetypes.ObjectAsOptions{}

// Title names what is read.
func (m model) Title(ctx context.Context) string {
	where, _ := m.target(ctx, &diag.Diagnostics{})
	return "the tolerations of " + where.title()
}

// Timeout returns how long a change may take.
func (m model) Timeout(ctx context.Context, verb string, diags *diag.Diagnostics) time.Duration {
	usual := defaultTimeout
	if verb == "delete" {
		usual = defaultDeleteTimeout
	}
	return tfschema.Timeout(ctx, m.Timeouts, verb, usual, diags)
}

// WithID returns the model with this id.
func (m model) WithID(id string) model {
	m.ID = types.StringValue(id)
	return m
}

// wanted is what the model wants.
type wanted struct {
	target target
	claim  toleration.Claim
	now    bool
	noWait bool
	// former are the entries that the state names.
	former []toleration.ID
}

// TakingOver is the same of a create, which adopts what carries its id.
func (w wanted) TakingOver() wanted {
	w.claim.TakeOver = true
	return w
}

// Entries are the tolerations that are wanted.
func (w wanted) Entries() []toleration.ID { return toleration.IDs(w.claim.Tolerations) }

// Desired returns what the model wants and what it may call its own; false while
// any of it is not known or something is wrong.
func (m model) Desired(ctx context.Context, own ownership, diags *diag.Diagnostics) (wanted, bool) {
	where, targetKnown := m.target(ctx, diags)
	tolerations, known := tfschema.Tolerations(ctx, m.Tolerations, diags)
	if !targetKnown || !known || m.WaitForRollout.IsUnknown() || m.Retire.IsUnknown() || diags.HasError() {
		return wanted{}, false
	}
	return wanted{
		target: where, now: m.Retire.ValueString() == retireNow, noWait: !m.WaitForRollout.ValueBool(),
		claim: toleration.Claim{
			Owner: m.ID.ValueString(), Generation: own.Generation, Seal: own.ListSeal(), Path: where.claimPath,
			Tolerations: tolerations, Imported: own.Imported,
		},
	}, true
}

// Released returns the entries of the state. A destroy waits for no pods.
func (m model) Released(ctx context.Context, own ownership, diags *diag.Diagnostics) (wanted, bool) {
	desired, known := m.Desired(ctx, own, diags)
	desired.claim.Release, desired.noWait = true, true
	return desired, known
}

// target resolves the workload and the path; false while they are not known or
// something is wrong with them.
func (m model) target(ctx context.Context, diags *diag.Diagnostics) (target, bool) {
	if m.Workload.IsUnknown() || m.Workload.IsNull() || m.Path.IsUnknown() {
		return target{}, false
	}
	var w workloadModel
	if found := m.Workload.As(ctx, &w, objectAsIs); found.HasError() {
		diags.Append(found...)
		return target{}, false
	}
	if w.APIVersion.IsUnknown() || w.Kind.IsUnknown() || w.Namespace.IsUnknown() || w.Name.IsUnknown() || w.Selector.IsUnknown() {
		return target{}, false
	}
	t := target{Ref: workload.Ref{APIVersion: w.APIVersion.ValueString(), Kind: w.Kind.ValueString(), Namespace: w.Namespace.ValueString(), Name: w.Name.ValueString()}}
	if !w.Selector.IsNull() {
		selector, err := labels.Parse(w.Selector.ValueString())
		if err != nil {
			diags.Append(tfschema.NoSelector(path.Root("workload").AtName("selector"), w.Selector.ValueString(), err))
			return target{}, false
		}
		t.Selector = selector
	}
	return t.resolve(m.Path.ValueString(), diags)
}

// resolve finds out about the kind, and checks what follows from it.
func (t target) resolve(written string, diags *diag.Diagnostics) (target, bool) {
	resolved, ok := session.ResolveWorkload(t.Ref, written, at, diags)
	t.Ref, t.Path, t.claimPath = resolved.Ref, resolved.Path, resolved.ClaimPath
	return t, ok
}

// Planned returns the model in the words of the state: the operator Equal and none, an empty value and none, the
// version that is known and none, a selector written in another way.
func (m model) Planned(ctx context.Context, state *model, _ ownership, _ *diag.Diagnostics) model {
	if state == nil {
		return m
	}
	if sameWorkload(ctx, state.Workload, m.Workload) {
		m.Workload = state.Workload
	}
	m.Tolerations = tfschema.KeepTolerations(ctx, m.Tolerations, state.Tolerations)
	return m
}

// anotherWorkload reports that a change of the workload is not one of words.
func anotherWorkload(ctx context.Context, req planmodifier.ObjectRequest, resp *objectplanmodifier.RequiresReplaceIfFuncResponse) {
	resp.RequiresReplace = !sameWorkload(ctx, req.StateValue, req.PlanValue)
}

// anotherPath reports that a change of the path is not one between the known path of the kind and
// none, which are the same list.
func anotherPath(ctx context.Context, req planmodifier.StringRequest, resp *stringplanmodifier.RequiresReplaceIfFuncResponse) {
	var w types.Object
	resp.Diagnostics.Append(req.Plan.GetAttribute(ctx, path.Root("workload"), &w)...)
	var ignored diag.Diagnostics
	before, beforeKnown := model{Workload: w, Path: req.StateValue}.target(ctx, &ignored)
	after, afterKnown := model{Workload: w, Path: req.PlanValue}.target(ctx, &ignored)
	resp.RequiresReplace = !beforeKnown || !afterKnown || before.claimPath != after.claimPath
}

// sameWorkload reports that two objects name the same workload; false where that is
// not known.
func sameWorkload(ctx context.Context, a, b types.Object) bool {
	before, beforeKnown := anywhere(ctx, a)
	after, afterKnown := anywhere(ctx, b)
	return beforeKnown && afterKnown && before.String() == after.String() && before.APIVersion == after.APIVersion
}

// anywhere resolves a workload. The path of the list makes no difference.
func anywhere(ctx context.Context, w types.Object) (target, bool) {
	var ignored diag.Diagnostics
	if t, known := (model{Workload: w}).target(ctx, &ignored); known {
		return t, true
	}
	return model{Workload: w, Path: types.StringValue("spec.tolerations")}.target(ctx, &ignored)
}

// NewID returns the id of a create, which has its entries.
func (m model) NewID(ctx context.Context, owner string) string {
	desired, known := m.Desired(ctx, ownership{}, &diag.Diagnostics{})
	if !known {
		return ""
	}
	return newID(owner, desired.target, desired.claim.Tolerations)
}

// newID is the id of a resource that is created with these entries. It can be
// told at plan, and a create that was killed finds its own marks by it.
func newID(owner string, t target, tolerations []corev1.Toleration) string {
	return strings.Join([]string{owner, name, t.String(), strings.Join(toleration.Notations(tolerations), ",")}, "/")
}

// Identity is what an import block by identity names.
func (m model) Identity(ctx context.Context, diags *diag.Diagnostics) any {
	var w workloadModel
	diags.Append(m.Workload.As(ctx, &w, objectAsIs)...)
	return identity{APIVersion: w.APIVersion, Kind: w.Kind, Namespace: w.Namespace, Name: w.Name, Selector: w.Selector, Path: m.Path}
}
