// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package dedicatednodes

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/terraform-plugin-framework-timeouts/resource/timeouts"
	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/admission"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/label"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/machineset"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/planner"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/record"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/tf/managed"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/tf/message"
	tfschema "github.com/kubetaint/terraform-provider-kubetaint/internal/tf/schema"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/tf/session"
)

// model is the resource as it is in configuration, plan and state.
type model struct {
	ID           types.String   `tfsdk:"id"`
	NodeNames    types.Set      `tfsdk:"node_names"`
	NodeSelector types.String   `tfsdk:"node_selector"`
	MachineSets  types.Object   `tfsdk:"machine_sets"`
	Taints       types.Set      `tfsdk:"taints"`
	Labels       types.Map      `tfsdk:"labels"`
	Workloads    types.List     `tfsdk:"workloads"`
	Admission    types.Object   `tfsdk:"admission"`
	OnConflict   types.String   `tfsdk:"on_conflict"`
	Evictions    types.Object   `tfsdk:"evictions"`
	Steps        types.List     `tfsdk:"steps"`
	Drift        types.Map      `tfsdk:"drift"`
	Timeouts     timeouts.Value `tfsdk:"timeouts"`
}

// identity is what an import block by identity names.
type identity struct {
	Target types.String `tfsdk:"target"`
	Taints types.List   `tfsdk:"taints"`
}

// ownership is what the resource remembers beside its state, change what a plan or an apply is about, and applied
// what an apply has left.
type (
	ownership = managed.Ownership[taint.ID]
	change    = managed.Operation[model, wanted, taint.ID]
	applied   = managed.Applied[model]
)

const (
	// kind is in ids between the owner and the nodes.
	kind = "dedicated_nodes"

	// defaultTimeout leaves slow rollouts their time.
	defaultTimeout = 20 * time.Minute

	// machinesTimeout leaves machines theirs, as kubetaint_machine_set_taints does.
	machinesTimeout = 60 * time.Minute
)

// Title names what is read.
func (m model) Title(context.Context) string {
	return "the nodes and workloads of \"" + m.ID.ValueString() + "\""
}

// Links is null: the workloads are its own.
func (m model) Links() types.Set { return types.SetNull(types.StringType) }

// Timeout returns how long a change may take.
func (m model) Timeout(ctx context.Context, verb string, diags *diag.Diagnostics) time.Duration {
	usual := machinesTimeout
	if m.MachineSets.IsNull() {
		usual = defaultTimeout
	}
	return tfschema.Timeout(ctx, m.Timeouts, verb, usual, diags)
}

// WithID returns the model with this id.
func (m model) WithID(id string) model {
	m.ID = types.StringValue(id)
	return m
}

// noDrift is the value of drift when in sync.
func noDrift() types.Map {
	return types.MapValueMust(types.StringType, nil)
}

// wanted is what the model wants, and what it may call its own.
type wanted struct {
	nodes   planner.NodeTaints
	labels  planner.NodeLabels
	members []member
	// lists proves marks on workloads.
	lists record.Seal
	// policies are those of admission: the one that is wanted, and those that go.
	policies []admission.Claim
	// found names those that only their ownership records show.
	found []string
	// rollout is how machines get what is wanted where MachineSets are meant, and retired
	// are the taints that were wanted before and that they may still carry.
	rollout machineset.Rollout
	retired []taint.ID
	// former are the nodes that were meant before.
	former []planner.Target
	// shed are the labels that were wanted before.
	shed []string
	// replaces is set for a replacement, which destroys first.
	replaces bool
}

// target returns which nodes are meant; false while that is not known.
func (m model) target(ctx context.Context, diags *diag.Diagnostics) (planner.Target, bool) {
	if m.NodeNames.IsUnknown() || m.NodeSelector.IsUnknown() || m.MachineSets.IsUnknown() || slices.ContainsFunc(m.NodeNames.Elements(), attr.Value.IsUnknown) {
		return planner.Target{}, false
	}
	if !m.MachineSets.IsNull() {
		in, _ := tfschema.MachineSetsOf(ctx, m.MachineSets, diags)
		sets, known := in.Target(diags)
		return planner.Target{MachineSets: &sets}, known
	}
	if m.NodeSelector.IsNull() && m.NodeNames.IsNull() {
		return planner.Target{}, false
	}
	if m.NodeSelector.IsNull() {
		names := []string{}
		diags.Append(m.NodeNames.ElementsAs(ctx, &names, false)...)
		slices.Sort(names)
		return planner.Target{Names: names}, !diags.HasError()
	}
	selector, err := labels.Parse(m.NodeSelector.ValueString())
	if err != nil {
		diags.Append(tfschema.NoSelector(path.Root("node_selector"), m.NodeSelector.ValueString(), err))
		return planner.Target{}, false
	}
	return planner.Target{Selector: selector}, true
}

// labels returns the wanted labels; false while any is not known.
func (m model) labels(ctx context.Context, diags *diag.Diagnostics) (map[string]string, bool) {
	if m.Labels.IsUnknown() || slices.ContainsFunc(slices.Collect(maps.Values(m.Labels.Elements())), attr.Value.IsUnknown) {
		return nil, false
	}
	out := map[string]string{}
	diags.Append(m.Labels.ElementsAs(ctx, &out, false)...)
	return out, !diags.HasError()
}

