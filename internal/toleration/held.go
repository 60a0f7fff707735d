// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package toleration

// Holds reports whether a mark counts after an apply: that of a wanted entry, or of one that
// retires.
func (c Claim) Holds(mark Mark) bool {
	if mark.Path != c.Path || c.Generation == "" || !c.proves(mark) {
		return false
	}
	return mark.Retiring || mark.Generation == c.Generation && c.wants(mark.ID())
}
