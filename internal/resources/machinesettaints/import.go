// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package machinesettaints

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework-timeouts/resource/timeouts"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"
	corev1 "k8s.io/api/core/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/machineset"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/planner"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/record"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/tf/managed"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/tf/message"
	tfschema "github.com/kubetaint/terraform-provider-kubetaint/internal/tf/schema"
)

const importForms = "Write NAMESPACE/NAME/KEY:EFFECT[,KEY:EFFECT...], such as openshift-machine-api/gpu-a/dedicated:NoSchedule; for a selector, use an import block with an identity."

// Import takes taints that are in templates into the state. Its rollout is template_only until the configuration says
// otherwise: an import must replace no machine.
func (r *machineSetTaints) Import(ctx context.Context, req resource.ImportStateRequest, diags *diag.Diagnostics) (model, ownership) {
	m, ids := importedModel(), []taint.ID(nil)
	if req.ID != "" {
		ids = m.fromID(req.ID, diags)
	} else {
		ids = m.fromIdentity(ctx, req, diags)
	}
	t, known := m.targets(diags)
	if !known && !diags.HasError() {
		diags.AddError(fmt.Sprintf("Unable to import taints of MachineSets in namespace %q", m.Namespace.ValueString()), "Neither a name nor a selector is given. "+importForms)
	}
	if diags.HasError() {
		return m, ownership{}
	}
	sets, cluster, err := r.Inspect(ctx, m, ownership{}, diags)
	if err != nil {
		diags.Append(message.UnableTo("import taints of "+t.Place(), err))
	}
	message.ReadableSets(sets, t, diags)
	if diags.HasError() {
		return m, ownership{}
	}
	found := inspect(sets, t, ids, diags)
	own := found.owned(cluster)
	held := found.held(own.HeldSeal())
	meant := slices.DeleteFunc(slices.Clone(sets), func(o machineset.Observed) bool { return !t.Matches(o.Set) })
	planner.Found{Owner: found.owner, Generation: own.Generation, Seal: own.HeldSeal(), Held: held}.Rollouts(meant)
	own = own.See(held, record.Held{})
	m, desired := r.imported(ctx, m, found, own, diags)
	if !diags.HasError() {
		r.note(ctx, &m, desired, diags)
	}
	return m, own
}

// imported is the state with taints that were found, and what it wants.
func (r *machineSetTaints) imported(ctx context.Context, m model, found inspected, own ownership, diags *diag.Diagnostics) (model, wanted) {
	m.Taints = tfschema.TaintSet(ctx, found.taints, diags)
	desired, _ := m.Desired(ctx, own, diags)
	return m.WithID(cmp.Or(found.owner, m.NewID(ctx, r.Data.Owner))), desired
}

func importedModel() model {
	return model{
		Namespace: types.StringValue(message.MachineAPINamespace), OnConflict: types.StringValue(tfschema.OnConflictFail), Evictions: types.ObjectNull(tfschema.EvictionsType), ToleratedBy: types.SetNull(types.StringType),
		Rollout: tfschema.ImportedRollout(), Machines: types.MapUnknown(types.StringType),
		Timeouts: timeouts.Value{Object: types.ObjectNull(tfschema.TimeoutsType)},
	}
}

func (m *model) fromID(id string, diags *diag.Diagnostics) []taint.ID {
	parts := strings.SplitN(id, "/", 3)
	if len(parts) < 3 || parts[0] == "" || parts[1] == "" {
		diags.AddError("Unable to import taints by the id \""+id+"\"", importForms)
		return nil
	}
	m.Namespace, m.Name = types.StringValue(parts[0]), types.StringValue(parts[1])
	return parseIDs(strings.Split(parts[2], ","), id, diags)
}

func (m *model) fromIdentity(ctx context.Context, req resource.ImportStateRequest, diags *diag.Diagnostics) []taint.ID {
	var from identity
	diags.Append(req.Identity.Get(ctx, &from)...)
	var taints []string
	diags.Append(from.Taints.ElementsAs(ctx, &taints, false)...)
	if diags.HasError() {
		return nil
	}
	m.Namespace = types.StringValue(cmp.Or(from.Namespace.ValueString(), message.MachineAPINamespace))
	m.Name, m.Selector = from.Name, from.Selector
	return parseIDs(taints, strings.Join(taints, ","), diags)
}

func parseIDs(parts []string, what string, diags *diag.Diagnostics) []taint.ID {
	var ids []taint.ID
	for _, part := range parts {
		id, err := taint.ParseID(part)
		if err == nil && slices.Contains(ids, id) {
			err = errors.New("it is named twice")
		}
		if err != nil {
			diags.AddError("Unable to import taints by \""+what+"\"", err.Error()+"\n\n"+importForms)
			return nil
		}
		ids = append(ids, id)
	}
	return ids
}

type inspected struct {
	taints      []corev1.Taint
	generations map[taint.ID][]string
	// owner is that of all marks, "" where some are not marked or the owners differ.
	owner string
	// seen are the marks of the entries, and the entries without one, by object.
	seen map[string][]record.Sealed
}

// owned is what is remembered of the entries.
func (i inspected) owned(cluster string) ownership {
	own := managed.NewOwnership[taint.ID](cluster)
	own.Imported = i.generations
	return own
}

// held is what is remembered of the marks.
func (i inspected) held(seal record.Seal) record.Held {
	held := record.Held{}
	for object, all := range i.seen {
		for _, one := range all {
			held.Note(seal.On(object), one)
		}
	}
	return held
}

// inspect looks for the taints in the templates.
func inspect(sets []machineset.Observed, t machineset.Target, ids []taint.ID, diags *diag.Diagnostics) inspected {
	out, owners := inspected{generations: map[taint.ID][]string{}, seen: map[string][]record.Sealed{}}, map[string]bool{}
	for _, id := range ids {
		if why, reserved := taint.Reserved(id, ""); reserved {
			diags.AddError("Unable to import the reserved taint \""+id.String()+"\"", "A controller owns this taint: "+why+".")
			continue
		}
		found := false
		for _, o := range sets {
			at := taint.Find(o.Set.Taints, id)
			if at < 0 || !t.Matches(o.Set) {
				continue
			}
			mark, marked := o.Set.Record.Of(id)
			seen := mark.Sealed()
			if owners[mark.Owner] = true; !marked {
				seen = id.Unmarked()
			}
			out.seen[o.Set.Object()] = append(out.seen[o.Set.Object()], seen)
			if !found {
				out.taints, found = append(out.taints, o.Set.Taints[at]), true
			}
			if !slices.Contains(out.generations[id], mark.Generation) {
				out.generations[id] = append(out.generations[id], mark.Generation)
			}
		}
		if !found {
			diags.AddError(fmt.Sprintf("Unable to import taint %q of %s", id, t.Place()), "Its template has no such taint. List those that it has: kubectl get machineset.machine.openshift.io NAME -n NAMESPACE -o yaml.")
		}
	}
	out.owner = managed.TaintOwner(owners)
	return out
}
