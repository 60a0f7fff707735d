// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package taint

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The claim's own generation is always g2, its owner "me".
func want(t *testing.T, notations ...string) Claim {
	t.Helper()
	return Claim{Owner: "me", Generation: "g2", Taints: list(t, notations...)}
}

func (c Claim) absent(t *testing.T, notations ...string) Claim {
	t.Helper()
	c.Absent = ids(t, notations...)
	return c
}

func (c Claim) adopting() Claim   { c.Adopt = true; return c }
func (c Claim) takingOver() Claim { c.TakeOver = true; return c }
func (c Claim) releasing() Claim  { c.Release = true; return c }

// importing reports which entries were imported, with the generation after an "@".
func (c Claim) importing(t *testing.T, generation string, notations ...string) Claim {
	t.Helper()
	c.Imported = map[ID][]string{}
	for _, id := range ids(t, notations...) {
		c.Imported[id] = []string{generation}
	}
	return c
}

func TestMerge_ofACreate(t *testing.T) {
	t.Parallel()
	runMerge(t, []mergeCase{
		{
			name: "new entries stand behind foreign ones, in the claim's order", current: []string{"z:NoSchedule", "b=1:NoExecute"}, claim: want(t, "d=gpu:NoExecute", "c:NoSchedule"),
			want:       []string{"z:NoSchedule", "b=1:NoExecute", "d=gpu:NoExecute", "c:NoSchedule"},
			wantRecord: []string{"c:NoSchedule me/g2", "d:NoExecute me/g2"}, deviations: []string{"c:NoSchedule missing", "d:NoExecute missing"},
		},
		{
			name: "the same key with two effects is two entries", current: []string{"a=1:NoSchedule"}, record: []string{"a:NoSchedule other/g1"}, claim: want(t, "a=2:NoExecute"),
			want: []string{"a=1:NoSchedule", "a=2:NoExecute"}, wantRecord: []string{"a:NoExecute me/g2", "a:NoSchedule other/g1"}, deviations: []string{"a:NoExecute missing"},
		},
		{
			name: "an unmarked entry is a conflict even with the same value", current: []string{"a=1:NoExecute"}, claim: want(t, "a=1:NoExecute"),
			conflicts: []string{`a:NoExecute=1 of ""`}, deviations: []string{"a:NoExecute different"},
		},
		{
			name: "one conflict makes the whole merge void", current: []string{"a=1:NoExecute"}, claim: want(t, "b:NoExecute", "a=2:NoExecute", "c:NoExecute"),
			conflicts: []string{`a:NoExecute=1 of ""`}, deviations: []string{"a:NoExecute different", "b:NoExecute missing", "c:NoExecute missing"},
		},
		{
			name: "adopt takes on an unmarked entry, with nothing to put back", current: []string{"a=1:NoExecute", "b:NoSchedule"}, claim: want(t, "a=1:NoExecute").adopting(),
			want: []string{"a=1:NoExecute", "b:NoSchedule"}, wantRecord: []string{"a:NoExecute me/g2"}, deviations: []string{"a:NoExecute different"},
		},
		{
			name: "adopt changes the value in its place", current: []string{"a=1:NoExecute", "b:NoSchedule"}, claim: want(t, "a=2:NoExecute").adopting(),
			want: []string{"a=2:NoExecute", "b:NoSchedule"}, wantRecord: []string{"a:NoExecute me/g2"}, deviations: []string{"a:NoExecute different"},
		},
		{
			name: "another owner's entry is a conflict even under adopt", current: []string{"a=1:NoExecute"}, record: []string{"a:NoExecute other/g1"}, claim: want(t, "a=1:NoExecute").adopting(),
			conflicts: []string{`a:NoExecute=1 of "other"`}, deviations: []string{"a:NoExecute different"},
		},
		{
			name: "another owner's entry is a conflict even while it is missing", record: []string{"a:NoExecute other/g1"}, claim: want(t, "a=1:NoExecute"),
			conflicts: []string{`a:NoExecute= of "other"`}, deviations: []string{"a:NoExecute missing"},
		},
		{
			name: "another owner's absent entry is a conflict", record: []string{"a:NoExecute other/g1 absent was=1"}, claim: want(t, "a=1:NoExecute"),
			conflicts: []string{`a:NoExecute= of "other"`}, deviations: []string{"a:NoExecute missing"},
		},
		{
			name: "a create takes over what an earlier create of the same id has left", current: []string{"a=1:NoExecute"}, record: []string{"a:NoExecute me/g1"}, claim: want(t, "a=1:NoExecute").takingOver(),
			want: []string{"a=1:NoExecute"}, wantRecord: []string{"a:NoExecute me/g2"}, takenOver: []string{"a:NoExecute"},
		},
		{
			name: "a take-over goes on where the earlier create stopped", current: []string{"a=1:NoExecute"}, record: []string{"a:NoExecute me/g1"}, claim: want(t, "a=1:NoExecute", "b:NoExecute").takingOver(),
			want: []string{"a=1:NoExecute", "b:NoExecute"}, wantRecord: []string{"a:NoExecute me/g2", "b:NoExecute me/g2"}, takenOver: []string{"a:NoExecute"}, deviations: []string{"b:NoExecute missing"},
		},
		{
			name: "a take-over keeps what is to be put back", record: []string{"a:NoExecute me/g1 absent was=1"}, claim: want(t).absent(t, "a:NoExecute").takingOver(),
			want: []string{}, wantRecord: []string{"a:NoExecute me/g2 absent was=1"}, takenOver: []string{"a:NoExecute"},
		},
		{
			name: "a take-over puts nothing back in place of what is wanted", current: []string{"a=1:NoExecute"}, record: []string{"a:NoExecute me/g1 was=0"}, claim: want(t, "a=1:NoExecute").takingOver(),
			want: []string{"a=1:NoExecute"}, wantRecord: []string{"a:NoExecute me/g2"}, takenOver: []string{"a:NoExecute"},
		},
		{
			name: "an update does not take over another generation of its own id", current: []string{"a=1:NoExecute"}, record: []string{"a:NoExecute me/g1"}, claim: want(t, "a=1:NoExecute"),
			conflicts: []string{`a:NoExecute=1 of "me"`}, deviations: []string{"a:NoExecute different"},
		},
	})
}

