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

// ImportState takes taints that are on nodes into the state. It writes
// nothing to the cluster: what it took is remembered in the private state.
func (r *nodeTaints) ImportState(ctx context.Context, req resource.ImportStateRequest, resp *resource.ImportStateResponse) {
	target, ids, ok := managed.WantedImport(ctx, req, importForms, &resp.Diagnostics)
	if ok && (target.Names != nil || target.MachineSets != nil) {
		resp.Diagnostics.AddError("Unable to import taints of "+message.Place(target), "An import is of one node or of one selector. "+importForms)
	}
	if !ok || resp.Diagnostics.HasError() {
		return
	}
	cluster, nodes, err := r.observe(ctx, "", &resp.Diagnostics)
	if err != nil {
		resp.Diagnostics.Append(message.UnableTo("import taints of "+message.Place(target), err))
		return
	}
	found, ok := managed.InspectTaints(nodes, target, ids, &resp.Diagnostics)
	if !message.ReadableNodes(nodes, target, &resp.Diagnostics) || !ok {
		return
	}
	own := managed.NewOwnership[taint.ID](cluster)
	own.Imported = found.Generations
	own = own.See(found.Held(own.HeldSeal(), target), record.Held{})
	state := importedModel(ctx, target, found.Taints, &resp.Diagnostics)
	desired, _ := state.desired(ctx, own, &resp.Diagnostics)
	state.ID = types.StringValue(cmp.Or(found.Owner, newID(r.Data.Owner, desired)))
	r.save(ctx, state, own, desired, &resp.State, resp.Identity, resp.Private, &resp.Diagnostics)
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
