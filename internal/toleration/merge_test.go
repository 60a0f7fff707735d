// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package toleration

import (
	"testing"
)

func TestMerge_ofACreate(t *testing.T) {
	t.Parallel()
	runMerge(t, []mergeCase{
		{
			name: "new entries stand behind foreign ones, in the claim's order", list: []string{"z Exists", "b=1:NoExecute for 5s"}, claim: want(t, "d=gpu:NoExecute", "c:NoSchedule"),
			want:       []string{"z Exists", "b=1:NoExecute for 5s", "d=gpu:NoExecute", "c:NoSchedule"},
			wantRecord: []string{"d=gpu:NoExecute of me/g2", "c:NoSchedule of me/g2"}, missing: []string{"d=gpu:NoExecute", "c:NoSchedule"},
		},
		{
			name: "an empty list takes the first entry", claim: want(t, "a=1:NoExecute for 60s"),
			want: []string{"a=1:NoExecute for 60s"}, wantRecord: []string{"a=1:NoExecute for 60s of me/g2"}, missing: []string{"a=1:NoExecute for 60s"},
		},
		{name: "ours stays beside a foreign entry that covers it", list: []string{"a=1:NoExecute", "a Exists"}, record: []string{"a=1:NoExecute of me/g2"}, claim: want(t, "a=1:NoExecute")},
		{name: "what a foreign entry covers is not written", list: []string{"a Exists"}, claim: want(t, "a=1:NoExecute", "a:NoSchedule")},
		{name: "what stands there word for word is not written and not ours", list: []string{"a=1:NoExecute for 60s"}, claim: want(t, "a=1:NoExecute for 60s")},
		{name: "what stands there for longer is not written", list: []string{"a=1:NoExecute"}, claim: want(t, "a=1:NoExecute for 60s")},
		{
			name: "a foreign entry that lasts less long does not cover", list: []string{"a=1:NoExecute for 30s"}, claim: want(t, "a=1:NoExecute for 60s"),
			want: []string{"a=1:NoExecute for 30s", "a=1:NoExecute for 60s"}, wantRecord: []string{"a=1:NoExecute for 60s of me/g2"}, missing: []string{"a=1:NoExecute for 60s"},
		},
		{
			name: "another owner's entry covers nothing, since it may go", list: []string{"a Exists"}, record: []string{"a Exists of other/g1"}, claim: want(t, "a=1:NoExecute"),
			want: []string{"a Exists", "a=1:NoExecute"}, wantRecord: []string{"a Exists of other/g1", "a=1:NoExecute of me/g2"}, missing: []string{"a=1:NoExecute"},
		},
		{
			name: "a retiring entry covers nothing, since it will go", list: []string{"a Exists"}, record: []string{"a Exists of other/g1 retiring"}, claim: want(t, "a=1:NoExecute"), live: []string{"a=2:NoExecute"},
			want: []string{"a Exists", "a=1:NoExecute"}, wantRecord: []string{"a Exists of other/g1 retiring", "a=1:NoExecute of me/g2"}, missing: []string{"a=1:NoExecute"},
		},
		{
			name: "an entry of ours covers no other of ours", claim: want(t, "a Exists", "a=1:NoExecute"),
			want: []string{"a Exists", "a=1:NoExecute"}, wantRecord: []string{"a Exists of me/g2", "a=1:NoExecute of me/g2"}, missing: []string{"a Exists", "a=1:NoExecute"},
		},
		{
			name: "another owner's entry is a conflict", list: []string{"a=1:NoExecute"}, record: []string{"a=1:NoExecute of other/g1"}, claim: want(t, "a=1:NoExecute"),
			conflicts: []string{"a=1:NoExecute of other"}, missing: []string{"a=1:NoExecute"},
		},
		{
			name: "another owner's entry with other seconds is a conflict", list: []string{"a=1:NoExecute for 60s"}, record: []string{"a=1:NoExecute for 60s of other/g1"}, claim: want(t, "a=1:NoExecute for 90s"),
			conflicts: []string{"a=1:NoExecute for 90s of other"}, missing: []string{"a=1:NoExecute for 90s"},
		},
		{
			name: "another owner's entry is a conflict even while it is missing", record: []string{"a=1:NoExecute of other/g1"}, claim: want(t, "a=1:NoExecute"),
			conflicts: []string{"a=1:NoExecute of other"}, missing: []string{"a=1:NoExecute"},
		},
		{
			name: "one conflict makes the whole merge void", list: []string{"a=1:NoExecute", "o=1:NoExecute"}, record: []string{"a=1:NoExecute of other/g1", "o=1:NoExecute of me/g2"}, claim: want(t, "b:NoExecute", "a=1:NoExecute"),
			conflicts: []string{"a=1:NoExecute of other"}, missing: []string{"b:NoExecute", "a=1:NoExecute"}, removed: []string{"o=1:NoExecute"},
		},
		{
			name: "a create takes over what an earlier create of the same id has left", list: []string{"a=1:NoExecute", "z Exists"}, record: []string{"a=1:NoExecute of me/g1"}, claim: want(t, "a=1:NoExecute").takingOver(),
			wantRecord: []string{"a=1:NoExecute of me/g2"}, takenOver: []string{"a=1:NoExecute"},
		},
		{
			name: "a take-over goes on where the earlier create stopped", list: []string{"a=1:NoExecute"}, record: []string{"a=1:NoExecute of me/g1"}, claim: want(t, "a=1:NoExecute", "b:NoExecute").takingOver(),
			want: []string{"a=1:NoExecute", "b:NoExecute"}, wantRecord: []string{"a=1:NoExecute of me/g2", "b:NoExecute of me/g2"}, takenOver: []string{"a=1:NoExecute"}, missing: []string{"b:NoExecute"},
		},
		{
			name: "a take-over changes the seconds in their place", list: []string{"a=1:NoExecute for 60s", "z Exists"}, record: []string{"a=1:NoExecute for 60s of me/g1"}, claim: want(t, "a=1:NoExecute").takingOver(),
			want: []string{"a=1:NoExecute", "z Exists"}, wantRecord: []string{"a=1:NoExecute of me/g2"}, takenOver: []string{"a=1:NoExecute"}, missing: []string{"a=1:NoExecute"},
		},
		{
			name: "a create does not take over what it does not want", list: []string{"o=1:NoExecute"}, record: []string{"o=1:NoExecute of me/g1"}, claim: want(t, "a=1:NoExecute").takingOver(),
			want: []string{"o=1:NoExecute", "a=1:NoExecute"}, wantRecord: []string{"o=1:NoExecute of me/g1", "a=1:NoExecute of me/g2"}, missing: []string{"a=1:NoExecute"},
		},
		{
			name: "an update does not take over another generation of its own id", list: []string{"a=1:NoExecute"}, record: []string{"a=1:NoExecute of me/g1"}, claim: want(t, "a=1:NoExecute"),
			conflicts: []string{"a=1:NoExecute of me"}, missing: []string{"a=1:NoExecute"},
		},
	})
}

