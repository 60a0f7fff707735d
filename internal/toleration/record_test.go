// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package toleration

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
		{name: "a mark", in: `[{"key":"a","operator":"Equal","value":"1","effect":"NoExecute","owner":"me","generation":"g2"}]`, want: []string{"a=1:NoExecute of me/g2"}},
		{name: "a mark of everything", in: `[{"operator":"Exists","owner":"me","generation":"g2"}]`, want: []string{"Exists of me/g2"}},
		{name: "seconds, also none", in: `[{"key":"a","operator":"Exists","effect":"NoExecute","seconds":0,"owner":"me","generation":"g2"}]`, want: []string{"a Exists:NoExecute for 0s of me/g2"}},
		{name: "a retiring mark at a path", in: `[{"key":"a","operator":"Exists","path":"spec.tolerations","owner":"me","generation":"g2","retiring":true}]`, want: []string{"a Exists of me/g2 at spec.tolerations retiring"}},
		{name: "fields of a later release are passed over", in: `[{"key":"a","operator":"Exists","owner":"me","generation":"g2","later":1}]`, want: []string{"a Exists of me/g2"}},
		{name: "text that is no list is an error", in: `owned by me`, wrong: true},
		{name: "half a list is an error", in: `[{"key":"a"`, wrong: true},
		{name: "a text that does not print as it is written is an error", in: `[{"key":"a","operator":"Exists","owner":"\u001b[2K","generation":"g2"}]`, wrong: true},
		{name: "an object is an error", in: `{"key":"a"}`, wrong: true},
		{name: "seconds that are no whole number are an error", in: `[{"key":"a","operator":"Exists","seconds":1.5}]`, wrong: true},
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
	a := marks(t, "b Exists of me/g2 at spec.tolerations", "b:NoSchedule of me/g2 retiring", "a=1:NoExecute for 0s of other/g1", "a<5:NoExecute of other/g1")
	b := Record{a[3], a[0], a[2], a[1]}
	if a.String() != b.String() {
		t.Errorf("equal records are different strings:\n%s\n%s", a, b)
	}
	const text = `[{"owner":"other","generation":"g1","entries":[{"effect":"NoExecute","key":"a","operator":"Equal","seconds":0,"value":"1"},` +
		`{"effect":"NoExecute","key":"a","operator":"Lt","value":"5"}]},` +
		`{"owner":"me","generation":"g2","entries":[{"effect":"NoSchedule","key":"b","operator":"Equal","retiring":true},` +
		`{"key":"b","operator":"Exists","path":"spec.tolerations"}]}]`
	if diff := cmp.Diff(text, a.String()); diff != "" {
		t.Errorf("the annotation's format is read by other releases: %s", diff)
	}
	if a[0].Path == "" {
		t.Error("writing a record must not sort it in place")
	}
}

func TestRecord_retiring(t *testing.T) {
	t.Parallel()
	if Retiring(marks(t, "a Exists of me/g2")) || !Retiring(marks(t, "a Exists of me/g2", "b Exists of me/g2 retiring")) || Retiring(nil) {
		t.Error("a record retires where one of its marks does")
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
		if again.String() != r.String() || rapid.Permutation(r).Draw(t, "order").String() != r.String() {
			t.Fatalf("%v reads back as %v", r, again)
		}
		if diff := cmp.Diff(writeMarks(r), writeMarks(again)); diff != "" {
			t.Fatal(diff)
		}
	})
}

// FuzzParseRecord holds that whatever can be read is written in one form, which
// reads as the same.
func FuzzParseRecord(f *testing.F) {
	f.Add("")
	f.Add("null")
	f.Add("[null]")
	f.Add(`[{"key":"a","operator":"Equal","value":"1","effect":"NoExecute","seconds":60,"owner":"me","generation":"g2"},{"operator":"Exists","path":"spec.tolerations","owner":"\ufffd","generation":"g1","retiring":true}]`)
	f.Add(`[{"operator":"","owner":"b"},{"operator":"Equal","owner":"a"}]`)
	f.Fuzz(func(t *testing.T, text string) {
		r, err := ParseRecord(text)
		if err != nil {
			return
		}
		again, err := ParseRecord(r.String())
		if err != nil {
			t.Fatalf("%q is written as %s, which cannot be read: %v", text, r, err)
		}
		if again.String() != r.String() || len(again) != len(r) {
			t.Fatalf("%q is written as %s and then as %s", text, r, again)
		}
	})
}

func FuzzID_UnmarshalText(f *testing.F) {
	f.Add(`["a","Exists","","NoExecute"]`)
	f.Add(`["a"]`)
	f.Fuzz(func(t *testing.T, text string) {
		var id, again ID
		if id.UnmarshalText([]byte(text)) != nil {
			return
		}
		written, err := id.MarshalText()
		if err == nil {
			err = again.UnmarshalText(written)
		}
		if err != nil || again != id {
			t.Fatalf("%q is written as %s (%v)", text, written, err)
		}
	})
}
