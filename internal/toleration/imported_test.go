// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package toleration

import (
	"testing"
)

func TestMerge_ofImportedEntries(t *testing.T) {
	t.Parallel()
	imported := want(t, "a=1:NoExecute").importing(t, "a=1:NoExecute", "")
	givenUp := want(t, "a=1:NoExecute").importing(t, "a=1:NoExecute", "g1")
	with := func(c Claim, notations ...string) Claim { c.Tolerations = tols(t, notations...); return c }
	runMerge(t, []mergeCase{
		{name: "unmarked and as wanted: kept without a write", list: []string{"a=1:NoExecute"}, claim: imported},
		{name: "unmarked and as wanted: kept beside a later one with other seconds", list: []string{"a=1:NoExecute", "a=1:NoExecute for 60s"}, claim: imported},
		{
			name: "unmarked: the mark comes with the next write", list: []string{"a=1:NoExecute"}, claim: with(imported, "a=1:NoExecute", "b:NoExecute"),
			want: []string{"a=1:NoExecute", "b:NoExecute"}, wantRecord: []string{"a=1:NoExecute of me/g2", "b:NoExecute of me/g2"}, missing: []string{"b:NoExecute"},
		},
		{
			name: "unmarked with fewer seconds: changed in its place and marked", list: []string{"a=1:NoExecute for 60s", "z Exists"}, claim: imported,
			want: []string{"a=1:NoExecute", "z Exists"}, wantRecord: []string{"a=1:NoExecute of me/g2"}, missing: []string{"a=1:NoExecute"},
		},
		{
			name: "unmarked with more seconds: changed in its place and marked", list: []string{"a=1:NoExecute", "z Exists"}, claim: with(imported, "a=1:NoExecute for 60s"),
			want: []string{"a=1:NoExecute for 60s", "z Exists"}, wantRecord: []string{"a=1:NoExecute for 60s of me/g2"}, missing: []string{"a=1:NoExecute for 60s"},
		},
		{name: "unmarked and not wanted: foreign, and covers what is wanted instead", list: []string{"a Exists"}, claim: want(t, "a=1:NoExecute").importing(t, "a Exists", "")},
		{name: "unmarked and not wanted: left alone", list: []string{"a=1:NoExecute"}, claim: with(imported)},
		{
			name: "unmarked and released: removed", list: []string{"a=1:NoExecute", "z Exists"}, claim: imported.releasing(),
			want: []string{"z Exists"}, wantRecord: []string{}, removed: []string{"a=1:NoExecute"},
		},
		{
			name: "unmarked and released while a live taint needs it: retires, with a mark by which it will go", list: []string{"a=1:NoExecute", "z Exists"}, claim: imported.releasing(), live: []string{"a=1:NoExecute"},
			wantRecord: []string{"a=1:NoExecute of me/g2 retiring"}, retired: []string{"a=1:NoExecute"},
		},
		{
			name: "unmarked and released: of several that differ in seconds the one in the state goes", list: []string{"a=1:NoExecute for 60s", "a=1:NoExecute", "a=1:NoExecute for 90s"}, claim: imported.releasing(),
			want: []string{"a=1:NoExecute for 60s", "a=1:NoExecute for 90s"}, wantRecord: []string{}, removed: []string{"a=1:NoExecute"},
		},
		{name: "unmarked and released: with other seconds than the state holds it is another owner's", list: []string{"a=1:NoExecute for 60s"}, claim: imported.releasing()},
		{
			name: "unmarked and released: where the state is not told, it goes whatever its seconds", list: []string{"a=1:NoExecute for 60s", "z Exists", "a=1:NoExecute"}, claim: with(imported).releasing(),
			want: []string{"z Exists"}, wantRecord: []string{}, removed: []string{"a=1:NoExecute", "a=1:NoExecute for 60s"},
		},
		{
			name: "unmarked and released: all that are the same go, so that a second release finds none", list: []string{"a=1:NoExecute", "z Exists", "a=1:NoExecute"}, claim: imported.releasing(),
			want: []string{"z Exists"}, wantRecord: []string{}, removed: []string{"a=1:NoExecute", "a=1:NoExecute"},
		},
		{
			name: "unmarked and released: of several that are the same the first one retires", list: []string{"a=1:NoExecute", "z Exists", "a=1:NoExecute"}, claim: imported.releasing(), live: []string{"a=1:NoExecute"},
			want: []string{"a=1:NoExecute", "z Exists"}, wantRecord: []string{"a=1:NoExecute of me/g2 retiring"}, retired: []string{"a=1:NoExecute"}, removed: []string{"a=1:NoExecute"},
		},
		{
			name: "unmarked and released: removed with the retained entry of its identity, once that is needed no more", list: []string{"a=1:NoExecute", "a Exists:NoExecute for 60s", "a=1", "a=1:NoExecute for 5s"}, record: []string{"a=1:NoExecute of other/g7 retiring"}, claim: with(imported).importing(t, "a Exists:NoExecute", "").releasing().naming("a", "NoExecute"), live: []string{"a=1:NoExecute"},
			want: []string{"a=1"}, wantRecord: []string{}, removed: []string{"a=1:NoExecute", "a Exists:NoExecute for 60s", "a=1:NoExecute for 5s"},
		},
		{
			name: "unmarked and removed by another writer: put back and marked", claim: imported,
			want: []string{"a=1:NoExecute"}, wantRecord: []string{"a=1:NoExecute of me/g2"}, missing: []string{"a=1:NoExecute"},
		},
		{
			name: "unmarked: it covers no other that is wanted, whichever is named first", list: []string{"a Exists"}, claim: with(want(t).importing(t, "a Exists", ""), "a=1:NoExecute", "a Exists"),
			want: []string{"a Exists", "a=1:NoExecute"}, wantRecord: []string{"a Exists of me/g2", "a=1:NoExecute of me/g2"}, missing: []string{"a=1:NoExecute"},
		},
		{name: "unmarked and replaced by more: left to its writer", list: []string{"a Exists"}, claim: imported},
		{name: "with the mark of a given-up create: kept without a write", list: []string{"a=1:NoExecute"}, record: []string{"a=1:NoExecute of me/g1"}, claim: givenUp},
		{
			name: "with the mark of a given-up create: the mark changes with the next write", list: []string{"a=1:NoExecute"}, record: []string{"a=1:NoExecute of me/g1"}, claim: with(givenUp, "a=1:NoExecute", "b:NoExecute"),
			want: []string{"a=1:NoExecute", "b:NoExecute"}, wantRecord: []string{"a=1:NoExecute of me/g2", "b:NoExecute of me/g2"}, missing: []string{"b:NoExecute"},
		},
		{
			name: "with the mark of a given-up create and other seconds: changed in its place", list: []string{"a=1:NoExecute for 60s", "z Exists"}, record: []string{"a=1:NoExecute for 60s of me/g1"}, claim: givenUp,
			want: []string{"a=1:NoExecute", "z Exists"}, wantRecord: []string{"a=1:NoExecute of me/g2"}, missing: []string{"a=1:NoExecute"},
		},
		{
			name: "with the mark of a given-up create and not wanted: removed", list: []string{"a=1:NoExecute"}, record: []string{"a=1:NoExecute of me/g1"}, claim: with(givenUp),
			want: []string{}, wantRecord: []string{}, removed: []string{"a=1:NoExecute"},
		},
		{
			name: "with the mark of a given-up create and not wanted while a live taint needs it: retires as what is found again", list: []string{"a=1:NoExecute"}, record: []string{"a=1:NoExecute of other/g1"}, claim: with(givenUp), live: []string{"a=1:NoExecute"},
			wantRecord: []string{"a=1:NoExecute of me/g2 retiring"}, retired: []string{"a=1:NoExecute"},
		},
		{
			name: "with the mark of a given-up create, not wanted, and removed by another writer: the mark goes", record: []string{"a=1:NoExecute of me/g1"}, claim: with(givenUp),
			wantRecord: []string{},
		},
		{
			name: "with the mark of a given-up create and released: removed", list: []string{"a=1:NoExecute"}, record: []string{"a=1:NoExecute of me/g1"}, claim: givenUp.releasing(),
			want: []string{}, wantRecord: []string{}, removed: []string{"a=1:NoExecute"},
		},
		{
			name: "retiring: marked anew at once, or the next to come by would take it away", list: []string{"a=1:NoExecute"}, record: []string{"a=1:NoExecute of me/g1 retiring"}, claim: givenUp, live: []string{"a=1:NoExecute"},
			wantRecord: []string{"a=1:NoExecute of me/g2"},
		},
		{
			name: "with the mark of yet another generation: a conflict", list: []string{"a=1:NoExecute"}, record: []string{"a=1:NoExecute of other/g7"}, claim: givenUp,
			conflicts: []string{"a=1:NoExecute of other"}, missing: []string{"a=1:NoExecute"},
		},
		{
			name: "with a mark that has gone since: foreign, as any entry without a mark", list: []string{"a=1:NoExecute"}, claim: with(givenUp, "a=1:NoExecute", "b:NoExecute"),
			want: []string{"a=1:NoExecute", "b:NoExecute"}, wantRecord: []string{"b:NoExecute of me/g2"}, missing: []string{"b:NoExecute"},
		},
		{name: "with a mark that has gone since and released: left alone", list: []string{"a=1:NoExecute"}, claim: givenUp.releasing()},
	})
}
