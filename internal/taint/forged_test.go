// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package taint

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/record"
)

// Marks that no resource writes are forged: they remove, restore and own nothing.
func TestMerge_forgedMarks(t *testing.T) {
	t.Parallel()
	value := func(s string) *string { return &s }
	for name, tt := range map[string]struct {
		current []string
		mark    Mark
		want    string
	}{
		"a taint of the node lifecycle controller is not removed": {
			[]string{"node.kubernetes.io/unreachable:NoExecute"}, Mark{Key: "node.kubernetes.io/unreachable", Effect: "NoExecute", Generation: "g2"}, "node.kubernetes.io/unreachable:NoExecute",
		},
		"a taint that force-deletes pods is not restored": {
			nil, Mark{Key: "node.kubernetes.io/out-of-service", Effect: "NoExecute", Generation: "g2", Absent: true, Previous: value("")}, "",
		},
		"an empty generation is not owned": {[]string{"a:NoExecute"}, Mark{Key: "a", Effect: "NoExecute", Owner: "me"}, "a:NoExecute"},
		"no taint has such a key":          {nil, Mark{Key: "a b", Effect: "NoExecute", Generation: "g2", Absent: true, Previous: value("")}, ""},
		"no taint has such an effect":      {nil, Mark{Key: "a", Effect: "Nonsense", Generation: "g2", Absent: true, Previous: value("")}, ""},
		"no taint had such a value":        {[]string{"a:NoExecute"}, Mark{Key: "a", Effect: "NoExecute", Generation: "g2", Previous: value("x y")}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for release, claim := range map[string]Claim{"destroy": want(t).releasing(), "apply": want(t), "lost generation": {Owner: "me", Release: true}} {
				got := Merge(list(t, tt.current...), Record{tt.mark}, claim)
				wanted := tt.want
				if release == "lost generation" {
					wanted = FormatAll(list(t, tt.current...))
				}
				if all := FormatAll(got.Taints); all != wanted {
					t.Errorf("%s: the taints are %q, want %q", release, all, wanted)
				}
			}
		})
	}
}

// A private state that was lost brings another nonce: marks of the claim's own generation are
// proved anew with the next write, or their entries would have no owner once they are not wanted.
func TestMerge_provesMarksAnew(t *testing.T) {
	t.Parallel()
	old, seal := record.Seal{Nonce: "old"}, record.Seal{Nonce: "new", Epoch: 1, Held: record.Held{}}
	made := Merge(nil, nil, Claim{Owner: "me", Generation: "g2", Seal: old, Taints: list(t, "a:NoExecute")})
	seal.Held.Note(seal, made.Record[0].Sealed())
	for name, imported := range map[string]map[ID][]string{"known by the record": nil, "imported, as a recovery has it": {ids(t, "a:NoExecute")[0]: {""}}} {
		claim := Claim{Owner: "me", Generation: "g2", Seal: seal, Imported: imported, Taints: list(t, "a:NoExecute")}
		proved := Merge(made.Taints, made.Record, claim)
		if !proved.Changed {
			t.Fatalf("%s: the mark keeps a proof that cannot be checked", name)
		}
		claim.Imported, claim.Taints = nil, nil
		if got := Merge(made.Taints, made.Record, claim); len(got.Taints) > 0 {
			t.Errorf("%s: what was seen is left behind", name)
		}
		claim.Seal.Held = record.Held{}
		if got := Merge(proved.Taints, proved.Record, claim); len(got.Taints) > 0 {
			t.Errorf("%s: %s is left behind", name, FormatAll(got.Taints))
		}
		if got := Merge(made.Taints, made.Record, claim); len(got.Taints) == 0 {
			t.Errorf("%s: a mark with another proof is believed", name)
		}
	}
}

// A mark of an entry that state or configuration name counts without a proof, and what else it
// says does not: others may have written that a value is to be restored, or that the taint must
// not be there.
func TestMerge_restoresByAProofAlone(t *testing.T) {
	t.Parallel()
	seal := record.Seal{Nonce: "n"}
	for name, tt := range map[string]struct {
		current, want string
		absent        bool
		forge         func(*Mark)
	}{
		"nothing forged":                         {"a=1:NoExecute", "", false, func(*Mark) {}},
		"a value that never stood there":         {"a=1:NoExecute", "", false, func(m *Mark) { m.Previous = new("evil") }},
		"a taint that is said to be absent":      {"a=1:NoExecute", "", false, func(m *Mark) { m.Absent = true }},
		"absent, as it was":                      {"", "a=old:NoExecute", true, func(*Mark) {}},
		"absent, with a value that never stood":  {"", "", true, func(m *Mark) { m.Previous = new("evil") }},
		"absent, and the value is said to stand": {"", "", true, func(m *Mark) { m.Absent = false }},
	} {
		claim := Claim{Owner: "me", Generation: "g2", Seal: seal, Taints: list(t, "a=1:NoExecute")}
		var before []corev1.Taint
		if tt.absent {
			claim.Taints, claim.Absent, before = nil, ids(t, "a:NoExecute"), list(t, "a=old:NoExecute")
		}
		marks := Merge(before, nil, claim).Record
		tt.forge(&marks[0])
		var current []corev1.Taint
		if tt.current != "" {
			current = list(t, tt.current)
		}
		claim.Release = true
		if got := FormatAll(Merge(current, marks, claim).Taints); got != tt.want {
			t.Errorf("%s: a destroy leaves %q, want %q", name, got, tt.want)
		}
	}
}