// Desired returns what the model wants and what it may call its own; false
// while any of it is not known or something is wrong.
func (m model) Desired(ctx context.Context, own ownership, diags *diag.Diagnostics) (wanted, bool) {
	target, targetKnown := m.target(ctx, diags)
	taints, taintsKnown := tfschema.Taints(ctx, m.Taints, diags)
	wantedLabels, labelsKnown := m.labels(ctx, diags)
	models, workloadsKnown := m.workloads(ctx, diags)
	if !targetKnown || !taintsKnown || !labelsKnown || !workloadsKnown || m.OnConflict.IsUnknown() || diags.HasError() {
		return wanted{}, false
	}
	seal := own.HeldSeal()
	w := wanted{
		lists: own.ListSeal(),
		nodes: planner.NodeTaints{Target: target, Claim: taint.Claim{
			Owner: m.ID.ValueString(), Generation: own.Generation, Seal: seal, Imported: own.Imported,
			Taints: taints, Adopt: m.OnConflict.ValueString() == tfschema.OnConflictAdopt,
		}},
		labels: planner.NodeLabels{Target: target, Claim: label.Claim{Owner: m.ID.ValueString(), Generation: own.Generation, Seal: seal, Labels: wantedLabels}},
	}
	if target.MachineSets != nil {
		in, _ := tfschema.MachineSetsOf(ctx, m.MachineSets, diags)
		rollout, rolloutKnown := tfschema.RolloutOf(ctx, in.Rollout, diags)
		if !rolloutKnown {
			return wanted{}, false
		}
		w.rollout = rollout
	}
	for i, one := range models {
		pin := w.labels.Claim
		pin.Seal = w.lists
		resolved, ok := one.members(i, taints, pin, diags)
		if !ok {
			return wanted{}, false
		}
		w.members = append(w.members, resolved...)
	}
	policy, policyKnown := m.policy(ctx, own, taints, wantedLabels, diags)
	if policy != nil {
		w.policies = []admission.Claim{*policy}
	}
	return w, policyKnown
}

// TakingOver is the same of a create, which adopts what carries its id.
func (w wanted) TakingOver() wanted {
	w.nodes.Claim.TakeOver, w.labels.Claim.TakeOver = true, true
	w.members = slices.Clone(w.members)
	for i := range w.members {
		w.members[i].claim.TakeOver, w.members[i].pin.TakeOver = true, true
	}
	w.policies = slices.Clone(w.policies)
	for i := range w.policies {
		w.policies[i].TakeOver = true
	}
	return w
}

// Entries are the taints that are wanted.
func (w wanted) Entries() []taint.ID { return taint.IDs(w.nodes.Claim.Taints) }

// remembering is the same with what a plan has left for its apply.
func (w wanted) remembering(m session.Memory) wanted {
	w.nodes.Known, w.nodes.MachinesPlanned, w.nodes.Replaced = m.Known, m.MachinesPlanned, m.Replaced
	return w
}

// Released returns what the state names.
func (m model) Released(ctx context.Context, own ownership, diags *diag.Diagnostics) (wanted, bool) {
	desired, known := m.Desired(ctx, own, diags)
	return desired.released().retire(desired), known
}

// released is the same given up.
func (w wanted) released() wanted {
	w.nodes.Claim.Release, w.labels.Claim.Release = true, true
	w.members = slices.Clone(w.members)
	for i := range w.members {
		w.members[i].claim.Release, w.members[i].pin.Release = true, true
	}
	w.policies = slices.Clone(w.policies)
	for i := range w.policies {
		w.policies[i].Release = true
	}
	return w
}

// releases reports that everything is given up.
func (w wanted) releases() bool { return w.nodes.Claim.Release }

// owner is the id under which entries are marked.
func (w wanted) owner() string { return w.nodes.Claim.Owner }

// place names the nodes.
func (w wanted) place() string { return message.Place(w.nodes.Target) }

// same reports whether two models want the same and say it in the same words.
func (m model) same(other model) bool {
	return m.ID.Equal(other.ID) && m.NodeNames.Equal(other.NodeNames) && m.NodeSelector.Equal(other.NodeSelector) && m.MachineSets.Equal(other.MachineSets) && m.Taints.Equal(other.Taints) &&
		m.Labels.Equal(other.Labels) && m.Workloads.Equal(other.Workloads) && m.Admission.Equal(other.Admission) && m.OnConflict.Equal(other.OnConflict) &&
		m.Evictions.Equal(other.Evictions) && m.Timeouts.Equal(other.Timeouts)
}

// Identity is what an import block by identity names.
func (m model) Identity(ctx context.Context, diags *diag.Diagnostics) any {
	desired, _ := m.Desired(ctx, ownership{}, diags)
	return identity{Target: types.StringValue(desired.nodes.Target.String()), Taints: managed.TaintIDs(ctx, desired.nodes.Claim.Taints, diags)}
}

// NewID returns the id of a create, which has its nodes and taints.
func (m model) NewID(ctx context.Context, owner string) string {
	desired, known := m.Desired(ctx, ownership{}, &diag.Diagnostics{})
	if !known {
		return ""
	}
	var ids []string
	for _, id := range desired.Entries() {
		ids = append(ids, id.String())
	}
	return strings.Join([]string{owner, kind, desired.nodes.Target.String(), strings.Join(ids, ",")}, "/")
}