func TestMerge_ofAnUpdate(t *testing.T) {
	t.Parallel()
	runMerge(t, []mergeCase{
		{name: "nothing to do", current: []string{"z:NoSchedule", "a=1:NoExecute"}, record: []string{"a:NoExecute me/g2"}, claim: want(t, "a=1:NoExecute")},
		{
			name: "a value changes in its place", current: []string{"a=1:NoExecute", "z:NoSchedule"}, record: []string{"a:NoExecute me/g2"}, claim: want(t, "a=2:NoExecute"),
			want: []string{"a=2:NoExecute", "z:NoSchedule"}, wantRecord: []string{"a:NoExecute me/g2"}, deviations: []string{"a:NoExecute different"},
		},
		{
			name: "an entry that is no longer wanted goes", current: []string{"a=1:NoExecute", "z:NoSchedule", "b:NoExecute"}, record: []string{"a:NoExecute me/g2", "b:NoExecute me/g2"}, claim: want(t, "b:NoExecute"),
			want: []string{"z:NoSchedule", "b:NoExecute"}, wantRecord: []string{"b:NoExecute me/g2"}, deviations: []string{"a:NoExecute different"},
		},
		{
			name: "a mark that is no longer wanted goes though another writer removed its entry", record: []string{"a:NoExecute me/g2"}, claim: want(t),
			want: []string{}, wantRecord: []string{}, deviations: []string{"a:NoExecute different"},
		},
		{
			name: "what a foreign actor removed comes back at the end", current: []string{"z:NoSchedule"}, record: []string{"a:NoExecute me/g2"}, claim: want(t, "a=1:NoExecute"),
			want: []string{"z:NoSchedule", "a=1:NoExecute"}, wantRecord: []string{"a:NoExecute me/g2"}, deviations: []string{"a:NoExecute missing"},
		},
		{
			name: "a value that a foreign actor changed is changed back", current: []string{"a=9:NoExecute"}, record: []string{"a:NoExecute me/g2"}, claim: want(t, "a=1:NoExecute"),
			want: []string{"a=1:NoExecute"}, wantRecord: []string{"a:NoExecute me/g2"}, deviations: []string{"a:NoExecute different"},
		},
		{
			name: "marks of others are kept", current: []string{"o:NoExecute"}, record: []string{"o:NoExecute other/g1", "me:NoExecute me/g1"}, claim: want(t, "a:NoExecute"),
			want: []string{"o:NoExecute", "a:NoExecute"}, wantRecord: []string{"a:NoExecute me/g2", "me:NoExecute me/g1", "o:NoExecute other/g1"}, deviations: []string{"a:NoExecute missing"},
		},
	})
}

