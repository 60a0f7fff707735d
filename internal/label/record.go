// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package label

import (
	"cmp"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/record"
)

// OwnedAnnotation is where the record of owned labels stands: on nodes for their
// labels, on workloads for the entries of the pod template's node selector. It
// is written in the same patch as these, so that a process that is killed leaves
// no entry without an owner.
const OwnedAnnotation = "kubetaint.io/owned-labels"

// Mark reports who owns one entry. There is no value that stood there before: an
// entry that another writer has put there is never adopted.
type Mark struct {
	Key string `json:"key"`
	// Owner is the id of the resource, the same at every create of it.
	Owner string `json:"owner"`
	// Generation is random and fresh at every create.
	Generation string `json:"generation"`
	// Proof shows that the resource itself has written the mark. See record.Seal.
	Proof string `json:"proof,omitempty"`
}

// Sealed is what the mark's proof is of.
func (m Mark) Sealed() record.Sealed {
	return record.Sealed{Proof: m.Proof, Parts: []string{"label", m.Key}}
}

// ID returns the key of the marked label.
func (m Mark) ID() string { return m.Key }

// Compare orders the marks of a record.
func (m Mark) Compare(other Mark) int { return cmp.Compare(m.Key, other.Key) }

// Record is the marks of one object, at most one per key.
type Record = record.Marks[Mark, string]

// ParseRecord reads the annotation's value; an empty one is an empty record. An
// unreadable record is an error: to write over it would lose its owners.
func ParseRecord(s string) (Record, error) {
	return record.Parse[Mark](OwnedAnnotation, s)
}