func TestMerge_ofAnUpdate(t *testing.T) {
	t.Parallel()
	runMerge(t, []mergeCase{
		{name: "nothing to do", list: []string{"z Exists", "a=1:NoExecute"}, record: []string{"a=1:NoExecute of me/g2"}, claim: want(t, "a=1:NoExecute"), live: []string{"a=1:NoExecute"}},
		{
			name: "seconds change in their place", list: []string{"a=1:NoExecute for 60s", "z Exists"}, record: []string{"a=1:NoExecute for 60s of me/g2"}, claim: want(t, "a=1:NoExecute for 90s"),
			want: []string{"a=1:NoExecute for 90s", "z Exists"}, wantRecord: []string{"a=1:NoExecute for 90s of me/g2"}, missing: []string{"a=1:NoExecute for 90s"},
		},
		{
			name: "seconds that are asked for are shortened even under a live taint", list: []string{"a=1:NoExecute"}, record: []string{"a=1:NoExecute of me/g2"}, claim: want(t, "a=1:NoExecute for 5s"), live: []string{"a=1:NoExecute"},
			want: []string{"a=1:NoExecute for 5s"}, wantRecord: []string{"a=1:NoExecute for 5s of me/g2"}, missing: []string{"a=1:NoExecute for 5s"},
		},
		{
			name: "what another writer removed comes back at the end", list: []string{"z Exists"}, record: []string{"a=1:NoExecute of me/g2"}, claim: want(t, "a=1:NoExecute"),
			want: []string{"z Exists", "a=1:NoExecute"}, wantRecord: []string{"a=1:NoExecute of me/g2"}, missing: []string{"a=1:NoExecute"},
		},
		{
			name: "what another writer made shorter is made as it shall be where it stands", list: []string{"a=1:NoExecute for 5s"}, record: []string{"a=1:NoExecute of me/g2"}, claim: want(t, "a=1:NoExecute"),
			want: []string{"a=1:NoExecute"}, wantRecord: []string{"a=1:NoExecute of me/g2"}, missing: []string{"a=1:NoExecute"},
		},
		{
			name: "what another writer replaced by more does not come back, and is no longer ours", list: []string{"a Exists"}, record: []string{"a=1:NoExecute of me/g2"}, claim: want(t, "a=1:NoExecute"),
			wantRecord: []string{},
		},
		{
			name: "the second of two equal entries is ours", list: []string{"a=1:NoExecute", "z Exists", "a=1:NoExecute"}, record: []string{"a=1:NoExecute of me/g2"}, claim: want(t),
			want: []string{"a=1:NoExecute", "z Exists"}, wantRecord: []string{}, removed: []string{"a=1:NoExecute"},
		},
		{name: "an equal entry that another writer adds changes nothing", list: []string{"a=1:NoExecute", "a=1:NoExecute"}, record: []string{"a=1:NoExecute of me/g2"}, claim: want(t, "a=1:NoExecute")},
		{
			name: "seconds change in the second of two equal entries", list: []string{"a=1:NoExecute for 60s", "a=1:NoExecute for 60s"}, record: []string{"a=1:NoExecute for 60s of me/g2"}, claim: want(t, "a=1:NoExecute for 90s"),
			want: []string{"a=1:NoExecute for 60s", "a=1:NoExecute for 90s"}, wantRecord: []string{"a=1:NoExecute for 90s of me/g2"}, missing: []string{"a=1:NoExecute for 90s"},
		},
		{name: "no operator is Equal", list: []string{"a=1:NoExecute"}, record: []string{"a=1:NoExecute of me/g2"}, claim: func() Claim { c := want(t, "a=1:NoExecute"); c.Tolerations[0].Operator = ""; return c }()},
		{
			name: "marks of others are kept", list: []string{"o Exists"}, record: []string{"o Exists of other/g1", "gone Exists of me/g1"}, claim: want(t, "a=1:NoExecute"),
			want: []string{"o Exists", "a=1:NoExecute"}, wantRecord: []string{"o Exists of other/g1", "gone Exists of me/g1", "a=1:NoExecute of me/g2"}, missing: []string{"a=1:NoExecute"},
		},
		{
			name: "a mark without a generation is not adopted", list: []string{"a=1:NoExecute"}, record: []string{"a=1:NoExecute of me/"}, claim: want(t, "a=1:NoExecute").takingOver(),
			conflicts: []string{"a=1:NoExecute of me"}, missing: []string{"a=1:NoExecute"},
		},
	})
}