func TestMerge_ofAbsentEntries(t *testing.T) {
	t.Parallel()
	absent := want(t).absent(t, "a:NoExecute")
	runMerge(t, []mergeCase{
		{
			name: "absent removes and remembers the value", current: []string{"a=1:NoExecute", "z:NoSchedule"}, claim: absent,
			want: []string{"z:NoSchedule"}, wantRecord: []string{"a:NoExecute me/g2 absent was=1"}, deviations: []string{"a:NoExecute different"},
		},
		{
			name: "absent remembers an empty value as a value", current: []string{"a:NoExecute"}, claim: absent,
			want: []string{}, wantRecord: []string{"a:NoExecute me/g2 absent was="}, deviations: []string{"a:NoExecute different"},
		},
		{name: "what is not there needs neither write nor mark", current: []string{"a=1:NoSchedule"}, claim: absent},
		{name: "what is absent already is left alone", record: []string{"a:NoExecute me/g2 absent was=1"}, claim: absent},
		{
			name: "another owner's entry is a conflict", current: []string{"a=1:NoExecute"}, record: []string{"a:NoExecute other/g1"}, claim: absent,
			conflicts: []string{`a:NoExecute=1 of "other"`}, deviations: []string{"a:NoExecute different"},
		},
		{
			name: "what a foreign actor put back goes again, and the first value is remembered", current: []string{"a=9:NoExecute"}, record: []string{"a:NoExecute me/g2 absent was=1"}, claim: absent,
			want: []string{}, wantRecord: []string{"a:NoExecute me/g2 absent was=1"}, deviations: []string{"a:NoExecute different"},
		},
		{
			name: "what a foreign actor put where ours had stood is put back at the end", current: []string{"a=9:NoExecute"}, record: []string{"a:NoExecute me/g2 absent"}, claim: absent,
			want: []string{}, wantRecord: []string{"a:NoExecute me/g2 absent was=9"}, deviations: []string{"a:NoExecute different"},
		},
		{
			name: "an entry that moves from absent to taints keeps its previous value", record: []string{"a:NoExecute me/g2 absent was=1"}, claim: want(t, "a=5:NoExecute"),
			want: []string{"a=5:NoExecute"}, wantRecord: []string{"a:NoExecute me/g2 was=1"}, deviations: []string{"a:NoExecute missing"},
		},
		{
			name: "an entry that moves from absent to taints and is there already only changes its mark", current: []string{"a=5:NoExecute"}, record: []string{"a:NoExecute me/g2 absent was=1"}, claim: want(t, "a=5:NoExecute"),
			want: []string{"a=5:NoExecute"}, wantRecord: []string{"a:NoExecute me/g2 was=1"},
		},
		{
			name: "an entry that moves from taints to absent keeps its previous value", current: []string{"a=5:NoExecute"}, record: []string{"a:NoExecute me/g2 was=1"}, claim: absent,
			want: []string{}, wantRecord: []string{"a:NoExecute me/g2 absent was=1"}, deviations: []string{"a:NoExecute different"},
		},
		{
			name: "an entry of ours that moves from taints to absent has no previous value", current: []string{"a=5:NoExecute"}, record: []string{"a:NoExecute me/g2"}, claim: absent,
			want: []string{}, wantRecord: []string{"a:NoExecute me/g2 absent"}, deviations: []string{"a:NoExecute different"},
		},
		{
			name: "an entry that moves to absent while another writer removed it only changes its mark", record: []string{"a:NoExecute me/g2"}, claim: absent,
			want: []string{}, wantRecord: []string{"a:NoExecute me/g2 absent"},
		},
		{
			name: "an absent entry that is no longer wanted comes back", current: []string{"z:NoSchedule"}, record: []string{"a:NoExecute me/g2 absent was=1"}, claim: want(t),
			want: []string{"z:NoSchedule", "a=1:NoExecute"}, wantRecord: []string{}, deviations: []string{"a:NoExecute different"},
		},
	})
}

