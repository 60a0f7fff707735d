// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package admission

import (
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// FuzzObserve: whatever is in the annotation of a policy, it is read without a panic, and a
// claim of another generation neither owns nor deletes the policy.
func FuzzObserve(f *testing.F) {
	f.Add(`{"owner":"me","generation":"g1","tolerations":[{"key":"a","operator":"Exists"}]}`)
	f.Add(`{"generation":"","match":{"namespaceSelector":"=","podSelector":"a in (","requests":[""]},"pin":{"":""}}`)
	f.Add(`[]`)
	f.Fuzz(func(t *testing.T, annotation string) {
		meta := metav1.ObjectMeta{Name: "team", Annotations: map[string]string{PolicyAnnotation: annotation}}
		seen := Observe(Objects{Policy: &admissionregistrationv1.MutatingAdmissionPolicy{ObjectMeta: meta}})
		for _, generation := range []string{"", "another generation that is not guessed"} {
			claim := Claim{Policy: Policy{Name: "team"}, Mark: Mark{Owner: "me", Generation: generation}, Release: true}
			if plan, err := claim.Plan(&seen, nil, false); claim.Owns(&seen) || plan.Delete || err != nil {
				t.Fatalf("the policy is deleted by %q (%v)", annotation, err)
			}
		}
		if seen.Err == nil {
			(&Rules{}).With(seen.Policy).Applying(Pod{Namespace: "shop"})
		}
	})
}
