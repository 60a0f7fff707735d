// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package session

import (
	"context"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/record"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/toleration"
)

// memory is a private state.
type memory map[string][]byte

func (m memory) GetKey(_ context.Context, key string) ([]byte, diag.Diagnostics) { return m[key], nil }

func (m memory) SetKey(_ context.Context, key string, value []byte) diag.Diagnostics {
	m[key] = value
	return nil
}

// TestData_Link_remembersWhatEachProcessKnew has a resource of taints meet one of tolerations, and
// be in a process without it later.
func TestData_Link_remembersWhatEachProcessKnew(t *testing.T) {
	t.Parallel()
	const object = "Deployment/shop/web"
	at := func(epoch int, proofs ...string) record.Seal {
		s := record.Seal{Nonce: "n", Epoch: epoch, Held: record.Held{}}
		// They are of the applies before, when all counted.
		before := record.Seal{Nonce: "n", Object: object}
		for _, proof := range proofs {
			s.Held.Hold(before, record.Sealed{Proof: proof, Parts: []string{"a"}})
		}
		return s
	}
	made := func(epoch int) string { return record.Seal{Nonce: "n", Epoch: epoch, Object: object}.Proof("a") }
	believed := func(known []record.Seal, proof string) bool {
		t.Helper()
		if len(known) != 1 {
			t.Fatalf("%d seals are known", len(known))
		}
		known[0].Object = object
		return known[0].Proves(record.Sealed{Proof: proof, Parts: []string{"a"}})
	}
	var diags diag.Diagnostics
	private := memory{keysKey: []byte(`["n"]`)}
	if known := remembered(t.Context(), private, &diags); !believed(known, made(0)) || !believed(known, made(7)) {
		t.Error("what an earlier build remembered does not prove everything")
	}
	if (&Data{}).Link(t.Context(), private, private, &diags); string(private[keysKey]) != `["n"]` {
		t.Errorf("it is written anew: %s", private[keysKey])
	}
	var together Data
	together.Keys.Register("id", at(4, made(1), made(3)))
	together.Keys.Register("id", at(4, made(3)))
	together.Keys.Register("nobody", record.Seal{})
	if known := together.RetainedClaim(nil, false, remembered(t.Context(), private, &diags)).Known; believed(known, made(1)) || !believed(known, made(3)) {
		t.Error("what this process knows does not count first")
	}
	together.Link(t.Context(), private, private, &diags)
	for name, known := range map[string][]record.Seal{
		"remembered":              remembered(t.Context(), private, &diags),
		"in a process without it": (&Data{}).Link(t.Context(), private, memory{}, &diags),
		"with what it claim":      (&Data{}).RetainedClaim(nil, false, remembered(t.Context(), private, &diags)).Known,
	} {
		for epoch, want := range []bool{false, false, false, true, true, true} {
			if got := believed(known, made(epoch)); got != want {
				t.Errorf("%s: a mark of the apply %d is believed: %t", name, epoch, got)
			}
		}
	}
	if diags.HasError() {
		t.Error(diags)
	}
}

// TestRemembered_dropsKeysWithoutANonce: a seal without a nonce believes everything.
func TestRemembered_dropsKeysWithoutANonce(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]int{
		`[null]`: 0, `[""]`: 0, `[{}]`: 0, `[{"nonce":"","of":"id","live":true}]`: 0,
		`[null,"n",{},{"nonce":"m"}]`: 2, `null`: 0, `{}`: 0, `[1]`: 0,
	} {
		var diags diag.Diagnostics
		known := remembered(t.Context(), memory{keysKey: []byte(raw)}, &diags)
		if len(known) != want || diags.HasError() {
			t.Errorf("%s: %d seals are remembered, want %d: %v", raw, len(known), want, diags)
		}
		for _, seal := range known {
			if seal.Proves(record.Sealed{Proof: "forged", Parts: []string{"a"}}) {
				t.Errorf("%s: the seal %+v proves a forged mark", raw, seal)
			}
		}
	}
}

// TestData_Link_forgetsTheOldest has more resources in a process than are remembered.
func TestData_Link_forgetsTheOldest(t *testing.T) {
	t.Parallel()
	var d Data
	var diags diag.Diagnostics
	private := memory{keysKey: []byte(`["linked","oldest","older"]`)}
	d.Keys.Register("id", record.Seal{Nonce: "linked", Epoch: 1, Held: record.Held{}})
	for n := range mostKeys - 1 {
		d.Keys.Register(string(rune('0'+n)), record.Seal{Nonce: string(rune('0' + n))})
	}
	known := d.Link(t.Context(), private, private, &diags, types.SetValueMust(types.StringType, []attr.Value{types.StringValue("id")}))
	var named []string
	for _, one := range (&Data{}).Link(t.Context(), private, memory{}, &diags, types.SetValueMust(types.StringType, []attr.Value{types.StringValue("id")})) {
		named = append(named, one.Resource)
	}
	if named = slices.Compact(slices.Sorted(slices.Values(named))); !slices.Equal(named, []string{"", "id"}) {
		t.Errorf("remembered are seals of %q", named)
	}
	if len(known) != mostKeys+1 || known[0].Nonce != "linked" || known[0].Epoch != 1 || known[1].Nonce != "older" {
		t.Errorf("%d are remembered, from %v on", len(known), known[:2])
	}
}

// TestData_Link_remembersGenerationsOfLiveResources: a create is in a process that walks no resource
// that does not change, and a plan walks all of the state.
func TestData_Link_remembersGenerationsOfLiveResources(t *testing.T) {
	t.Parallel()
	ids := types.SetValueMust(types.StringType, []attr.Value{types.StringValue("id")})
	var diags diag.Diagnostics
	current := func(known []record.Seal, id string) string {
		generations, all := toleration.Claim{Known: known}.Current(id)
		return strings.Join(slices.Sorted(maps.Keys(generations)), ",") + map[bool]string{true: " alone"}[all]
	}
	private := memory{}
	var together Data
	together.Keys.Register("id", record.Seal{Nonce: "n", Generation: "g"})
	together.Keys.Register("other", record.Seal{Nonce: "m", Generation: "h"})
	for _, tt := range []struct {
		of          string
		known       []record.Seal
		id, another string
	}{
		{"a plan with the resource", together.Link(t.Context(), private, private, &diags, ids), "g alone", ""},
		{"a create without it", (&Data{}).Join(t.Context(), private, &diags, ids), "g alone", ""},
		{"an update without it", remembered(t.Context(), private, &diags), "g alone", ""},
		{"a plan without it", (&Data{}).Link(t.Context(), private, private, &diags, ids), "g", ""},
		{"an update after that", remembered(t.Context(), private, &diags), "g", ""},
		{"a plan that is not linked", (&Data{}).Link(t.Context(), private, private, &diags), "", ""},
	} {
		if got := current(tt.known, "id"); got != tt.id {
			t.Errorf("%s: %q is known, want %q", tt.of, got, tt.id)
		}
		if got := current(tt.known, "other"); tt.of != "a plan with the resource" && got != tt.another {
			t.Errorf("%s: %q is known of a resource that is not linked", tt.of, got)
		}
	}
}