func TestMerge_ofARelease(t *testing.T) {
	t.Parallel()
	release := want(t, "a=5:NoExecute").absent(t, "b:NoExecute").releasing()
	runMerge(t, []mergeCase{
		{
			name: "what was made goes and what was removed comes back", current: []string{"z:NoSchedule", "a=5:NoExecute"}, record: []string{"a:NoExecute me/g2", "b:NoExecute me/g2 absent was=1"}, claim: release,
			want: []string{"z:NoSchedule", "b=1:NoExecute"}, wantRecord: []string{}, deviations: []string{"a:NoExecute different", "b:NoExecute different"},
		},
		{
			name: "what stood there before comes back in its place", current: []string{"a=5:NoExecute", "z:NoSchedule"}, record: []string{"a:NoExecute me/g2 was=1"}, claim: release,
			want: []string{"a=1:NoExecute", "z:NoSchedule"}, wantRecord: []string{}, deviations: []string{"a:NoExecute different"},
		},
		{
			name: "adopted entries go", current: []string{"a=5:NoExecute"}, record: []string{"a:NoExecute me/g2"}, claim: release.adopting(),
			want: []string{}, wantRecord: []string{}, deviations: []string{"a:NoExecute different"},
		},
		{
			name: "what a foreign actor removed does not come back in its old form", current: []string{}, record: []string{"a:NoExecute me/g2 was=1"}, claim: release,
			want: []string{}, wantRecord: []string{}, deviations: []string{"a:NoExecute different"},
		},
		{
			name: "what a foreign actor put back stays as it is", current: []string{"b=9:NoExecute"}, record: []string{"b:NoExecute me/g2 absent was=1"}, claim: release,
			want: []string{"b=9:NoExecute"}, wantRecord: []string{}, deviations: []string{"b:NoExecute different"},
		},
		{name: "unmarked entries that were not imported stay", current: []string{"a=5:NoExecute"}, claim: release},
		{name: "entries of another generation stay", current: []string{"a=5:NoExecute"}, record: []string{"a:NoExecute me/g3"}, claim: release},
		{name: "a second release does nothing", current: []string{"z:NoSchedule"}, claim: release},
	})
}

func TestMerge_ofImportedEntries(t *testing.T) {
	t.Parallel()
	imported := want(t, "a=1:NoExecute").importing(t, "", "a:NoExecute")
	givenUp := want(t, "a=1:NoExecute").importing(t, "g1", "a:NoExecute")
	none, noneMarked := imported, givenUp
	none.Taints, noneMarked.Taints = nil, nil
	runMerge(t, []mergeCase{
		{name: "unmarked and as wanted: kept without a write", current: []string{"a=1:NoExecute"}, claim: imported},
		{
			name: "unmarked with another value: changed and marked", current: []string{"a=9:NoExecute"}, claim: imported,
			want: []string{"a=1:NoExecute"}, wantRecord: []string{"a:NoExecute me/g2"}, deviations: []string{"a:NoExecute different"},
		},
		{
			name: "the mark comes with the next write", current: []string{"a=1:NoExecute"}, claim: func() Claim { c := imported; c.Taints = list(t, "a=1:NoExecute", "b:NoExecute"); return c }(),
			want: []string{"a=1:NoExecute", "b:NoExecute"}, wantRecord: []string{"a:NoExecute me/g2", "b:NoExecute me/g2"}, deviations: []string{"b:NoExecute missing"},
		},
		{name: "unmarked and not wanted: left alone", current: []string{"a=1:NoExecute"}, claim: none},
		{name: "unmarked and released: removed", current: []string{"a=1:NoExecute", "z:NoSchedule"}, claim: imported.releasing(), want: []string{"z:NoSchedule"}, wantRecord: []string{}},
		{
			name: "unmarked and wanted absent: removed, with nothing to put back", current: []string{"a=1:NoExecute"}, claim: none.absent(t, "a:NoExecute"),
			want: []string{}, wantRecord: []string{"a:NoExecute me/g2 absent"}, deviations: []string{"a:NoExecute different"},
		},
		{
			name: "removed by another writer: put back and marked", claim: imported,
			want: []string{"a=1:NoExecute"}, wantRecord: []string{"a:NoExecute me/g2"}, deviations: []string{"a:NoExecute missing"},
		},
		{name: "with the mark of a given-up create: kept without a write", current: []string{"a=1:NoExecute"}, record: []string{"a:NoExecute me/g1"}, claim: givenUp},
		{
			name: "with the mark of a given-up create and not wanted: removed", current: []string{"a=1:NoExecute"}, record: []string{"a:NoExecute me/g1"}, claim: noneMarked,
			want: []string{}, wantRecord: []string{}, deviations: []string{"a:NoExecute different"},
		},
		{
			name: "with the mark of a given-up create and released: what stood there before comes back", current: []string{"a=1:NoExecute"}, record: []string{"a:NoExecute me/g1 was=0"}, claim: givenUp.releasing(),
			want: []string{"a=0:NoExecute"}, wantRecord: []string{}, deviations: []string{"a:NoExecute different"},
		},
		{
			name: "with the mark of yet another generation: a conflict", current: []string{"a=1:NoExecute"}, record: []string{"a:NoExecute other/g7"}, claim: givenUp,
			conflicts: []string{`a:NoExecute=1 of "other"`}, deviations: []string{"a:NoExecute different"},
		},
		{
			name: "with a mark that has gone since: a conflict", current: []string{"a=1:NoExecute"}, claim: givenUp,
			conflicts: []string{`a:NoExecute=1 of ""`}, deviations: []string{"a:NoExecute different"},
		},
		{name: "with a mark that has gone since and released: left alone", current: []string{"a=1:NoExecute"}, claim: givenUp.releasing()},
	})
}

