// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package nodetaints

import (
	"context"
	"encoding/json"

	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"
	corev1 "k8s.io/api/core/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/planner"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/tf/managed"
)

// movedFrom is the resource of hashicorp/kubernetes that a moved block may
// come from. The provider's address is not looked at: some command lines get
// it wrong.
const movedFrom = "kubernetes_node_taint"

// foreignState is what of that resource's state matters.
type foreignState struct {
	Metadata []struct {
		Name string `json:"name"`
	} `json:"metadata"`
	Taint []struct {
		Key    string `json:"key"`
		Value  string `json:"value"`
		Effect string `json:"effect"`
	} `json:"taint"`
}

// MoveState adopts the state of kubernetes_node_taint without touching the
// node. That state holds every taint of the node, those of controllers
// included: the ones that the configuration does not name leave the state at
// the next apply and stay on the node.
func (r *nodeTaints) MoveState(context.Context) []resource.StateMover {
	return []resource.StateMover{{StateMover: r.moveState}}
}

func (r *nodeTaints) moveState(ctx context.Context, req resource.MoveStateRequest, resp *resource.MoveStateResponse) {
	if req.SourceTypeName != movedFrom || req.SourceRawState == nil {
		return
	}
	var from foreignState
	if err := json.Unmarshal(req.SourceRawState.JSON, &from); err != nil || len(from.Metadata) == 0 {
		resp.Diagnostics.AddError("Unable to move the state of "+movedFrom, "The state does not name a node in metadata.name. Import the taints instead: "+importForms)
		return
	}
	own := managed.NewOwnership[taint.ID]("")
	own.Imported, own.Moved = map[taint.ID][]string{}, true
	// No provider is configured yet that could look at the node.
	own.Held, own.Lists = nil, nil
	taints := make([]corev1.Taint, 0, len(from.Taint))
	for _, t := range from.Taint {
		moved := corev1.Taint{Key: t.Key, Value: t.Value, Effect: corev1.TaintEffect(t.Effect)}
		if _, reserved := taint.Reserved(taint.IDOf(moved), moved.Value); reserved {
			continue
		}
		taints = append(taints, moved)
		own.Imported[taint.IDOf(moved)] = []string{""}
	}
	owner := "terraform"
	if r.Data != nil {
		owner = r.Data.Owner
	}
	state := importedModel(ctx, planner.Target{Name: from.Metadata[0].Name}, taints, &resp.Diagnostics)
	// Not yet decided, so that the next plan is an update: only an apply settles
	// which of these taints are meant.
	state.OnConflict = types.StringNull()
	managed.Save(ctx, state.WithID(state.NewID(ctx, owner)), own, &resp.TargetState, resp.TargetIdentity, resp.TargetPrivate, &resp.Diagnostics)
}
