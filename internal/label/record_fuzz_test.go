// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package label

import (
	"slices"
	"testing"
)

// FuzzParseRecord: whatever is in the annotation, what is read is written back the same,
// and an apply and a destroy remove no label but those with marks of the claim.
func FuzzParseRecord(f *testing.F) {
	f.Add(`[{"key":"a","owner":"me","generation":"g2"}]`)
	f.Add(`[{"key":"a"},{"key":"a","generation":"g2"},null]`)
	f.Add(`{"key":1}`)
	f.Fuzz(func(t *testing.T, value string) {
		record, err := ParseRecord(value)
		if err != nil {
			return
		}
		again, err := ParseRecord(record.String())
		if err != nil || again.String() != record.String() {
			t.Fatalf("%s is read as %s (%v)", record, again, err)
		}
		current := map[string]string{"a": "1", "z": "2"}
		for _, claim := range []Claim{{Owner: "me", Generation: "g2"}, {Owner: "me", Generation: "g2", Release: true}, {Owner: "me", TakeOver: true}, {}} {
			got := Merge(current, record, claim)
			for key, value := range current {
				marked := slices.ContainsFunc(record, func(m Mark) bool { return m.Key == key && m.Generation != "" && m.Generation == claim.Generation })
				if now, there := got.Labels[key]; !marked && (!there || now != value) {
					t.Fatalf("%s is removed by %q", key, value)
				}
			}
		}
	})
}
