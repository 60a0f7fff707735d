// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package taint

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// mergeCase is one merge, written in kubectl's notation. Marks are written as
// "key:Effect owner/generation", followed by "absent" and "was=VALUE".
type mergeCase struct {
	name    string
	current []string
	record  []string
	claim   Claim

	// want and wantRecord are the list and the record afterwards; where both
	// are nil, the merge must change nothing.
	want       []string
	wantRecord []string
	conflicts  []string
	takenOver  []string
	deviations []string
}

func runMerge(t *testing.T, tests []mergeCase) {
	t.Helper()
	for _, tt := range tests {
		t.Run(tt.name, tt.run)
	}
}

func (tt *mergeCase) run(t *testing.T) {
	t.Parallel()
	current, record := list(t, tt.current...), marks(t, tt.record...)
	before, recordBefore := slices.Clone(current), slices.Clone(record)
	got := Merge(current, record, tt.claim)

	unchanged := tt.want == nil && tt.wantRecord == nil
	if got.Changed == unchanged {
		t.Errorf("changed %t, want %t", got.Changed, !unchanged)
	}
	want, wantRecord := tt.want, tt.wantRecord
	if unchanged {
		want, wantRecord = tt.current, tt.record
	}
	equal(t, "taints", want, notations(got))
	equal(t, "record", wantRecord, writeMarks(got.Record))
	equal(t, "conflicts", tt.conflicts, writeConflicts(got.Conflicts))
	equal(t, "taken over", tt.takenOver, writeIDs(got.TakenOver))
	equal(t, "deviations", tt.deviations, writeDeviations(got.Deviations))
	if diff := cmp.Diff(before, current) + cmp.Diff(recordBefore, record); diff != "" {
		t.Errorf("the merge wrote into its input: %s", diff)
	}
}

func equal(t *testing.T, what string, want, got []string) {
	t.Helper()
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("%s: %s", what, diff)
	}
}

func mark(t *testing.T, notation string) Mark {
	t.Helper()
	parts := strings.Fields(notation)
	id, owner := must(t, parts[0]), strings.SplitN(parts[1], "/", 2)
	m := Mark{Key: id.Key, Effect: id.Effect, Owner: owner[0], Generation: owner[1]}
	for _, p := range parts[2:] {
		if p == "absent" {
			m.Absent = true
		} else {
			value := strings.TrimPrefix(p, "was=")
			m.Previous = &value
		}
	}
	return m
}

func marks(t *testing.T, notations ...string) Record {
	t.Helper()
	var out Record
	for _, n := range notations {
		out = append(out, mark(t, n))
	}
	return out
}

func writeMarks(r Record) []string {
	var out []string
	for _, m := range r {
		s := fmt.Sprintf("%s %s/%s", m.ID(), m.Owner, m.Generation)
		if m.Absent {
			s += " absent"
		}
		if m.Previous != nil {
			s += " was=" + *m.Previous
		}
		out = append(out, s)
	}
	slices.Sort(out)
	return out
}

func notations(m Merged) []string {
	var out []string
	for _, x := range m.Taints {
		out = append(out, Format(x))
	}
	return out
}

func writeConflicts(conflicts []Conflict) []string {
	var out []string
	for _, c := range conflicts {
		out = append(out, fmt.Sprintf("%s=%s of %q", c.ID, c.Value, c.Owner))
	}
	return out
}

func writeIDs(all []ID) []string {
	var out []string
	for _, id := range all {
		out = append(out, id.String())
	}
	return out
}

func writeDeviations(deviations map[ID]Status) []string {
	var out []string
	for id, status := range deviations {
		out = append(out, id.String()+" "+string(status))
	}
	slices.Sort(out)
	return out
}
