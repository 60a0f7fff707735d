// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package managed

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"k8s.io/apimachinery/pkg/util/uuid"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/planner"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/record"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/tf/message"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/tf/session"
)

// ownershipKey is the key of ownership in the private state.
const ownershipKey = "ownership"

// Ownership is what a resource remembers beside its state. ID identifies one of
// its entries.
type Ownership[ID comparable] struct {
	// Cluster is the UID of the namespace kube-system.
	Cluster string `json:"cluster,omitempty"`
	// Generation is random and fresh at every create.
	Generation string `json:"generation,omitempty"`
	// Nonce is random and fresh at every create, and in no annotation: marks are proved by it.
	// See record.Seal.
	Nonce string `json:"nonce,omitempty"`
	// Recovered is in states of earlier builds alone, which believed marks without a proof from the
	// loss of a private state, or an import, until the next apply.
	Recovered bool `json:"recovered,omitempty"`
	// Epoch counts the applies that came to their end since Held began. Held is what the marks
	// on nodes and MachineSets were after the last one, and Lists those on workloads and
	// namespaces; nil in states that are older: see record.Held.
	Epoch int     `json:"epoch,omitempty"`
	Held  *string `json:"held,omitempty"`
	Lists *string `json:"lists,omitempty"`
	// Imported holds the entries that were imported or moved into the state
	// without a write, with the generations of their marks ("" for none).
	Imported map[ID][]string `json:"imported,omitempty"`
	// Moved is set while what a moved block brought has not been applied yet:
	// the state then names every entry, those of others included.
	Moved bool `json:"moved,omitempty"`
	// Drifted is set while the last look has found something to repair that the state
	// does not tell by itself, and after a failed update that may have left such.
	Drifted bool `json:"drifted,omitempty"`
}

// NewOwnership begins a generation that holds no marks yet.
func NewOwnership[ID comparable](cluster string) Ownership[ID] {
	return Ownership[ID]{Cluster: cluster, Generation: string(uuid.NewUUID()), Nonce: string(uuid.NewUUID()), Held: new(string), Lists: new(string)}
}

// HeldSeal returns what proves the resource's marks on nodes and MachineSets: those that it
// holds, and what an update has left that was interrupted.
func (o Ownership[ID]) HeldSeal() record.Seal { return o.seal(o.Held) }

// ListSeal returns what proves the resource's marks on workloads and namespaces.
func (o Ownership[ID]) ListSeal() record.Seal { return o.seal(o.Lists) }

func (o Ownership[ID]) seal(held *string) record.Seal {
	seal := record.Seal{Nonce: o.Nonce, Generation: o.Generation}
	if o.Held != nil {
		seal.Epoch = o.Epoch + 1
	}
	if held != nil {
		seal.Held = record.ParseHeld(*held)
	}
	return seal
}

// Hold ends an apply: only these marks on nodes and MachineSets, and on workloads and namespaces,
// count from now on. nil means that they are not known, and that this apply counts as an
// interrupted one.
func (o Ownership[ID]) Hold(held, lists record.Held) Ownership[ID] {
	if held == nil || lists == nil {
		return o
	}
	if o.Held != nil {
		o.Epoch++
	}
	texts := [2]string{held.String(), lists.String()}
	o.Held, o.Lists = &texts[0], &texts[1]
	return o
}

// See is what an import remembers of the marks that it has seen, on nodes and MachineSets, and on
// workloads and namespaces: these count without a proof, and no others.
func (o Ownership[ID]) See(held, lists record.Held) Ownership[ID] {
	o.Held, o.Lists = new(held.String()), new(lists.String())
	return o
}

// Retain is what is remembered after a look at all lists that may have marks, of which forget takes
// away what is there no more. States in which nothing is held yet stay so.
func (o Ownership[ID]) Retain(forget func(record.Held)) Ownership[ID] {
	if o.Lists != nil {
		lists := record.ParseHeld(*o.Lists)
		forget(lists)
		o.Lists = new(lists.String())
	}
	return o
}

// Sealed reports whether there is a nonce by which marks are proved. There is none where a private
// state is lost, and in states of builds that had no nonces.
func (o Ownership[ID]) Sealed() bool { return o.Generation != "" && o.Nonce != "" }

// Recover finds out again what a private state held that is lost: Terraform keeps an empty one when the
// provider's process ends in the middle of an update. The state is then all there is: marks with its
// id, which have the generation that found returns, are owned. What is known of a generation and of
// imports stays so. See says afterwards which marks these are: others that come later are not
// believed.
func (o Ownership[ID]) Recover(found func() string) Ownership[ID] {
	out := NewOwnership[ID](o.Cluster)
	out.Imported, out.Moved, out.Drifted = o.Imported, o.Moved, o.Drifted
	if out.Generation = o.Generation; out.Generation == "" {
		out.Generation = cmp.Or(found(), string(uuid.NewUUID()))
	}
	return out
}

