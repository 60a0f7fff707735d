// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package dedicatednodes

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework-timeouts/resource/timeouts"
	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/admission"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/kube"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/label"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/machineset"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/planner"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/record"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/tf/managed"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/tf/message"
	tfschema "github.com/kubetaint/terraform-provider-kubetaint/internal/tf/schema"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/tf/session"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/workload"
)

const importForms = "Write nodes/NAME[,NAME...]/KEY:EFFECT[,KEY:EFFECT...], selector/SELECTOR/KEY:EFFECT[,KEY:EFFECT...] or machine_sets/NAMESPACE/NAME/KEY:EFFECT[,KEY:EFFECT...], such as selector/pool=gpu/dedicated:NoExecute."

// Import takes taints that are on nodes into the state. Where these carry
// the marks of a kubetaint_dedicated_nodes, its labels, workloads and policy are found by
// the same marks; where they do not, these come with the
// configuration. It writes nothing to the cluster.
func (r *dedicatedNodes) Import(ctx context.Context, req resource.ImportStateRequest, diags *diag.Diagnostics) (model, ownership) {
	target, ids, ok := managed.WantedImport(ctx, req, importForms, diags)
	if !ok {
		return model{}, ownership{}
	}
	if target.Selector == nil && target.Names == nil && target.MachineSets == nil {
		target = planner.Target{Names: []string{target.Name}}
	}
	observed, err := r.observe(ctx, wanted{nodes: planner.NodeTaints{Target: target}}, "", diags)
	if err != nil {
		diags.Append(message.UnableTo("import the dedication of "+message.Place(target), err))
		return model{}, ownership{}
	}
	var readable bool
	if target.MachineSets == nil {
		readable = message.ReadableNodes(observed.nodes, target, diags)
	} else {
		readable = message.ReadableSets(observed.sets, *target.MachineSets, diags)
		observed.nodes = templates(*target.MachineSets, observed.sets)
	}
	found, ok := managed.InspectTaints(observed.nodes, target, ids, diags)
	if !readable || !ok {
		return model{}, ownership{}
	}
	own, state := managed.NewOwnership[taint.ID](observed.cluster), imported(ctx, target, found, diags)
	held, lists := found.Held(own.HeldSeal(), target), record.Held{}
	if strings.Contains(found.Owner, "/"+kind+"/") {
		state.ID = types.StringValue(found.Owner)
		own.Generation = onlyGeneration(found, diags)
		lists = r.takeMarked(ctx, &state, own, target, observed.nodes, diags)
		r.takePolicy(ctx, &state, own, diags)
		noteLabels(own, found.Owner, target, observed.nodes, held)
		if target.MachineSets != nil {
			meant := slices.DeleteFunc(slices.Clone(observed.sets), func(o machineset.Observed) bool { return !target.MachineSets.Matches(o.Set) })
			planner.Found{Owner: found.Owner, Generation: own.Generation, Seal: own.HeldSeal(), Held: held}.Rollouts(meant)
		}
	} else {
		own.Imported = found.Generations
	}
	if state.ID.IsNull() {
		state = state.WithID(state.NewID(ctx, r.Data.Owner))
	}
	return state, own.See(held, lists)
}

// templates stands for MachineSets with nodes that have what their templates have.
func templates(target machineset.Target, sets []machineset.Observed) []*snapshot.Node {
	var out []*snapshot.Node
	for _, o := range sets {
		if target.Matches(o.Set) {
			out = append(out, &snapshot.Node{Name: o.Set.Key(), Taints: o.Set.Taints, Record: o.Set.Record, Labels: o.Set.NodeLabels, LabelRecord: o.Set.LabelRecord})
		}
	}
	return out
}

