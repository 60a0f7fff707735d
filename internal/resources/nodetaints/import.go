// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package nodetaints

import (
	"cmp"
	"context"

	"github.com/hashicorp/terraform-plugin-framework-timeouts/resource/timeouts"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"
	corev1 "k8s.io/api/core/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/planner"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/record"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/tf/managed"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/tf/message"
	tfschema "github.com/kubetaint/terraform-provider-kubetaint/internal/tf/schema"
)

const importForms = "Write node/NAME/KEY:EFFECT[,KEY:EFFECT...] or selector/SELECTOR/KEY:EFFECT[,KEY:EFFECT...], such as node/worker-3/dedicated:NoExecute."

// Import takes taints that are on nodes into the state: what it took is remembered in the private state.
func (r *nodeTaints) Import(ctx context.Context, req resource.ImportStateRequest, diags *diag.Diagnostics) (model, ownership) {
	target, ids, ok := managed.WantedImport(ctx, req, importForms, diags)
	if ok && (target.Names != nil || target.MachineSets != nil) {
		diags.AddError("Unable to import taints of "+message.Place(target), "An import is of one node or of one selector. "+importForms)
	}
	if !ok || diags.HasError() {
		return model{}, ownership{}
	}
	nodes, cluster, err := r.Inspect(ctx, model{}, ownership{}, diags)
	if err != nil {
		diags.Append(message.UnableTo("import taints of "+message.Place(target), err))
		return model{}, ownership{}
	}
	found, ok := managed.InspectTaints(nodes, target, ids, diags)
	if !message.ReadableNodes(nodes, target, diags) || !ok {
		return model{}, ownership{}
	}
	state, own := r.imported(ctx, cluster, target, found, diags)
	return state, own.See(found.Held(own.HeldSeal(), target), record.Held{})
}

// imported is the state with taints that were found.
func (r *nodeTaints) imported(ctx context.Context, cluster string, target planner.Target, found managed.FoundTaints, diags *diag.Diagnostics) (model, ownership) {
	own := managed.NewOwnership[taint.ID](cluster)
	own.Imported = found.Generations
	m := importedModel(ctx, target, found.Taints, diags)
	return m.WithID(cmp.Or(found.Owner, m.NewID(ctx, r.Data.Owner))), own
}

// importedModel is a state with nothing but target and taints.
func importedModel(ctx context.Context, target planner.Target, taints []corev1.Taint, diags *diag.Diagnostics) model {
	m := model{
		Taints: tfschema.TaintSet(ctx, taints, diags), AbsentTaints: types.SetNull(tfschema.AbsentType),
		OnConflict: types.StringValue(tfschema.OnConflictFail), Evictions: types.ObjectNull(tfschema.EvictionsType), Nodes: noNodes(), ToleratedBy: types.SetNull(types.StringType),
		Timeouts: timeouts.Value{Object: types.ObjectNull(tfschema.TimeoutsType)},
	}
	if len(taints) == 0 {
		m.Taints = types.SetNull(tfschema.TaintType)
	}
	if target.Selector == nil {
		m.NodeName = types.StringValue(target.Name)
	} else {
		m.NodeSelector = types.StringValue(target.Selector.String())
	}
	return m
}
