// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package taint

// Adopted reports whether the claim owns an entry that was there before, as a mark with a proof or an
// import shows. A mark of a version that did not record it shows nothing.
func (c Claim) Adopted(record Record, id ID) bool {
	mark, marked := record.Of(id)
	if !marked {
		return c.Unmarked(id)
	}
	return c.owns(mark) && c.believe(mark).Adopted
}