func TestMerge_retiresWhatPodsNeed(t *testing.T) {
	t.Parallel()
	runMerge(t, []mergeCase{
		{
			name: "an old entry stays while a live taint needs it alone", list: []string{"a=1:NoExecute", "z Exists"}, record: []string{"a=1:NoExecute of me/g2"}, claim: want(t, "a=2:NoExecute"), live: []string{"a=1:NoExecute"},
			want: []string{"a=1:NoExecute", "z Exists", "a=2:NoExecute"}, wantRecord: []string{"a=1:NoExecute of me/g2 retiring", "a=2:NoExecute of me/g2"}, missing: []string{"a=2:NoExecute"}, retired: []string{"a=1:NoExecute"},
		},
		{
			name: "an old entry goes at once where no live taint needs it", list: []string{"a=1:NoExecute", "z Exists"}, record: []string{"a=1:NoExecute of me/g2"}, claim: want(t, "a=2:NoExecute"), live: []string{"b:NoExecute"},
			want: []string{"z Exists", "a=2:NoExecute"}, wantRecord: []string{"a=2:NoExecute of me/g2"}, missing: []string{"a=2:NoExecute"}, removed: []string{"a=1:NoExecute"},
		},
		{
			name: "NoSchedule needs its toleration too", list: []string{"a=1:NoSchedule"}, record: []string{"a=1:NoSchedule of me/g2"}, claim: want(t), live: []string{"a=1:NoSchedule"},
			wantRecord: []string{"a=1:NoSchedule of me/g2 retiring"}, retired: []string{"a=1:NoSchedule"},
		},
		{
			name: "PreferNoSchedule needs none", list: []string{"a=1:PreferNoSchedule"}, record: []string{"a=1:PreferNoSchedule of me/g2"}, claim: want(t), live: []string{"a=1:PreferNoSchedule"},
			want: []string{}, wantRecord: []string{}, removed: []string{"a=1:PreferNoSchedule"},
		},
		{
			name: "a foreign entry that does the same makes it unneeded", list: []string{"a=1:NoExecute", "a Exists"}, record: []string{"a=1:NoExecute of me/g2"}, claim: want(t), live: []string{"a=1:NoExecute"},
			want: []string{"a Exists"}, wantRecord: []string{}, removed: []string{"a=1:NoExecute"},
		},
		{
			name: "a wanted entry that does the same makes it unneeded", list: []string{"a Exists"}, record: []string{"a Exists of me/g2"}, claim: want(t, "a=1:NoExecute"), live: []string{"a=1:NoExecute"},
			want: []string{"a=1:NoExecute"}, wantRecord: []string{"a=1:NoExecute of me/g2"}, missing: []string{"a=1:NoExecute"}, removed: []string{"a Exists"},
		},
		{
			name: "an entry that lasts less long does not", list: []string{"a Exists"}, record: []string{"a Exists of me/g2"}, claim: want(t, "a=1:NoExecute for 60s"), live: []string{"a=1:NoExecute"},
			want: []string{"a Exists", "a=1:NoExecute for 60s"}, wantRecord: []string{"a Exists of me/g2 retiring", "a=1:NoExecute for 60s of me/g2"}, missing: []string{"a=1:NoExecute for 60s"}, retired: []string{"a Exists"},
		},
		{
			name: "an old entry that an earlier one keeps from deciding is not needed", list: []string{"a=1:NoExecute for 60s", "a Exists"}, record: []string{"a Exists of me/g2"}, claim: want(t), live: []string{"a=1:NoExecute"},
			want: []string{"a=1:NoExecute for 60s"}, wantRecord: []string{}, removed: []string{"a Exists"},
		},
		{
			name: "an entry is needed where one behind it that stays for another taint lasts less long", claim: want(t), live: []string{"a:NoExecute", "b:NoExecute"},
			list: []string{"a Exists:NoExecute for 60s", "Exists:NoExecute for 30s", "a Exists"}, record: []string{"a Exists:NoExecute for 60s of me/g2", "Exists:NoExecute for 30s of me/g2"},
			wantRecord: []string{"a Exists:NoExecute for 60s of me/g2 retiring", "Exists:NoExecute for 30s of me/g2 retiring"}, retired: []string{"a Exists:NoExecute for 60s", "Exists:NoExecute for 30s"},
		},
		{
			name: "two that go together make room for one that lasts longer", claim: want(t), live: []string{"a:NoExecute"},
			list: []string{"a Exists:NoExecute for 60s", "Exists:NoExecute for 30s", "a Exists"}, record: []string{"a Exists:NoExecute for 60s of me/g2", "Exists:NoExecute for 30s of me/g2"},
			want: []string{"a Exists"}, wantRecord: []string{}, removed: []string{"a Exists:NoExecute for 60s", "Exists:NoExecute for 30s"},
		},
		{
			name: "of two that do the same the first one stays", claim: want(t), live: []string{"a=1:NoExecute"},
			list: []string{"a Exists", "a=1:NoExecute"}, record: []string{"a Exists of me/g2", "a=1:NoExecute of me/g2"},
			want: []string{"a Exists"}, wantRecord: []string{"a Exists of me/g2 retiring"}, retired: []string{"a Exists"}, removed: []string{"a=1:NoExecute"},
		},
		{name: "a retiring entry stays while it is needed", list: []string{"a=1:NoExecute"}, record: []string{"a=1:NoExecute of me/g2 retiring"}, claim: want(t), live: []string{"a=1:NoExecute"}, retired: []string{"a=1:NoExecute"}},
		{
			name: "a retiring entry of a resource that is known goes with the taint that it is for", list: []string{"a=1:NoExecute", "z Exists"}, record: []string{"a=1:NoExecute of other/g1 retiring"}, claim: Claim{}.naming("a", "NoExecute"), live: []string{"b:NoExecute"},
			want: []string{"z Exists"}, wantRecord: []string{}, removed: []string{"a=1:NoExecute"},
		},
		{
			name: "a retiring entry for all effects goes with a taint of its key", list: []string{"a Exists", "z Exists"}, record: []string{"a Exists of other/g1 retiring"}, claim: Claim{}.naming("a", "NoExecute"), live: []string{"b:NoExecute"},
			want: []string{"z Exists"}, wantRecord: []string{}, removed: []string{"a Exists"},
		},
		{
			name: "a retiring entry of others stays where a taint of another key is named", list: []string{"a=1:NoExecute"}, record: []string{"a=1:NoExecute of other/g1 retiring"}, claim: Claim{}.naming("b", "NoExecute"), live: []string{"b:NoExecute"},
		},
		{
			name: "a retiring entry of others stays where a taint of another effect is named", list: []string{"a=1:NoExecute"}, record: []string{"a=1:NoExecute of other/g1 retiring"}, claim: Claim{}.naming("a", "NoSchedule"), live: []string{"b:NoExecute"},
		},
		{
			name: "a retiring entry of others that tolerates everything stays", list: []string{"Exists"}, record: []string{"Exists of other/g1 retiring"}, claim: Claim{}.naming("a", "NoExecute"), live: []string{},
		},
		{
			name: "a retiring entry of others stays with a change of the same list", list: []string{"a=1:NoExecute"}, record: []string{"a=1:NoExecute of other/g1 retiring"}, claim: want(t, "b"), live: []string{},
			want: []string{"a=1:NoExecute", "b"}, wantRecord: []string{"a=1:NoExecute of other/g1 retiring", "b of me/g2"}, missing: []string{"b"},
		},
		{
			name: "the claim without an owner owns nothing", list: []string{"a=1:NoExecute", "b:NoExecute"}, record: []string{"a=1:NoExecute of other/g1", "b:NoExecute of /"}, claim: Claim{},
		},
		{
			name: "a retiring entry that another writer removed loses its mark", list: []string{"z Exists"}, record: []string{"a=1:NoExecute of other/g1 retiring"}, claim: Claim{}.naming("a", "NoExecute"), live: []string{"a=1:NoExecute"},
			wantRecord: []string{},
		},
		{
			name: "a retiring entry that is wanted again is ours again", list: []string{"a=1:NoExecute"}, record: []string{"a=1:NoExecute of me/g2 retiring"}, claim: want(t, "a=1:NoExecute"), live: []string{"a=1:NoExecute"},
			wantRecord: []string{"a=1:NoExecute of me/g2"},
		},
		{
			name: "a retiring entry of another owner is no conflict, and nothing that was left by a killed create", list: []string{"a=1:NoExecute"}, record: []string{"a=1:NoExecute of other/g1 retiring"}, claim: want(t, "a=1:NoExecute"), live: []string{"a=1:NoExecute"},
			wantRecord: []string{"a=1:NoExecute of me/g2"},
		},
		{
			name: "a retiring entry of an earlier create is taken up in silence", list: []string{"a=1:NoExecute"}, record: []string{"a=1:NoExecute of me/g1 retiring"}, claim: want(t, "a=1:NoExecute").takingOver(), live: []string{"a=1:NoExecute"},
			wantRecord: []string{"a=1:NoExecute of me/g2"},
		},
		{
			name: "a retiring entry is taken up with other seconds in its place", list: []string{"a=1:NoExecute for 60s", "z Exists"}, record: []string{"a=1:NoExecute for 60s of other/g1 retiring"}, claim: want(t, "a=1:NoExecute"), live: []string{"a=1:NoExecute"},
			want: []string{"a=1:NoExecute", "z Exists"}, wantRecord: []string{"a=1:NoExecute of me/g2"}, missing: []string{"a=1:NoExecute"},
		},
		{
			name: "without live taints everything unwanted goes at once", list: []string{"a=1:NoExecute", "b Exists", "z Exists"}, record: []string{"a=1:NoExecute of me/g2", "b Exists of other/g1 retiring"}, claim: want(t).naming("b", "NoExecute"),
			want: []string{"z Exists"}, wantRecord: []string{}, removed: []string{"a=1:NoExecute", "b Exists"},
		},
		{
			name: "what others own stays though no live taint needs it", list: []string{"a=1:NoExecute"}, record: []string{"a=1:NoExecute of other/g1"}, claim: want(t).releasing(), live: []string{"b:NoExecute"},
		},
	})
}

