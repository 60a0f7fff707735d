// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package label

import (
	"slices"
	"strings"
	"testing"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/record"
)

// TestSeal_tellsOurMarksFromCopies: a label that is not wanted goes by a mark with a proof alone,
// and a mark proves something on its own object only.
func TestSeal_tellsOurMarksFromCopies(t *testing.T) {
	t.Parallel()
	claim := Claim{Owner: "me", Generation: "g2", Seal: record.Seal{Nonce: "n"}, Labels: setOf("pool=gpu zone=a")}
	made := Merge(nil, nil, claim.On("Node/a"))
	wants := func(labels string) Claim { c := claim; c.Labels = setOf(labels); return c }
	copied := wants("zone=a")
	copied.Seal.Nonce = "another"
	seen := copied
	seen.Seal.Epoch, seen.Seal.Held = 1, record.Held{}
	for _, mark := range made.Record {
		seen.Seal.Held.Note(seen.Seal.On("Node/a"), mark.Sealed())
	}
	for name, tt := range map[string]struct {
		claim  Claim
		object string
		want   string
		owns   bool
		// changes reports that something is written.
		changes bool
	}{
		"ours is believed and goes":                             {claim: wants("zone=a"), object: "Node/a", want: "zone=a", owns: true, changes: true},
		"ours that is wanted is as it was":                      {claim: wants("pool=gpu zone=a"), object: "Node/a", want: "pool=gpu zone=a", owns: true},
		"a copy on another object stays":                        {claim: wants("zone=a"), object: "Node/b", want: "pool=gpu zone=a", owns: true, changes: true},
		"a copy of what is not wanted at all is not ours":       {claim: wants(""), object: "Node/b", want: "pool=gpu zone=a"},
		"a mark of another nonce stays":                         {claim: copied, object: "Node/a", want: "pool=gpu zone=a", owns: true, changes: true},
		"a mark that an import has seen goes":                   {claim: seen, object: "Node/a", want: "zone=a", owns: true, changes: true},
		"what an import has not seen stays":                     {claim: seen, object: "Node/b", want: "pool=gpu zone=a", owns: true, changes: true},
		"a mark of a lost nonce is written anew where it stays": {claim: func() Claim { c := seen; c.Labels = setOf("pool=gpu zone=a"); return c }(), object: "Node/a", want: "pool=gpu zone=a", owns: true, changes: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			on := tt.claim.On(tt.object)
			if on.Owns(made.Record) != tt.owns {
				t.Errorf("owns something: %t", !tt.owns)
			}
			got := Merge(made.Labels, made.Record, on)
			if Format(got.Labels) != Format(setOf(tt.want)) || got.Changed != tt.changes {
				t.Errorf("it becomes %s, changed %t", Format(got.Labels), got.Changed)
			}
			for key := range tt.claim.Labels {
				if mark, there := got.Record.Of(key); !there || mark.Proof != on.Seal.Proof(mark.Sealed().Parts...) {
					t.Errorf("the mark of %s proves nothing", key)
				}
			}
		})
	}
}

// TestMerge_keepsReservedLabels: no resource writes them, so another writer has forged the mark, here with
// a copied generation.
func TestMerge_keepsReservedLabels(t *testing.T) {
	t.Parallel()
	unsealed := Claim{Owner: "me", Generation: "g2"}
	sealed := unsealed
	sealed.Seal = record.Seal{Nonce: "n"}
	sealed = sealed.On("Node/a")
	release := func(c Claim) Claim { c.Release = true; return c }
	for key, kept := range map[string]bool{
		"pool": false, "node-role.kubernetes.io/infra": false,
		"kubernetes.io/hostname": true, "topology.kubernetes.io/zone": true, "node-role.kubernetes.io/control-plane": true, "-no-key": true,
	} {
		for name, claim := range map[string]Claim{"an update": unsealed, "a destroy": release(unsealed), "an update with proofs": sealed, "a destroy with proofs": release(sealed)} {
			mark := Mark{Key: key, Owner: "me", Generation: "g2"}
			mark.Proof = claim.Seal.Proof(mark.Sealed().Parts...)
			labels := map[string]string{key: "a"}
			got := Merge(labels, Record{mark}, claim)
			if _, there := got.Labels[key]; there != kept || got.Changed == kept {
				t.Errorf("%s: %s becomes %v, changed %t", name, key, got.Labels, got.Changed)
			}
			if claim.Owns(Record{mark}) == kept {
				t.Errorf("%s: the mark of %s is owned: %t", name, key, !kept)
			}
			mark.Proof = "of another object"
			if got := claim.Restored(labels, Record{mark}); kept && len(got) > 0 {
				t.Errorf("%s: %s is given up and back: %s", name, key, got)
			}
		}
	}
}