// TookUnmarked remembers entries that were taken into the state without a mark.
func (o Ownership[ID]) TookUnmarked(ids []ID) Ownership[ID] {
	imported := maps.Clone(o.Imported)
	for _, id := range ids {
		if imported == nil {
			imported = map[ID][]string{}
		}
		if !slices.Contains(imported[id], "") {
			imported[id] = append(slices.Clone(imported[id]), "")
		}
	}
	o.Imported = imported
	return o
}

// Find begins to look for the marks of an owner with the ownership's generation.
func (o Ownership[ID]) Find(owner string, seal record.Seal) planner.Found {
	return planner.Found{Owner: owner, Generation: o.Generation, Seal: seal, Held: record.Held{}}
}

// NotThisCluster is the error where a private state is lost and nothing in the
// cluster carries a mark with the state's id: which cluster it was written for is
// lost as well, and this may be another. Objects reports what was looked at.
func NotThisCluster(objects, id string) diag.Diagnostic {
	return diag.NewErrorDiagnostic("Unable to determine whether this state is from this cluster",
		"An earlier update was killed, and the record of the cluster that the state was written for is lost with it. "+objects+" of this cluster has an ownership record of \""+id+"\". "+
			"Point the provider block at the right cluster. If this is the right one, remove the resource from the state with \"terraform state rm\". Then import it, or apply again to create it.")
}

// Keep is what is remembered after an apply: imported entries that are no longer
// wanted are forgotten, and nothing is left to repair.
func (o Ownership[ID]) Keep(wanted []ID) Ownership[ID] {
	kept := map[ID][]string{}
	for _, id := range wanted {
		if generations, ok := o.Imported[id]; ok {
			kept[id] = generations
		}
	}
	o.Imported, o.Moved, o.Drifted = kept, false, false
	return o
}

// LoadOwnership reads the private state of the resource with this id. One without ownership belongs to a
// resource that is not created yet, or to one whose update was killed: Terraform
// keeps an empty private state then.
func LoadOwnership[ID comparable](ctx context.Context, from session.PrivateReader, id string, diags *diag.Diagnostics) Ownership[ID] {
	var o Ownership[ID]
	raw, found := from.GetKey(ctx, ownershipKey)
	diags.Append(found...)
	if len(raw) == 0 {
		return o
	}
	// Fields that earlier builds kept beside these are dropped, such as the taints that
	// template_only had left on machines: MachineSets record those. See machineset.Remnant.
	if err := json.Unmarshal(raw, &o); err != nil {
		diags.AddError(fmt.Sprintf("Unable to read the private state of %q", id), "The resource's private state is damaged. Remove the resource from the state and import it again.\n\nOriginal error: "+err.Error())
	}
	if o.Recovered {
		// Entries that those builds would have believed in are found out again.
		o.Recovered, o.Nonce, o.Epoch, o.Held, o.Lists = false, "", 0, nil, nil
	}
	return o
}

// Save writes the private state.
func (o Ownership[ID]) Save(ctx context.Context, to session.PrivateWriter, diags *diag.Diagnostics) {
	raw, err := json.Marshal(o)
	if err != nil {
		diags.AddError("Unable to write the private state",
			"This is a bug in the provider: please report it. What was written to the cluster stays, and so do its ownership records.\n\nOriginal error: "+err.Error())
		return
	}
	diags.Append(to.SetKey(ctx, ownershipKey, raw)...)
}

// RefuseImportedTwice adds an error where the resource has imported entries of another one, or another one
// has imported its own (see Data.RefuseImportedTwice).
func (o Ownership[ID]) RefuseImportedTwice(d *session.Data, id string, destroyed bool, diags *diag.Diagnostics) {
	d.RefuseImportedTwice(id, o.Generation, destroyed, slices.Concat(slices.Collect(maps.Values(o.Imported))...), diags)
}

// Connect goes on from what was found out of a resource's ownership, which may be an
// error, to the cluster that it is on. It returns false, and reports why, where that is
// another one, or cannot be reached.
func Connect[ID comparable](ctx context.Context, d *session.Data, own Ownership[ID], resource string, err error, diags *diag.Diagnostics) (Ownership[ID], bool) {
	if err != nil {
		diags.Append(message.UnableTo("find out what \""+resource+"\" owns", err))
	}
	if diags.HasError() {
		return own, false
	}
	cluster, ok := d.ConnectedToWrite(ctx, own.Cluster, diags)
	own.Cluster = cluster
	return own, ok
}
