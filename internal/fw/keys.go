// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package fw

import (
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
	// keysKey is where a resource that writes taints remembers nonces of resources that own
	// tolerations.
	keysKey = "keys"
	// mostKeys bounds how many it remembers beside those of the resources that tolerated_by
	// names: the oldest are forgotten.
	mostKeys = 64
)

// Keys are the nonces of the resources of one process that own tolerations, by id. A toleration
// that retires goes with the taint that needed it, by another resource than the one that wrote
// its mark: whoever may write the annotations must not have somebody's toleration removed by that,
// so that the other one asks for the mark's proof.
type Keys struct {
	mu   sync.Mutex
	byID map[string][]string
}

// Register tells the nonce of the resource of an id. What a resource registers is known to those
// that depend on it: Terraform walks it before them.
func (k *Keys) Register(id, nonce string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if nonce == "" || slices.Contains(k.byID[id], nonce) {
		return
	}
	if k.byID == nil {
		k.byID = map[string][]string{}
	}
	k.byID[id] = append(k.byID[id], nonce)
}

// of returns the nonces of resources, and whether each of them is one that is linked.
func (k *Keys) of(linked []string) map[string]bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	out := map[string]bool{}
	for id, nonces := range k.byID {
		for _, nonce := range nonces {
			out[nonce] = slices.Contains(linked, id)
		}
	}
	return out
}

func (k *Keys) seals() []record.Seal {
	return sealsOf(slices.Sorted(maps.Keys(k.of(nil))))
}

func sealsOf(nonces []string) []record.Seal {
	out := make([]record.Seal, len(nonces))
	for i, nonce := range nonces {
		out[i] = record.Seal{Nonce: nonce}
	}
	return out
}

// Link remembers the nonces of the resources that this process knows, and returns all that are
// remembered. Those that tolerated_by or depends_on name have been walked before; of others it is
// chance. What was known once stays: a toleration may retire that its resource has left when it
// was destroyed. Where a plan is applied, a resource that does not change is not walked, and after
// its end it never is: so they are in the private state. A refresh puts them there, since an
// apply plans again from the prior one.
func (d *Data) Link(ctx context.Context, from PrivateReader, to PrivateWriter, diags *diag.Diagnostics, toleratedBy ...types.Set) []record.Seal {
	before := remembered(ctx, from, diags)
	known := slices.Clone(before)
	walked := d.Keys.of(idsIn(toleratedBy))
	for _, nonce := range slices.Sorted(maps.Keys(walked)) {
		if !slices.Contains(known, nonce) {
			known = append(known, nonce)
		}
	}
	more := len(known) - mostKeys
	known = slices.DeleteFunc(known, func(nonce string) bool {
		more--
		return more >= 0 && !walked[nonce]
	})
	if !slices.Equal(known, before) {
		raw, err := json.Marshal(known)
		if err == nil {
			diags.Append(to.SetKey(ctx, keysKey, raw)...)
		}
	}
	return sealsOf(known)
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

// Remembered returns the seals that the private state holds.
func Remembered(ctx context.Context, from PrivateReader, diags *diag.Diagnostics) []record.Seal {
	return sealsOf(remembered(ctx, from, diags))
}

func remembered(ctx context.Context, from PrivateReader, diags *diag.Diagnostics) []string {
	raw, found := from.GetKey(ctx, keysKey)
	diags.Append(found...)
	var known []string
	if len(raw) > 0 && json.Unmarshal(raw, &known) != nil {
		// What cannot be read proves nothing.
		return nil
	}
	return known
}

// Frees is the claim of what retires and goes with these taints: what the resources of this
// process have left, and those whose seals are remembered.
func (d *Data) Frees(named []taint.ID, known []record.Seal) toleration.Claim {
	return toleration.Claim{Named: named, Known: slices.Concat(known, d.Keys.seals())}
}
