// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package toleration

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/record"
)

// OwnedAnnotation is where the record of owned tolerations stands: on the
// workload itself, not on its template, so that a change of owners restarts no
// pod. It is written in the same patch as the tolerations.
const OwnedAnnotation = "kubetaint.io/owned-tolerations"

// Mark names the owner of one entry.
type Mark struct {
	Key      string                    `json:"key,omitempty"`
	Operator corev1.TolerationOperator `json:"operator"`
	Value    string                    `json:"value,omitempty"`
	Effect   corev1.TaintEffect        `json:"effect,omitempty"`
	Seconds  *int64                    `json:"seconds,omitempty"`
	// Path is where the list stands, on objects that have several; empty for
	// the one that is known for the kind.
	Path string `json:"path,omitempty"`
	// Beside is set where another writer's entry of the same identity and other seconds
	// was in the list before: only an entry with the seconds of the mark is owned then.
	Beside bool `json:"beside,omitempty"`
	// Owner is the id of the resource, the same at every create of it.
	Owner string `json:"owner"`
	// Generation is random and fresh at every create.
	Generation string `json:"generation"`
	// Retiring marks an entry that no resource wants any more and that pods still
	// need: the step that makes it unneeded removes it, whatever resource takes that step.
	Retiring bool `json:"retiring,omitempty"`
	// Proof shows that the resource itself has written the mark. See record.Seal.
	Proof string `json:"proof,omitempty"`
}

// Sealed is what the proof of the mark is of. That no resource wants the entry any more is among
// them: others take away what retires.
func (m Mark) Sealed() record.Sealed {
	parts := []string{"toleration", m.Path, m.Key, string(m.Operator), m.Value, string(m.Effect)}
	if m.Retiring {
		parts = append(parts, "retiring")
	}
	return record.Sealed{Proof: m.Proof, Parts: parts}
}

// Toleration returns the entry that the mark is about.
func (m Mark) Toleration() corev1.Toleration {
	return corev1.Toleration{Key: m.Key, Operator: m.Operator, Value: m.Value, Effect: m.Effect, TolerationSeconds: m.Seconds}
}

// ID returns the identity of the marked entry.
func (m Mark) ID() ID {
	return IDOf(m.Toleration())
}

// Compare orders the marks of a record.
func (m Mark) Compare(other Mark) int {
	return cmp.Or(cmp.Compare(m.Path, other.Path), m.ID().Compare(other.ID()), cmp.Compare(m.Owner, other.Owner))
}

// Record is the marks of one object.
type Record = record.Marks[Mark, ID]

// ParseRecord reads the annotation's value; an empty one is an empty record.
// An unreadable record is an error: to write over it would lose its owners.
func ParseRecord(s string) (Record, error) {
	return record.Parse[Mark](OwnedAnnotation, s)
}

// Retiring reports whether a record has an entry that is to be removed later.
func Retiring(r Record) bool {
	return slices.ContainsFunc(r, func(m Mark) bool { return m.Retiring })
}
