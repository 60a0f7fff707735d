// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package taint

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/record"
)

func TestClaim_ownsOnNode(t *testing.T) {
	t.Parallel()
	gpu := corev1.Taint{Key: "dedicated", Value: "gpu", Effect: corev1.TaintEffectNoExecute}
	id := IDOf(gpu)
	own := Claim{Owner: "a", Generation: "1", Seal: record.Seal{Nonce: "n", Generation: "1", Held: record.Held{}}, Taints: []corev1.Taint{gpu}}
	proved := Merge(nil, nil, own.OnNode("node", "uid")).Record
	foreign := Record{{Key: gpu.Key, Effect: gpu.Effect, Owner: "b", Generation: "2"}}
	takesOver, imported := own, own
	takesOver.TakeOver = true
	imported.Imported = map[ID][]string{id: {"2"}}
	for name, tt := range map[string]struct {
		claim  Claim
		record Record
		want   bool
	}{
		"a mark of its generation":                  {own, proved, true},
		"a proved one of an entry that it has left": {own.Leaving(), proved, true},
		"an unproved one that it has left":          {own.Leaving(), Record{{Key: gpu.Key, Effect: gpu.Effect, Owner: "a", Generation: "1"}}, false},
		"one of its owner and another generation":   {own, Record{{Key: gpu.Key, Effect: gpu.Effect, Owner: "a", Generation: "0"}}, false},
		"the same where it takes over":              {takesOver, Record{{Key: gpu.Key, Effect: gpu.Effect, Owner: "a", Generation: "0"}}, true},
		"one of another resource":                   {own, foreign, false},
		"one that was imported with its generation": {imported, foreign, true},
		"one without a generation":                  {Claim{Owner: "a", Taints: own.Taints}, Record{{Key: gpu.Key, Effect: gpu.Effect, Owner: "a"}}, false},
		"one after those of others":                 {own, append(append(Record{}, foreign...), proved...), true},
		"no mark":                                   {own, nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := tt.claim.OwnsOnNode("node", "uid", tt.record); got != tt.want {
				t.Errorf("owned: %t, want %t", got, tt.want)
			}
			if got := tt.claim.OnNode("node", "uid").Owns(tt.record); got != tt.want {
				t.Errorf("Owns differs: %t", got)
			}
		})
	}
}
