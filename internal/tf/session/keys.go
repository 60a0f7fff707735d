// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package session

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"slices"
	"sync"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/record"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/toleration"
)

const (
	// keysKey is where a resource that writes taints remembers the seals of resources that
	// own tolerations.
	keysKey = "keys"
	// mostKeys bounds how many it remembers beside those of the resources that tolerated_by
	// names: the oldest are forgotten.
	mostKeys = 64
)

// Keys are the seals of the resources of one process that own tolerations, by id. A toleration
// that retires goes with the taint that needed it, by another resource than the one that wrote
// its mark: a user who may write the annotations must not have another owner's toleration removed by that,
// so that the other one asks for the mark's proof, and whether its resource still has it.
type Keys struct {
	mu   sync.Mutex
	byID map[string][]record.Seal
}

// Register tells the seal of the resource of an id. What a resource registers is known to those
// that depend on it: Terraform walks it before them. What it registers last is what counts.
func (k *Keys) Register(id string, seal record.Seal) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if seal.Nonce == "" {
		return
	}
	if k.byID == nil {
		k.byID = map[string][]record.Seal{}
	}
	seal.Object, seal.Resource, seal.Live = "", id, true
	k.byID[id] = append(slices.DeleteFunc(k.byID[id], func(old record.Seal) bool { return old.Nonce == seal.Nonce }), seal)
}

// has reports whether the resource of an id has registered.
func (k *Keys) has(id string) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return len(k.byID[id]) > 0
}

// of returns the seals of resources by nonce, and those of them that are linked.
func (k *Keys) of(linked []string) (all map[string]record.Seal, of map[string]bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	all, of = map[string]record.Seal{}, map[string]bool{}
	for id, seals := range k.byID {
		for _, seal := range seals {
			all[seal.Nonce] = seal
			of[seal.Nonce] = of[seal.Nonce] || slices.Contains(linked, id)
		}
	}
	return all, of
}

// with returns seals that are remembered as the resources of this process know them, and those of
// the others.
func (k *Keys) with(known []record.Seal) []record.Seal {
	walked, _ := k.of(nil)
	out := make([]record.Seal, 0, len(known)+len(walked))
	for _, one := range known {
		if _, is := walked[one.Nonce]; !is {
			out = append(out, one)
		}
	}
	for _, nonce := range slices.Sorted(maps.Keys(walked)) {
		out = append(out, walked[nonce])
	}
	return out
}

// key is how a seal is remembered: a nonce alone, as earlier builds wrote them, proves marks of any
// time.
type key struct {
	Nonce string `json:"nonce"`
	// Of is the id of the resource, where tolerated_by names it.
	Of string `json:"of,omitempty"`
	// Generation and Live are as record.Seal has them, where tolerated_by names the resource.
	Generation string  `json:"generation,omitempty"`
	Live       bool    `json:"live,omitempty"`
	Epoch      int     `json:"epoch,omitempty"`
	Held       *string `json:"held,omitempty"`
}

// UnmarshalJSON reads what earlier builds wrote as well.
func (k *key) UnmarshalJSON(raw []byte) error {
	if json.Unmarshal(raw, &k.Nonce) == nil {
		return nil
	}
	type plain key
	return json.Unmarshal(raw, (*plain)(k))
}

// Link is what a refresh does to remember the seals of the resources that this process knows, and
// returns all that are remembered. Those that tolerated_by or depends_on name have been walked before;
// of others it is chance. What was known once stays: a toleration may retire that its resource has left when it
// was destroyed. Where a plan is applied, a resource that does not change is not walked, and after
// its end it never is: so they are in the private state. A refresh puts them there, since an
// apply plans again from the prior one. The framework gives none to a create
// (github.com/hashicorp/terraform-plugin-framework v1.19.0 internal/fwserver/server_createresource.go).
func (d *Data) Link(ctx context.Context, from PrivateReader, to PrivateWriter, diags *diag.Diagnostics, toleratedBy ...types.Set) []record.Seal {
	known := remembered(ctx, from, diags)
	before := written(known)
	for i := range known {
		// One that is in another state by now may have marks of a new generation.
		known[i].Live = false
	}
	return d.link(ctx, known, before, to, diags, idsIn(toleratedBy))
}

