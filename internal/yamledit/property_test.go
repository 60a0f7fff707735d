// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package yamledit

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// written draws a text as a user may have written it by hand: components in any style, with comments
// and blank lines anywhere.
func written(t *rapid.T) string {
	var b strings.Builder
	noise := func(indent int, label string) {
		for range rapid.IntRange(0, 2).Draw(t, label) {
			b.WriteString(rapid.SampledFrom([]string{"\n", strings.Repeat(" ", indent) + "# " + label + ": {x\n"}).Draw(t, label))
		}
	}
	noise(0, "head")
	for _, name := range rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"alpha", "beta", "gamma", "delta"}), 0, 4, rapid.ID).Draw(t, "components") {
		list := rapid.SampledFrom([]string{"", "block", "outdented", "flow", "nested"}).Draw(t, "list of "+name)
		if rapid.Bool().Draw(t, name+" is in one line") {
			inner := "a: 'x, ]'"
			if list != "" {
				inner += `, tolerations: [ {key: old}, {"key": "it's"} ]`
			}
			fmt.Fprintf(&b, "%s: {%s}%s\n", name, inner, rapid.SampledFrom([]string{"", " # c"}).Draw(t, "comment"))
			noise(0, "after "+name)
			continue
		}
		indent := rapid.IntRange(1, 4).Draw(t, "indent")
		pad := strings.Repeat(" ", indent)
		fmt.Fprintf(&b, "%s:%s\n", name, rapid.SampledFrom([]string{"", " # c"}).Draw(t, "comment"))
		noise(indent, "in "+name)
		fmt.Fprintf(&b, "%stext: |\n%s  # no comment\n\n%s    x\n", pad, pad, pad)
		switch list {
		case "block":
			fmt.Fprintf(&b, "%stolerations:\n%s   # first\n%s   - key: old # c\n%s   -\n%s      key: it's\n", pad, pad, pad, pad, pad)
		case "outdented":
			fmt.Fprintf(&b, "%stolerations:   # mine\n%s- {key: old}\n\n%s- key: \"it's\"\n", pad, pad, pad)
		case "flow":
			fmt.Fprintf(&b, "%stolerations: [{key: old},\n%s  {key: 'it''s'}] # mine\n", pad, pad)
		case "nested":
			fmt.Fprintf(&b, "%stolerations:\n%s- key: old\n%s- key: it's\n%sdeep: {a: [1, 2]}\n", pad, pad, pad, pad)
		}
		fmt.Fprintf(&b, "%slast: 1\n", pad)
		noise(indent, "foot of "+name)
	}
	noise(0, "foot")
	text := b.String()
	if rapid.Bool().Draw(t, "the last line has no end") {
		text = strings.TrimSuffix(text, "\n")
	}
	return text
}

// TestSetList_whateverIsWrittenStays adds entries and labels to components in any order, and takes them
// away in any order: in between all that was there is there in its order, and in the end the text is the
// same, byte by byte.
func TestSetList_whateverIsWrittenStays(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		before := written(t)
		names := []string{"alpha", "beta", "gamma", "delta"}
		text, label := before, "infra"
		had := map[string][]Entry{}
		d, err := Parse(text)
		if err != nil {
			t.Fatalf("%v: %q", err, text)
		}
		step := func(what string, change func(*Document) (string, error)) {
			d, err := Parse(text)
			if err == nil {
				text, err = change(d)
			}
			if err != nil {
				t.Fatalf("%s: %v in %q of %q", what, err, text, before)
			}
		}
		for _, name := range names {
			if at(d.Value(), []string{name, "tolerations"}) != nil {
				had[name] = []Entry{{{"key", "old"}}, {{"key", "it's"}}}
			}
		}
		for _, name := range rapid.Permutation(names).Draw(t, "order") {
			step("add to "+name, func(d *Document) (string, error) {
				return d.SetList([]string{name, "tolerations"}, append(slices.Clone(had[name]), ours))
			})
			step("require of "+name, func(d *Document) (string, error) {
				return d.SetFields([]string{name, "nodeSelector"}, map[string]*string{"pool": &label})
			})
		}
		rest := text
		for _, char := range before {
			found := strings.IndexRune(rest, char)
			if found < 0 {
				t.Fatalf("%q has become %q, without %q", before, text, char)
			}
			rest = rest[found+1:]
		}
		for _, name := range rapid.Permutation(names).Draw(t, "order of removal") {
			step("let go of "+name, func(d *Document) (string, error) {
				return d.SetFields([]string{name, "nodeSelector"}, map[string]*string{"pool": nil})
			})
			step("take from "+name, func(d *Document) (string, error) { return d.SetList([]string{name, "tolerations"}, had[name]) })
		}
		if text != before {
			t.Fatalf("%q has become %q", before, text)
		}
	})
}

// FuzzSetList: whatever text there is, it is refused, or only the one place of it is changed.
func FuzzSetList(f *testing.F) {
	for _, text := range []string{"", "# a\n", "a: 1\n", "prometheusK8s: {a: [1, '}']}\n", "prometheusK8s:\n- a\n", "prometheusK8s: &a\n  b: *a\n", "? prometheusK8s\n: a\n", "{\"a\": 1}", "a: |\n  x\n"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		d, err := Parse(text)
		if err != nil {
			return
		}
		after, err := d.SetList(list, []Entry{ours})
		if err != nil {
			return
		}
		again, err := Parse(after)
		if err != nil {
			t.Fatalf("%q has become %q, which cannot be read: %v", text, after, err)
		}
		want := with(d.Value(), list, []any{ours.value()})
		if !reflect.DeepEqual(filled(want), filled(again.Value())) {
			t.Fatalf("%q has become %q", text, after)
		}
	})
}
