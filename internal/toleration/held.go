// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package toleration

import (
	"slices"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/record"
)

// Holds reports whether a mark counts after an apply: that of a wanted entry, or of one that
// retires.
func (c Claim) Holds(mark Mark) bool {
	if mark.Path != c.Path || c.Generation == "" || !c.proves(mark) {
		return false
	}
	return mark.Retiring || mark.Generation == c.Generation && c.wants(mark.ID())
}

// Hold adds a mark to what is held after an apply, where it counts. An imported one is written with
// the next change.
func (c Claim) Hold(mark Mark, held record.Held) {
	switch {
	case c.Holds(mark):
		if !c.Seal.Proves(mark.Sealed()) {
			mark.Retiring = false
		}
		held.Hold(c.Seal, mark.Sealed())
	case slices.Contains(c.Imported[mark.ID()], mark.Generation) && c.Seal.Saw(mark.Sealed()):
		held.Note(c.Seal, mark.Sealed())
	}
}

// proves reports whether the resource has written a mark. That it retires is not asked: builds
// before that was proved wrote such marks too, and what is ours goes in any case.
func (c Claim) proves(mark Mark) bool {
	if c.Seal.Proves(mark.Sealed()) {
		return true
	}
	mark.Retiring = false
	return c.Seal.Proves(mark.Sealed())
}