// Join is what a plan and a create do: an apply plans once more, and walks no resource that does not
// change. What the refresh has found of them stays.
func (d *Data) Join(ctx context.Context, private Private, diags *diag.Diagnostics, toleratedBy ...types.Set) []record.Seal {
	known := remembered(ctx, private, diags)
	return d.link(ctx, known, written(known), private, diags, idsIn(toleratedBy))
}

func (d *Data) link(ctx context.Context, known []record.Seal, before []byte, to PrivateWriter, diags *diag.Diagnostics, ids []string) []record.Seal {
	walked, linked := d.Keys.of(ids)
	for i, one := range known {
		if now, is := walked[one.Nonce]; is {
			known[i] = now
			delete(walked, one.Nonce)
		}
	}
	for _, nonce := range slices.Sorted(maps.Keys(walked)) {
		known = append(known, walked[nonce])
	}
	more := len(known) - mostKeys
	known = slices.DeleteFunc(known, func(one record.Seal) bool {
		more--
		return more >= 0 && !linked[one.Nonce] && !slices.Contains(ids, one.Resource)
	})
	for i := range known {
		if !slices.Contains(ids, known[i].Resource) {
			known[i].Resource, known[i].Generation, known[i].Live = "", "", false
		}
	}
	if now := written(known); !bytes.Equal(now, before) {
		diags.Append(to.SetKey(ctx, keysKey, now)...)
	}
	return known
}

// idsIn returns the ids in sets that are known.
func idsIn(sets []types.Set) []string {
	var out []string
	for _, set := range sets {
		for _, element := range set.Elements() {
			if id, is := element.(types.String); is {
				out = append(out, id.ValueString())
			}
		}
	}
	return out
}

// remembered returns the seals that the private state holds, without those that have no nonce: such a
// seal would believe every mark.
func remembered(ctx context.Context, from PrivateReader, diags *diag.Diagnostics) []record.Seal {
	raw, found := from.GetKey(ctx, keysKey)
	diags.Append(found...)
	var known []key
	if len(raw) > 0 && json.Unmarshal(raw, &known) != nil {
		// Keys that cannot be read prove nothing.
		return nil
	}
	var out []record.Seal
	for _, one := range known {
		if one.Nonce == "" {
			continue
		}
		seal := record.Seal{Nonce: one.Nonce, Epoch: one.Epoch, Resource: one.Of, Generation: one.Generation, Live: one.Live}
		if one.Held != nil {
			seal.Held = record.ParseHeld(*one.Held)
		}
		out = append(out, seal)
	}
	return out
}

// written is what remembered reads.
func written(known []record.Seal) []byte {
	keys := make([]key, len(known))
	for i, one := range known {
		keys[i] = key{Nonce: one.Nonce, Of: one.Resource, Generation: one.Generation, Live: one.Live, Epoch: one.Epoch}
		if one.Held != nil {
			held := one.Held.String()
			keys[i].Held = &held
		}
	}
	// Strings and numbers can be marshalled.
	raw, _ := json.Marshal(keys)
	return raw
}

// RetainedClaim is the claim on what retires and goes with these taints: what the resources of this
// process have left, and those whose seals are remembered. What goes with the taints that a
// replacement takes away goes once it has brought others.
func (d *Data) RetainedClaim(named []taint.ID, replaced bool, known []record.Seal) toleration.Claim {
	if replaced {
		d.deferred.add(named)
		return toleration.Claim{Known: d.Keys.with(known)}
	}
	return toleration.Claim{Named: d.deferred.with(named), Known: d.Keys.with(known)}
}
