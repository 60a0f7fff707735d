// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package label

import (
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/record"
)

// TestClaim_Restored has a label that the resource gave up, and that is there again with its old mark.
func TestClaim_Restored(t *testing.T) {
	t.Parallel()
	given := Claim{Owner: "me", Generation: "g2", Seal: record.Seal{Nonce: "n", Epoch: 1, Held: record.Held{}}, Labels: setOf("pool=gpu")}.On("Node/a")
	mark := Merge(nil, nil, given).Record[0]
	claim := given
	claim.Labels, claim.Seal.Epoch = nil, 2
	wanted := claim
	wanted.Labels, wanted.Generation = given.Labels, "g3"
	for name, tt := range map[string]struct {
		claim  Claim
		labels string
		change func(*Mark)
		want   string
	}{
		"with the mark that it had":         {claim, "pool=gpu zone=a", func(*Mark) {}, "pool"},
		"with a mark that was made up":      {claim, "pool=gpu", func(m *Mark) { m.Proof = "" }, "pool"},
		"with a mark that still counts":     {given, "pool=gpu", func(*Mark) {}, ""},
		"with a mark of another resource":   {claim, "pool=gpu", func(m *Mark) { m.Owner = "other" }, ""},
		"with a mark of an earlier create":  {claim, "pool=gpu", func(m *Mark) { m.Generation = "g1" }, ""},
		"where the mark alone is back":      {claim, "zone=a", func(*Mark) {}, ""},
		"where the label is wanted by now":  {wanted, "pool=gpu", func(m *Mark) { m.Generation = "g3" }, ""},
		"where no resource may own the key": {claim, "kubernetes.io/hostname=a", func(m *Mark) { m.Key = "kubernetes.io/hostname" }, ""},
	} {
		changed := mark
		tt.change(&changed)
		if got := strings.Join(tt.claim.Restored(setOf(tt.labels), Record{changed}), " "); got != tt.want {
			t.Errorf("%s: got %q, want %q", name, got, tt.want)
		}
	}
}

// TestOnNode_whatWasSeenCountsOnThatNode, and not on one that was recreated by its name.
func TestOnNode_whatWasSeenCountsOnThatNode(t *testing.T) {
	t.Parallel()
	mark := Mark{Key: "pool", Owner: "me", Generation: "g2"}
	claim := Claim{Owner: "me", Generation: "g2", Seal: record.Seal{Nonce: "n", Epoch: 1, Held: record.Held{}}}
	seen := claim.OnNode("a", "uid-1").Seal
	seen.Held.Note(seen, mark.Sealed())
	var owned []string
	for _, node := range []string{"a uid-1", "a uid-2", "b uid-1"} {
		name, uid, _ := strings.Cut(node, " ")
		if claim.OnNode(name, types.UID(uid)).Owns(Record{mark}) {
			owned = append(owned, node)
		}
	}
	if !slices.Equal(owned, []string{"a uid-1"}) {
		t.Errorf("the mark is owned on %q", owned)
	}
}
