// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package admission

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/toleration"
)

// FuzzParseList: whatever is in the annotations of a namespace, they are read without a panic, what is
// read is written back the same, and a destroy takes nothing from a list that has no marks.
func FuzzParseList(f *testing.F) {
	f.Add(`[{"key":"a","operator":"Exists","effect":"NoExecute","tolerationSeconds":60}]`)
	f.Add(`[{"operator":"Exists"},{"key":"a","operator":"Lt","value":"-1"},{},null]`)
	f.Add(`[{"tolerationSeconds":-9223372036854775808},{"key":"x\n::error::y","operator":"\u202e"}]`)
	f.Add(`null`)
	f.Add(`{"key":1}`)
	f.Fuzz(func(t *testing.T, annotation string) {
		list, err := ParseList(annotation)
		lists := ObserveLists(map[string]string{DefaultsAnnotation: annotation, WhitelistAnnotation: annotation})
		if (err != nil) != (lists.Err != nil) {
			t.Fatalf("%q: it is read with %v alone, and with %v among the annotations", annotation, err, lists.Err)
		}
		if err != nil {
			return
		}
		lists.Rejecting(true)
		lists.Forbidden(list)
		claim := toleration.Claim{Owner: "me", Generation: "g1", Release: true}
		merged := ListClaim{Default: claim, Allowed: claim}.Merge(lists)
		if merged.Changed || !cmp.Equal(merged.Default, list) || !cmp.Equal(merged.Allowed, list) {
			t.Fatalf("%q: a destroy makes %v and %v of it", annotation, merged.Default, merged.Allowed)
		}
		written, err := lists.Annotations()
		if err != nil {
			t.Fatalf("%q: %v", annotation, err)
		}
		var again []corev1.Toleration
		if value := written[DefaultsAnnotation]; value != nil {
			if again, err = ParseList(*value); err != nil {
				t.Fatalf("%q is written as %q, which cannot be read: %v", annotation, *value, err)
			}
		}
		if len(list) > 0 && !cmp.Equal(list, again) {
			t.Fatalf("%q is read as %v, and read again as %v", annotation, list, again)
		}
	})
}