// imported is a state with nothing but nodes and taints.
func imported(ctx context.Context, target planner.Target, found managed.FoundTaints, diags *diag.Diagnostics) model {
	m := model{
		ID: types.StringNull(), NodeNames: types.SetNull(types.StringType), NodeSelector: types.StringNull(), MachineSets: types.ObjectNull(machineSetsType),
		Taints: tfschema.TaintSet(ctx, found.Taints, diags), Labels: types.MapNull(types.StringType), Workloads: types.ListNull(workloadType), Admission: types.ObjectNull(admissionType),
		OnConflict: types.StringValue(tfschema.OnConflictFail), Evictions: types.ObjectNull(tfschema.EvictionsType),
		Timeouts: timeouts.Value{Object: types.ObjectNull(tfschema.TimeoutsType)},
	}
	m.take(ctx, nil, diags)
	if target.MachineSets != nil {
		m.MachineSets = importedSets(*target.MachineSets)
		return m
	}
	if target.Selector != nil {
		m.NodeSelector = types.StringValue(target.Selector.String())
		return m
	}
	names, more := types.SetValueFrom(ctx, types.StringType, target.Names)
	diags.Append(more...)
	m.NodeNames = names
	return m
}

// importedSets are MachineSets whose rollout is template_only until the configuration
// says otherwise: an import must replace no machine.
func importedSets(target machineset.Target) types.Object {
	name, selector := types.StringValue(target.Name), types.StringNull()
	if target.Selector != nil {
		name, selector = types.StringNull(), types.StringValue(target.Selector.String())
	}
	return types.ObjectValueMust(machineSetsType, map[string]attr.Value{
		"namespace": types.StringValue(target.Namespace), "name": name, "selector": selector,
		"rollout": tfschema.ImportedRollout(),
	})
}

// onlyGeneration is the generation of all marks. Two of them are a replacement
// that has not ended, and an import of it would own a half.
func onlyGeneration(found managed.FoundTaints, diags *diag.Diagnostics) string {
	var all []string
	for _, generations := range found.Generations {
		all = append(all, generations...)
	}
	slices.Sort(all)
	if all = slices.Compact(all); len(all) != 1 {
		diags.AddError(fmt.Sprintf("Unable to import the taints of %q: its replacement is not finished", found.Owner),
			"The taints are from more than one create. Apply the configuration that they come from first: it adopts the rest.")
		return ""
	}
	return all[0]
}

// noteLabels adds the marks of labels that the import has seen.
func noteLabels(own ownership, owner string, target planner.Target, nodes []*snapshot.Node, held record.Held) {
	matches := target.Among
	for _, n := range nodes {
		for _, mark := range n.LabelRecord {
			if matches(n) && mark.Owner == owner && mark.Generation == own.Generation && label.Ownable(mark.Key) {
				held.Note(managed.ImportedSeal(own.HeldSeal(), target, n), mark.Sealed())
			}
		}
	}
}

// takeMarked puts into the state the labels and workloads that carry marks of the
// state's id, and returns those of the workloads.
func (r *dedicatedNodes) takeMarked(ctx context.Context, state *model, own ownership, target planner.Target, nodes []*snapshot.Node, diags *diag.Diagnostics) record.Held {
	labels, matches := map[string]string{}, target.Among
	for _, n := range nodes {
		for _, mark := range n.LabelRecord {
			value, there := n.Labels[mark.Key]
			if mark.Owner == state.ID.ValueString() && there && matches(n) && label.Ownable(mark.Key) {
				labels[mark.Key] = value
			}
		}
	}
	if len(labels) > 0 {
		value, found := types.MapValueFrom(ctx, types.StringType, labels)
		diags.Append(found...)
		state.Labels = value
	}
	marked, err := r.Data.Cluster.MarkedAnywhere(ctx)
	if err != nil && !errors.Is(err, kube.ErrForbidden) {
		diags.Append(message.UnableTo("find the workloads of \""+state.ID.ValueString()+"\"", err))
		return nil
	}
	slices.SortFunc(marked, func(a, b kube.Marked) int { return strings.Compare(a.String(), b.String()) })
	var models []workloadModel
	var refs []workload.Ref
	lists := own.Find(state.ID.ValueString(), own.ListSeal())
	for _, m := range marked {
		lists.Lists(m.Grouped(), m.Record, m.Pins)
		if one, ours := workloadOf(m, state.ID.ValueString(), len(labels) > 0); ours {
			models, refs = append(models, one), append(refs, m.Ref)
		}
	}
	if models = together(models, refs); len(models) > 0 {
		list, found := types.ListValueFrom(ctx, workloadType, models)
		diags.Append(found...)
		state.Workloads = list
	}
	return lists.Held
}