func TestMerge_leavesForeignTimesOfAdditionAlone(t *testing.T) {
	t.Parallel()
	current := list(t, "node.kubernetes.io/unreachable:NoExecute", "b:NoExecute", "c:NoSchedule")
	current[0], current[2] = added(current[0], 1_700_000_000), added(current[2], 1_600_000_000)
	got := Merge(current, marks(t, "b:NoExecute me/g2"), want(t, "a=1:NoExecute"))
	expected := list(t, "node.kubernetes.io/unreachable:NoExecute", "c:NoSchedule", "a=1:NoExecute")
	expected[0], expected[1] = current[0], current[2]
	if diff := cmp.Diff(expected, got.Taints); diff != "" {
		t.Error(diff)
	}
}

func TestMerge_withoutChangeReturnsTheVerySameRecord(t *testing.T) {
	t.Parallel()
	current, record := list(t, "b:NoExecute", "a=1:NoExecute"), marks(t, "b:NoExecute me/g2", "a:NoExecute me/g2")
	got := Merge(current, record, want(t, "a=1:NoExecute", "b:NoExecute"))
	if got.Changed || &got.Record[0] != &record[0] || &got.Taints[0] != &current[0] {
		t.Error("a merge without a change must return what it was given")
	}
}

func TestClaim_ownsByGenerationImportAndTakeOver(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		claim Claim
		mark  string
		owns  bool
	}{
		{name: "its own generation", claim: want(t), mark: "a:NoExecute me/g2", owns: true},
		{name: "its own generation under an older id", claim: want(t), mark: "a:NoExecute formerly/g2", owns: true},
		{name: "another generation of the same id", claim: want(t), mark: "a:NoExecute me/g1"},
		{name: "another generation of the same id in a create that wants the entry", claim: want(t, "a:NoExecute").takingOver(), mark: "a:NoExecute me/g1", owns: true},
		{name: "another generation of the same id in a create that wants other entries", claim: want(t, "b:NoExecute").takingOver(), mark: "a:NoExecute me/g1"},
		{name: "another id in a create", claim: want(t).takingOver(), mark: "a:NoExecute other/g1"},
		{name: "an imported mark", claim: want(t).importing(t, "g1", "a:NoExecute"), mark: "a:NoExecute me/g1", owns: true},
		{name: "another entry with an imported generation", claim: want(t).importing(t, "g1", "b:NoExecute"), mark: "a:NoExecute me/g1"},
		{name: "an entry that was unmarked when it was imported", claim: want(t).importing(t, "", "a:NoExecute"), mark: "a:NoExecute other/g1"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := tt.claim.Owns(append(marks(t, "z:NoExecute other/g0"), mark(t, tt.mark))); got != tt.owns {
				t.Errorf("owns %t, want %t", got, tt.owns)
			}
		})
	}
}
