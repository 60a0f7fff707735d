// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package taint

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// FuzzParseRecord: whatever is in the annotation, what is read is written back the same,
// and an apply and a destroy remove no taint but those with marks of the claim, and none of a
// controller.
func FuzzParseRecord(f *testing.F) {
	f.Add(`[{"key":"a","effect":"NoExecute","owner":"me","generation":"g2"}]`)
	f.Add(`[{"key":"node.kubernetes.io/unreachable","effect":"NoExecute","owner":"me","generation":"g2","absent":true,"previous":""}]`)
	f.Add(`[{"key":"a","effect":"NoExecute"},{"key":"a","effect":"NoExecute","generation":"g2","previous":"x y"},null]`)
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
		current := []corev1.Taint{{Key: "a", Effect: "NoExecute"}, {Key: "z", Value: "1", Effect: "NoSchedule"}, {Key: corev1.TaintNodeUnreachable, Effect: "NoExecute"}}
		for _, claim := range []Claim{{Owner: "me", Generation: "g2"}, {Owner: "me", Generation: "g2", Release: true}, {Owner: "me", TakeOver: true}} {
			got := Merge(current, record, claim)
			for _, one := range current {
				marked := slices.ContainsFunc(record, func(m Mark) bool {
					return m.ID() == IDOf(one) && m.Generation != "" && m.Generation == claim.Generation
				})
				if Find(got.Taints, IDOf(one)) < 0 && (!marked || one.Key == corev1.TaintNodeUnreachable) {
					t.Fatalf("%s is removed by %q", Format(one), value)
				}
			}
			for _, one := range got.Taints {
				if len(Validate(one)) > 0 {
					t.Fatalf("%s is written by %q", Format(one), value)
				}
			}
		}
	})
}

func FuzzID_UnmarshalText(f *testing.F) {
	f.Add("a:NoExecute")
	f.Add("::")
	f.Fuzz(func(t *testing.T, text string) {
		var id ID
		if id.UnmarshalText([]byte(text)) != nil {
			return
		}
		again, err := id.MarshalText()
		if err != nil || string(again) != text {
			t.Fatalf("%q is written as %q (%v)", text, again, err)
		}
	})
}