func TestMerge_ofARelease(t *testing.T) {
	t.Parallel()
	release := want(t, "a=1:NoExecute").releasing()
	runMerge(t, []mergeCase{
		{
			name: "everything of ours goes without live taints, wanted or not", list: []string{"z Exists", "a=1:NoExecute", "b Exists", "y Exists"}, record: []string{"a=1:NoExecute of me/g2", "b Exists of me/g2"}, claim: release,
			want: []string{"z Exists", "y Exists"}, wantRecord: []string{}, removed: []string{"a=1:NoExecute", "b Exists"},
		},
		{
			name: "what a live taint needs retires", list: []string{"a=1:NoExecute"}, record: []string{"a=1:NoExecute of me/g2"}, claim: release, live: []string{"a=1:NoExecute"},
			wantRecord: []string{"a=1:NoExecute of me/g2 retiring"}, retired: []string{"a=1:NoExecute"},
		},
		{name: "unmarked entries that were not imported stay", list: []string{"a=1:NoExecute"}, claim: release},
		{name: "entries of another generation stay, even in a create that is undone", list: []string{"a=1:NoExecute"}, record: []string{"a=1:NoExecute of me/g3"}, claim: release.takingOver()},
		{name: "a mark whose entry another writer removed goes", record: []string{"a=1:NoExecute of me/g2"}, claim: release, wantRecord: []string{}},
		{name: "a second release does nothing", list: []string{"z Exists"}, claim: release},
	})
}