// takePolicy puts into the state the policy that has the state's id and generation.
func (r *dedicatedNodes) takePolicy(ctx context.Context, state *model, own ownership, diags *diag.Diagnostics) {
	all, err := r.Data.Cluster.Policies(ctx)
	if err != nil {
		diags.Append(message.UnableTo("find the policy of \""+state.ID.ValueString()+"\"", err))
		return
	}
	mark := admission.Mark{Owner: state.ID.ValueString(), Generation: own.Generation}
	for _, seen := range all {
		if seen.Owner == mark.Owner && (admission.Claim{Mark: mark}).Owns(&seen) {
			value, found := types.ObjectValueFrom(ctx, admissionType, admissionOf(ctx, seen.Policy, diags))
			diags.Append(found...)
			state.Admission = value
			return
		}
	}
}

// admissionOf writes a policy as the configuration has it.
func admissionOf(ctx context.Context, p admission.Policy, diags *diag.Diagnostics) admissionModel {
	out := admissionModel{Name: types.StringValue(p.Name), Match: tfschema.MatchObject(ctx, p.Match, diags)}
	for _, t := range p.Tolerations {
		if t.TolerationSeconds != nil {
			out.TolerationSeconds = tfschema.Whole(*t.TolerationSeconds)
		}
	}
	if len(p.Pin) > 0 {
		out.Pin = types.BoolValue(true)
	}
	if p.Fail {
		out.FailurePolicy = types.StringValue(tfschema.FailurePolicyFail)
	}
	return out
}

// together writes the components of an object as one where all of them are had alike.
func together(models []workloadModel, refs []workload.Ref) []workloadModel {
	var out []workloadModel
	for i, one := range models {
		each, alike := refs[i].Whole().Each(), one
		alike.Path = types.StringNull()
		all := refs[i].Component != "" && !slices.ContainsFunc(each, func(ref workload.Ref) bool {
			at := slices.Index(refs, ref)
			if at < 0 {
				return true
			}
			other := models[at]
			other.Path = types.StringNull()
			return other != alike
		})
		switch {
		case !all || !slices.Contains(each, refs[i]):
			out = append(out, one)
		case each[0] == refs[i]:
			out = append(out, alike)
		}
	}
	return out
}

// workloadOf writes a marked workload as the configuration has it; false where it
// is not owned by this id.
func workloadOf(m kube.Marked, id string, labelled bool) (workloadModel, bool) {
	out := workloadModel{Kind: types.StringValue(m.Kind), Name: types.StringValue(m.Name)}
	if m.Namespace != "" {
		out.Namespace = types.StringValue(m.Namespace)
	}
	if known, ok := workload.Lookup("", m.Kind); !ok || known.APIVersion != m.APIVersion {
		out.APIVersion = types.StringValue(m.APIVersion)
	}
	if m.Component != "" {
		out.Path = types.StringValue(m.Component + "." + session.ComponentList)
	}
	ours := false
	for _, mark := range m.Record {
		if mark.Owner != id || mark.Retiring {
			continue
		}
		ours = true
		if mark.Path != "" {
			out.Path = types.StringValue(mark.Path)
		}
		if mark.Seconds != nil {
			out.TolerationSeconds = tfschema.Whole(*mark.Seconds)
		}
	}
	for _, mark := range m.Pins {
		if mark.Owner == id && labelled {
			ours, out.Pin = true, types.BoolValue(true)
		}
	}
	return out, ours
}
