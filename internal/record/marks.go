// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package record

// Mark is one mark of a record, about the entry of an ID.
type Mark[M any, ID comparable] interface {
	// ID is the identity of the marked entry.
	ID() ID
	// Compare orders the marks of a record.
	Compare(other M) int
}

// Marks are the marks of one object: its record.
type Marks[M Mark[M, ID], ID comparable] []M

// String writes the annotation's value, sorted so that equal records are equal strings. An empty record is an empty
// string, which means: no annotation.
func (r Marks[M, ID]) String() string { return Format(r, M.Compare) }

// Of returns the mark of an identity.
func (r Marks[M, ID]) Of(id ID) (mark M, marked bool) {
	for _, m := range r {
		if m.ID() == id {
			return m, true
		}
	}
	return mark, false
}