func TestMerge_ofSeveralPathsOnOneObject(t *testing.T) {
	t.Parallel()
	runMerge(t, []mergeCase{
		{
			name: "the same entry at another path is another entry", list: []string{"z Exists"}, record: []string{"a=1:NoExecute of other/g1", "a=1:NoExecute of other/g1 at spec.other.tolerations"}, claim: want(t, "a=1:NoExecute").along("spec.mine.tolerations"),
			want:       []string{"z Exists", "a=1:NoExecute"},
			wantRecord: []string{"a=1:NoExecute of other/g1", "a=1:NoExecute of other/g1 at spec.other.tolerations", "a=1:NoExecute of me/g2 at spec.mine.tolerations"}, missing: []string{"a=1:NoExecute"},
		},
		{
			name: "a release gives up one path", list: []string{"a=1:NoExecute"}, record: []string{"a=1:NoExecute of me/g2", "a=1:NoExecute of me/g2 at spec.mine.tolerations"}, claim: want(t).along("spec.mine.tolerations").releasing(),
			want: []string{}, wantRecord: []string{"a=1:NoExecute of me/g2"}, removed: []string{"a=1:NoExecute"},
		},
		{name: "retiring entries at another path stay as they are", list: []string{"a=1:NoExecute"}, record: []string{"a=1:NoExecute of me/g2 at spec.mine.tolerations retiring"}, claim: want(t)},
		{name: "an entry that is ours at another path is not ours here", list: []string{"a=1:NoExecute"}, record: []string{"a=1:NoExecute of me/g2 at spec.mine.tolerations"}, claim: want(t).releasing()},
		{
			name: "an import at one path does not quiet a change of marks at another", list: []string{"a=1:NoExecute"}, record: []string{"a=1:NoExecute of other/g1 retiring", "a=1:NoExecute of other/g1 at spec.mine.tolerations retiring"}, claim: want(t, "a=1:NoExecute").importing(t, "a=1:NoExecute", ""),
			wantRecord: []string{"a=1:NoExecute of me/g2", "a=1:NoExecute of other/g1 at spec.mine.tolerations retiring"},
		},
	})
}

