// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package toleration

import "github.com/kubetaint/terraform-provider-kubetaint/internal/record"

// Holds reports whether a mark counts after an apply: that of a wanted entry, or of one that
// retires.
func (c Claim) Holds(mark Mark) bool {
	if mark.Path != c.Path || c.Generation == "" || !c.proves(mark) {
		return false
	}
	return mark.Retiring || mark.Generation == c.Generation && c.wants(mark.ID())
}

// Saw reports whether an import has seen this mark on the claim's object. In states of earlier
// builds, in which nothing is held, it has seen all.
func (c Claim) Saw(mark Mark) bool { return c.Seal.Saw(mark.sight()...) }

// Note adds a mark that an import sees on the claim's object.
func (c Claim) Note(mark Mark, held record.Held) { held.Note(c.Seal, mark.sight()...) }

// proves reports whether the resource has written a mark. That it retires is not asked: builds
// before that was proved wrote such marks too, and what is ours goes in any case.
func (c Claim) proves(mark Mark) bool {
	proves := func() bool {
		if c.Seen {
			return c.Seal.ProvesSeen(mark.sight(), mark.Proof, mark.parts()...)
		}
		return c.Seal.Proves(mark.Proof, mark.parts()...)
	}
	if proves() {
		return true
	}
	mark.Retiring = false
	return proves()
}

// sight is what an import sees of a mark.
func (m Mark) sight() []string { return append([]string{"imported", m.Generation}, m.parts()...) }
