// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package nodetaints

import (
	"context"
	"encoding/json"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"k8s.io/apimachinery/pkg/util/uuid"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/eviction"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/fw"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
)

// privateKey is where ownership stands in the private state.
const privateKey = "ownership"

// ownership is what the resource remembers beside its state.
type ownership struct {
	// Cluster is the UID of the namespace kube-system.
	Cluster string `json:"cluster,omitempty"`
	// Generation is random and fresh at every create.
	Generation string `json:"generation,omitempty"`
	// Imported holds, by key:Effect, the entries that were imported or moved
	// into the state without a write, with the generations of their marks.
	Imported map[string][]string `json:"imported,omitempty"`
	// Moved is set while what a moved block brought has not been applied yet:
	// the state then names every taint of the node, those of others included.
	Moved bool `json:"moved,omitempty"`
}

// newOwnership begins a generation.
func newOwnership(cluster string) ownership {
	return ownership{Cluster: cluster, Generation: string(uuid.NewUUID())}
}

func (o ownership) imported() map[taint.ID][]string {
	out := make(map[taint.ID][]string, len(o.Imported))
	for s, generations := range o.Imported {
		if id, err := taint.ParseID(s); err == nil {
			out[id] = generations
		}
	}
	return out
}

// keep forgets imported entries that are no longer wanted.
func (o ownership) keep(claim taint.Claim) ownership {
	kept := map[string][]string{}
	for _, t := range claim.Taints {
		if generations, ok := o.Imported[taint.IDOf(t).String()]; ok {
			kept[taint.IDOf(t).String()] = generations
		}
	}
	o.Imported, o.Moved = kept, false
	return o
}

// recovered finds out again what a private state held that is lost: Terraform
// keeps an empty one when the provider's process ends in the middle of an
// update. The state is then all there is: marks with its id are ours, and so
// are its taints that carry no mark. Which cluster it was written for is lost as
// well: one that carries no mark of it may be another, which is an error.
func recovered(ctx context.Context, state model, nodes []*eviction.Node, diags *diag.Diagnostics) ownership {
	own, found := newOwnership(""), false
	for _, n := range nodes {
		for _, mark := range n.Record {
			if mark.Owner == state.ID.ValueString() {
				own.Generation, found = mark.Generation, true
			}
		}
	}
	taints, _ := fw.Taints(ctx, state.Taints, diags)
	own.Imported = make(map[string][]string, len(taints))
	for _, t := range taints {
		own.Imported[taint.IDOf(t).String()] = []string{""}
	}
	if !found {
		diags.AddError("Unable to tell whether this state belongs to this cluster",
			"An earlier update was killed, and with it went the record of the cluster that the state was written for. No node of this cluster carries a mark of \""+state.ID.ValueString()+"\". "+
				"Point the provider block at the right cluster. If this is the right one, remove the resource from the state with \"terraform state rm\" and import its taints, or apply it anew.")
	}
	return own
}

type privateReader interface {
	GetKey(ctx context.Context, key string) ([]byte, diag.Diagnostics)
}

type privateWriter interface {
	SetKey(ctx context.Context, key string, value []byte) diag.Diagnostics
}

// loadOwnership reads the private state; one without ownership is a resource
// that is not created yet.
func loadOwnership(ctx context.Context, from privateReader, diags *diag.Diagnostics) ownership {
	var o ownership
	raw, found := from.GetKey(ctx, privateKey)
	diags.Append(found...)
	if len(raw) == 0 {
		return o
	}
	if err := json.Unmarshal(raw, &o); err != nil {
		diags.AddError("Unable to read the private state", "The resource's private state is damaged. Remove the resource from the state and import it again.\n\nOriginal error: "+err.Error())
	}
	return o
}

func (o ownership) save(ctx context.Context, to privateWriter, diags *diag.Diagnostics) {
	raw, err := json.Marshal(o)
	if err != nil {
		diags.AddError("Unable to write the private state", err.Error())
		return
	}
	diags.Append(to.SetKey(ctx, privateKey, raw)...)
}