func TestMerge_tellsHowLabelsDiffer(t *testing.T) {
	t.Parallel()
	claim := Claim{Owner: "me", Generation: "g2", Labels: setOf("a=1 b=2 c=3")}
	for name, tt := range map[string]struct {
		labels, record              string
		missing, different, removed string
		lacking                     bool
	}{
		"nothing does":                                {labels: "a=1 b=2 c=3"},
		"what is not there is missing":                {labels: "b=2 c=3", missing: "a", lacking: true},
		"ours with another value is different":        {labels: "a=1 b=0 c=3", record: "b:me/g2", different: "b", lacking: true},
		"a conflict tells that it is different too":   {labels: "a=1 b=2 c=0", different: "c", lacking: true},
		"a mark of another owner that lost its label": {labels: "a=1 b=2", record: "c:other/g9", missing: "c", lacking: true},
		"what goes lacks nothing":                     {labels: "a=1 b=2 c=3 d=4", record: "d:me/g2", removed: "d"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := Merge(setOf(tt.labels), recordOf(tt.record), claim)
			for want, list := range map[*string][]string{&tt.missing: got.Missing, &tt.different: got.Different, &tt.removed: got.Removed} {
				if strings.Join(list, " ") != *want {
					t.Errorf("got %v, want %q", list, *want)
				}
			}
			if got.Lacking() != tt.lacking {
				t.Errorf("lacking: %t", got.Lacking())
			}
		})
	}
}

func TestRecord_isSortedAndFindsAMarkByItsKey(t *testing.T) {
	t.Parallel()
	got := Merge(nil, nil, Claim{Owner: "me", Generation: "g2", Labels: setOf("c=1 a=2 b=3 d=4")}).Record
	if !slices.IsSortedFunc(got, func(a, b Mark) int { return strings.Compare(a.Key, b.Key) }) {
		t.Errorf("the record is %s", got)
	}
	if mark, there := got.Of("b"); !there || mark.Key != "b" || mark.Owner != "me" {
		t.Errorf("b has %v", mark)
	}
	if mark, there := got.Of("e"); there {
		t.Errorf("e has %v", mark)
	}
}

func TestValidate_namesWhatIsNoKeyAndNoValue(t *testing.T) {
	t.Parallel()
	for key, want := range map[string]string{"example.com/pool": "", "pool": "", "-pool": `"-pool" is not a qualified name: `, "a/b/c": `"a/b/c" is not a qualified name: `} {
		if got := strings.Join(ValidateKey(key), "; "); (got == "") != (want == "") || !strings.HasPrefix(got, want) {
			t.Errorf("%s: %s", key, got)
		}
	}
	for value, want := range map[string]string{"": "", "gpu": "", "a b": `"a b" is not a label value: `, strings.Repeat("x", 64): "\"xxx"} {
		if got := strings.Join(ValidateValue(value), "; "); (got == "") != (want == "") || !strings.HasPrefix(got, want) {
			t.Errorf("%s: %s", value, got)
		}
	}
}

func TestReserved_saysWhy(t *testing.T) {
	t.Parallel()
	for key, want := range map[string]string{"node-role.kubernetes.io/master": "control plane", "kubernetes.io/hostname": "reserved for Kubernetes", "pool": ""} {
		if why, _ := Reserved(key); (why == "") != (want == "") || !strings.Contains(why, want) {
			t.Errorf("%s: %q", key, why)
		}
	}
}
