// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package record

import "slices"

// Owner claims entries of an object. One rule decides which marks are its own, for taints, tolerations and labels alike: see Owns.
type Owner struct {
	// ID is the id of the resource, and Generation that of its marks.
	ID, Generation string
	// TakeOver makes entries that are named, and that an earlier create of the same resource has marked, its own.
	TakeOver bool
	// Proves reports whether the resource has made a mark, and Saw whether an import has seen it.
	Proves, Saw func(Sealed) bool
}

// Written is what a mark says of who has written it.
type Written struct{ Owner, Generation string }

// Owns reports whether the entry of a mark is the owner's. Where its configuration or its state names the entry, a mark of its
// generation is enough, or one that the entry was imported with. Of any other entry the owner must have made the mark, or
// an import must have seen it: other writers can copy marks. A mark without a generation has no owner.
func (o Owner) Owns(by Written, named bool, imported []string, mark func() Sealed) bool {
	switch {
	case by.Generation == "":
		return false
	case named && (by.Generation == o.Generation || o.TakeOver && by.Owner == o.ID):
		return true
	case by.Generation == o.Generation && o.Proves(mark()):
		return true
	}
	return slices.Contains(imported, by.Generation) && (named || o.Saw(mark()))
}
