// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package label

import "github.com/kubetaint/terraform-provider-kubetaint/internal/record"

// Note adds a mark that an import sees on the claim's object.
func (c Claim) Note(mark Mark, held record.Held) { held.Note(c.Seal, mark.sight()...) }

// proves reports whether the resource has written a mark.
func (c Claim) proves(mark Mark) bool {
	if c.Seen {
		return c.Seal.ProvesSeen(mark.sight(), mark.Proof, "label", mark.Key)
	}
	return c.Seal.Proves(mark.Proof, "label", mark.Key)
}

// sight is what an import sees of a mark.
func (m Mark) sight() []string { return []string{"imported", m.Generation, "label", m.Key} }
