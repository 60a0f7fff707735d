// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package taint

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestParseRecord(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, in string
		want     []string
		wrong    bool
	}{
		{name: "no annotation is an empty record"},
		{name: "an empty list is an empty record", in: "[]"},
		{name: "a mark", in: `[{"key":"a","effect":"NoExecute","owner":"me","generation":"g2"}]`, want: []string{"a:NoExecute me/g2"}},
		{name: "an absent mark with an empty previous value", in: `[{"key":"a","effect":"NoExecute","owner":"me","generation":"g2","absent":true,"previous":""}]`, want: []string{"a:NoExecute me/g2 absent was="}},
		{name: "fields of a later release are passed over", in: `[{"key":"a","effect":"NoExecute","owner":"me","generation":"g2","later":1}]`, want: []string{"a:NoExecute me/g2"}},
		{name: "text that is no list is an error", in: `owned by me`, wrong: true},
		{name: "half a list is an error", in: `[{"key":"a"`, wrong: true},
		{name: "a text that does not print as it is written is an error", in: `[{"key":"a","effect":"NoExecute","owner":"\u001b[2K","generation":"g2"}]`, wrong: true},
		{name: "an object is an error", in: `{"key":"a"}`, wrong: true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := ParseRecord(tt.in)
			if tt.wrong {
				if err == nil || !strings.Contains(err.Error(), OwnedAnnotation) {
					t.Fatalf("got error %v, want one that names the annotation", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			equal(t, "record", tt.want, writeMarks(got))
		})
	}
}

func TestRecord_isWrittenSortedAndReadBack(t *testing.T) {
	t.Parallel()
	if got := (Record{}).String(); got != "" {
		t.Errorf("an empty record is %q: it must mean no annotation", got)
	}
	a := marks(t, "b:NoExecute me/g2", "a:NoSchedule me/g2 was=1", "a:NoExecute other/g1 absent was=")
	b := Record{a[2], a[0], a[1]}
	if a.String() != b.String() {
		t.Errorf("equal records are different strings:\n%s\n%s", a, b)
	}
	const text = `[{"key":"a","effect":"NoExecute","owner":"other","generation":"g1","absent":true,"previous":""},` +
		`{"owner":"me","generation":"g2","entries":[{"effect":"NoSchedule","key":"a","previous":"1"},{"effect":"NoExecute","key":"b"}]}]`
	if diff := cmp.Diff(text, a.String()); diff != "" {
		t.Errorf("the annotation's format is read by other releases: %s", diff)
	}
	if a[0].Key != "b" {
		t.Error("writing a record must not sort it in place")
	}
}

func TestRecord_of(t *testing.T) {
	t.Parallel()
	r := marks(t, "a:NoExecute me/g2", "a:NoSchedule other/g1")
	if m, ok := r.Of(ID{"a", "NoSchedule"}); !ok || m.Owner != "other" {
		t.Errorf("got %+v, %t", m, ok)
	}
	if _, ok := r.Of(ID{"b", "NoSchedule"}); ok {
		t.Error("found a mark that is not there")
	}
}

func TestRecord_readsBackAsItWasWritten(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		r := aRecord(t)
		again, err := ParseRecord(r.String())
		if err != nil {
			t.Fatal(err)
		}
		if again.String() != r.String() || len(again) != len(r) {
			t.Fatalf("%v reads back as %v", r, again)
		}
	})
}
