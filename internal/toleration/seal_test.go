// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package toleration

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/record"
)

// TestSeal_tellsOurMarksFromCopies: a toleration that is not wanted goes by a mark with a proof
// alone, and a mark proves something on its own object only.
func TestSeal_tellsOurMarksFromCopies(t *testing.T) {
	t.Parallel()
	one := corev1.Toleration{Key: "team", Operator: corev1.TolerationOpExists}
	needed := []corev1.Taint{{Key: "team", Effect: corev1.TaintEffectNoExecute}}
	claim := Claim{Owner: "me", Generation: "g2", Seal: record.Seal{Nonce: "n"}, Tolerations: []corev1.Toleration{one}}
	made := Merge(nil, nil, claim.On("Deployment/a"), nil, false)
	none := claim
	none.Tolerations = nil
	other, seen := none, none
	other.Seal.Nonce = "another"
	seen.Seal = record.Seal{Nonce: "another", Epoch: 1, Held: record.Held{}}
	seen.Seal.Held.Note(seen.Seal.On("Deployment/a"), made.Record[0].Sealed())
	for name, tt := range map[string]struct {
		claim  Claim
		object string
		live   []corev1.Taint
		// left is set where the toleration is still there, and owns where it is owned.
		left, owns bool
		// proves is set where the remaining mark proves that this claim owns the entry.
		proves bool
	}{
		"ours is believed and goes":                         {claim: none, object: "Deployment/a", owns: true},
		"ours that a taint needs stays, and proves it":      {claim: none, object: "Deployment/a", live: needed, left: true, owns: true, proves: true},
		"a copy on another object stays":                    {claim: none, object: "Deployment/b", left: true},
		"a mark of another nonce stays":                     {claim: other, object: "Deployment/a", left: true},
		"a mark that an import has seen goes":               {claim: seen, object: "Deployment/a", owns: true},
		"what an import has not seen stays":                 {claim: seen, object: "Deployment/b", left: true},
		"a mark of a lost nonce is proved anew as it stays": {claim: seen, object: "Deployment/a", live: needed, left: true, owns: true, proves: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			on := tt.claim.On(tt.object)
			if on.Owns(made.Record) != tt.owns {
				t.Errorf("owns it: %t", !tt.owns)
			}
			got := Merge(made.Tolerations, made.Record, on, tt.live, false)
			if Contains(got.Tolerations, one) != tt.left {
				t.Errorf("there is %v", got.Tolerations)
			}
			strict := on
			strict.Seal.Held = record.Held{}
			if strict.Owns(got.Record) != tt.proves {
				t.Errorf("the marks %s prove it: %t", got.Record, !tt.proves)
			}
		})
	}
}

func TestIDs_areThoseOfEachInOrder(t *testing.T) {
	t.Parallel()
	a, b := corev1.Toleration{Key: "b", Effect: corev1.TaintEffectNoExecute}, corev1.Toleration{Key: "a", Operator: corev1.TolerationOpExists}
	if got := IDs([]corev1.Toleration{a, b}); len(got) != 2 || got[0] != IDOf(a) || got[1] != IDOf(b) {
		t.Errorf("got %v", got)
	}
}
