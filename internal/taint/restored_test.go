// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package taint

import (
	"slices"
	"testing"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/record"
)

// TestClaim_Restored has a taint that the resource gave up, and that is there again with its old mark.
func TestClaim_Restored(t *testing.T) {
	t.Parallel()
	given := Claim{Owner: "me", Generation: "g2", Seal: record.Seal{Nonce: "n", Epoch: 1, Held: record.Held{}}, Taints: list(t, "a=1:NoExecute")}.On("Node/x")
	mark := Merge(nil, nil, given).Record[0]
	claim := given
	claim.Taints, claim.Seal.Epoch = nil, 2
	reserved := claim
	reserved.Seal.Nonce = "other"
	for name, tt := range map[string]struct {
		claim   Claim
		current []string
		change  func(*Mark)
		want    []ID
	}{
		"with the mark that it had":                         {claim, []string{"a=1:NoExecute"}, func(*Mark) {}, ids(t, "a:NoExecute")},
		"with a mark that was made up":                      {claim, []string{"a=1:NoExecute"}, func(m *Mark) { m.Proof = "" }, ids(t, "a:NoExecute")},
		"with a mark that still counts":                     {given, []string{"a=1:NoExecute"}, func(*Mark) {}, nil},
		"with a mark of another resource":                   {claim, []string{"a=1:NoExecute"}, func(m *Mark) { m.Owner = "other" }, nil},
		"with a mark of an earlier create":                  {claim, []string{"a=1:NoExecute"}, func(m *Mark) { m.Generation = "g1" }, nil},
		"with a mark of a taint that must not be there":     {claim, []string{"a=1:NoExecute"}, func(m *Mark) { m.Absent = true }, nil},
		"where the mark alone is back":                      {claim, []string{"b:NoExecute"}, func(*Mark) {}, nil},
		"where no resource may own it":                      {reserved, []string{"node.kubernetes.io/unreachable:NoExecute"}, func(m *Mark) { m.Key = "node.kubernetes.io/unreachable" }, nil},
		"where the first of several taints is the one back": {claim, []string{"a:NoExecute", "b:NoExecute"}, func(*Mark) {}, ids(t, "a:NoExecute")},
	} {
		changed := mark
		tt.change(&changed)
		if got := tt.claim.Restored(list(t, tt.current...), Record{changed}); !slices.Equal(got, tt.want) {
			t.Errorf("%s: got %v, want %v", name, got, tt.want)
		}
	}
}
