// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package taint

import (
	"testing"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/record"
)

// TestMerge_recordsWhatIsAdopted: an entry that was there before the resource owned it, as a proof or
// the user's own words show.
func TestMerge_recordsWhatIsAdopted(t *testing.T) {
	t.Parallel()
	there, id := []string{"a=1:NoSchedule"}, ID{Key: "a", Effect: "NoSchedule"}
	seal := record.Seal{Nonce: "n", Object: "Node/x", Held: record.Held{}}
	claim := want(t, "a=1:NoSchedule")
	claim.Seal = seal
	imported := claim.importing(t, "", "a=1:NoSchedule")
	imported.Seal.Held = record.Held{}
	imported.Seal.Held.Note(seal, id.Unmarked())
	mark := func(generation string, adopted, proved bool) Record {
		m := Mark{Key: "a", Effect: "NoSchedule", Owner: "me", Generation: generation, Adopted: adopted}
		if proved {
			m.Proof = seal.Renew(m.Sealed())
		}
		return Record{m}
	}
	for name, tt := range map[string]struct {
		current []string
		record  Record
		claim   Claim
		want    bool
	}{
		"an entry that is created is not":                       {nil, nil, claim, false},
		"an entry that is created where others are adopted":     {nil, nil, claim.adopting(), false},
		"an entry without an owner that is adopted":             {there, nil, claim.adopting(), true},
		"an entry that was imported":                            {there, nil, imported, true},
		"an adopted entry stays one":                            {there, mark("g2", true, true), claim, true},
		"an adopted entry that another writer has removed":      {nil, mark("g2", true, true), claim, true},
		"a mark that is written without a proof":                {there, mark("g2", true, false), claim.adopting(), false},
		"a created entry whose mark another writer changes":     {there, func() Record { r := mark("g2", false, true); r[0].Adopted = true; return r }(), claim.adopting(), false},
		"a created entry does not become one":                   {there, mark("g2", false, true), claim.adopting(), false},
		"a create goes on that was killed and had adopted it":   {there, mark("g1", true, false), claim.adopting().takingOver(), true},
		"a create goes on that was killed and had created it":   {there, mark("g1", false, false), claim.adopting().takingOver(), false},
		"a create goes on that adopts nothing":                  {there, mark("g1", true, false), claim.takingOver(), false},
		"a mark of an earlier create that is written afterward": {there, mark("g1", true, false), claim, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			merged := Merge(list(t, tt.current...), tt.record, tt.claim)
			if got := tt.claim.Adopted(merged.Record, id); got != tt.want {
				t.Errorf("adopted is %t, and the record %v", got, merged.Record)
			}
		})
	}
}

// TestMerge_keepsGivenUpEntries that another writer would restore, and removes their marks.
func TestMerge_keepsGivenUpEntries(t *testing.T) {
	t.Parallel()
	claim := want(t, "a=1:NoSchedule", "b:NoSchedule").releasing()
	claim.Kept = ids(t, "a:NoSchedule", "c:NoSchedule")
	marks := Record{{Key: "a", Effect: "NoSchedule", Owner: "me", Generation: "g2"}, {Key: "b", Effect: "NoSchedule", Owner: "me", Generation: "g2"}}
	merged := Merge(list(t, "a=1:NoSchedule", "b:NoSchedule", "c:NoSchedule"), marks, claim.importing(t, "", "c:NoSchedule"))
	if got := FormatAll(merged.Taints); got != "a=1:NoSchedule, c:NoSchedule" || len(merged.Record) > 0 || !merged.Changed {
		t.Errorf("the node has %s and the record %v", got, merged.Record)
	}
}