func TestMerge_withoutChangeReturnsTheVerySameRecord(t *testing.T) {
	t.Parallel()
	list, record := tols(t, "b Exists", "a=1:NoExecute"), marks(t, "b Exists of me/g2", "a=1:NoExecute of me/g2")
	got := Merge(list, record, want(t, "a=1:NoExecute", "b Exists"), nil, false)
	if got.Changed || &got.Record[0] != &record[0] || &got.Tolerations[0] != &list[0] {
		t.Error("a merge without a change must return what it was given")
	}
}

func TestMerge_heedsTheGateOfComparisons(t *testing.T) {
	t.Parallel()
	list, record, live := tols(t, "a<5:NoExecute"), marks(t, "a<5:NoExecute of me/g2"), taints(t, "a=3:NoExecute")
	if got := Merge(list, record, want(t), live, true); len(got.Retired) != 1 || got.Template {
		t.Errorf("where the gate is on, the live taint needs the entry: %+v", got)
	}
	if got := Merge(list, record, want(t), live, false); len(got.Removed) != 1 {
		t.Errorf("where the gate is off, the entry matches nothing: %+v", got)
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
		{name: "its own generation", claim: want(t), mark: "a:NoExecute of me/g2", owns: true},
		{name: "its own generation under an older id", claim: want(t), mark: "a:NoExecute of formerly/g2", owns: true},
		{name: "its own generation at another path", claim: want(t), mark: "a:NoExecute of me/g2 at spec.tolerations"},
		{name: "another generation of the same id", claim: want(t), mark: "a:NoExecute of me/g1"},
		{name: "another generation of the same id in a create that wants the entry", claim: want(t, "a:NoExecute").takingOver(), mark: "a:NoExecute of me/g1", owns: true},
		{name: "another generation of the same id in a create that wants it with other seconds", claim: want(t, "a:NoExecute for 5s").takingOver(), mark: "a:NoExecute of me/g1", owns: true},
		{name: "another generation of the same id in a create that wants other entries", claim: want(t, "b:NoExecute").takingOver(), mark: "a:NoExecute of me/g1"},
		{name: "another id in a create", claim: want(t, "a:NoExecute").takingOver(), mark: "a:NoExecute of other/g1"},
		{name: "an imported mark", claim: want(t).importing(t, "a:NoExecute", "", "g1"), mark: "a:NoExecute of me/g1", owns: true},
		{name: "another entry with an imported generation", claim: want(t).importing(t, "b:NoExecute", "g1"), mark: "a:NoExecute of me/g1"},
		{name: "an entry that was unmarked when it was imported", claim: want(t).importing(t, "a:NoExecute", ""), mark: "a:NoExecute of other/g1"},
		{name: "an entry without a mark that a release gives up", claim: want(t).importing(t, "a:NoExecute", "").releasing(), mark: "a:NoExecute of other/g1"},
		{name: "the claim without an owner and a mark without a generation", claim: Claim{}, mark: "a:NoExecute of me/"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := tt.claim.Owns(append(marks(t, "z:NoExecute of other/g0"), mark(t, tt.mark))); got != tt.owns {
				t.Errorf("owns %t, want %t", got, tt.owns)
			}
		})
	}
}
