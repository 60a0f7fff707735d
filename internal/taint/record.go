// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package taint

import (
	"cmp"
	"strconv"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/record"
)

// OwnedAnnotation is where the record of owned taints stands, on Nodes,
// Machines and MachineSets. It is written in the same patch as the taints, so
// that a process that is killed leaves no entry without an owner.
const OwnedAnnotation = "kubetaint.io/owned-taints"

// Mark reports who owns one entry.
type Mark struct {
	Key    string             `json:"key"`
	Effect corev1.TaintEffect `json:"effect"`
	// Owner is the id of the resource, the same at every create of it.
	Owner string `json:"owner"`
	// Generation is random and fresh at every create: it tells an object from
	// the one that replaces it.
	Generation string `json:"generation"`
	// Absent marks an entry that must not be there.
	Absent bool `json:"absent,omitempty"`
	// Previous is the value that stood there before, nil where nothing did.
	// A destroy puts it back.
	Previous *string `json:"previous,omitempty"`
	// Adopted is set where the entry was there before the resource owned it, by an adoption or an
	// import: it may have come from the node's Machine.
	Adopted bool `json:"adopted,omitempty"`
	// Proof shows that the resource itself has written the mark. See record.Seal.
	Proof string `json:"proof,omitempty"`
}

// Sealed is what the proof of the mark is of. What a destroy puts back is among them.
func (m Mark) Sealed() record.Sealed {
	parts := []string{"taint", m.Key, string(m.Effect)}
	if m.Absent {
		parts = append(parts, "absent")
	}
	if m.Previous != nil {
		parts = append(parts, "previous", *m.Previous)
	}
	if m.Adopted {
		parts = append(parts, "adopted")
	}
	return record.Sealed{Proof: m.Proof, Parts: parts}
}

// Unmarked is what an import sees of an entry without a mark.
func (id ID) Unmarked() record.Sealed {
	return record.Sealed{Parts: []string{"without a mark", id.Key, string(id.Effect)}}
}

// ID returns the identity of the marked entry.
func (m Mark) ID() ID {
	return ID{Key: m.Key, Effect: m.Effect}
}

// Compare orders the marks of a record.
func (m Mark) Compare(other Mark) int {
	return cmp.Or(m.ID().Compare(other.ID()), cmp.Compare(m.Owner, other.Owner))
}

// Record is the marks of one object, at most one per identity.
type Record = record.Marks[Mark, ID]

// ParseRecord reads the annotation's value; an empty one is an empty record.
// An unreadable record is an error: to write over it would lose its owners.
func ParseRecord(s string) (Record, error) {
	return record.Parse[Mark](OwnedAnnotation, s)
}

func seconds(s int64) string {
	return strconv.FormatInt(s, 10) + "s"
}
