// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package taint

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/printable"
)

// ID identifies a taint within one node: two taints with the same key and
// effect cannot be on a node together, whatever their values
// (k8s.io/api v0.37.2 core/v1/taint.go, Taint.MatchTaint).
type ID struct {
	Key    string
	Effect corev1.TaintEffect
}

// IDOf returns the identity of a taint.
func IDOf(t corev1.Taint) ID {
	return ID{Key: t.Key, Effect: t.Effect}
}

// IDs returns the identities of taints.
func IDs(taints []corev1.Taint) []ID {
	ids := make([]ID, len(taints))
	for i, t := range taints {
		ids[i] = IDOf(t)
	}
	return ids
}

// String returns the identity in kubectl's notation, key:Effect, as it can be printed.
func (id ID) String() string {
	return printable.Line(id.text())
}

func (id ID) text() string {
	return id.Key + ":" + string(id.Effect)
}

// Compare orders identities by key, then effect.
func (id ID) Compare(other ID) int {
	return cmp.Or(cmp.Compare(id.Key, other.Key), cmp.Compare(id.Effect, other.Effect))
}

// SortIDs sorts identities in place and returns them.
func SortIDs(ids []ID) []ID {
	slices.SortFunc(ids, ID.Compare)
	return ids
}

// Sort sorts taints by identity in place and returns them.
func Sort(taints []corev1.Taint) []corev1.Taint {
	slices.SortFunc(taints, func(a, b corev1.Taint) int { return IDOf(a).Compare(IDOf(b)) })
	return taints
}

// Find returns the index of the taint with this identity, or -1.
func Find(taints []corev1.Taint, id ID) int {
	return slices.IndexFunc(taints, func(t corev1.Taint) bool { return IDOf(t) == id })
}

// MarshalText writes the identity in the same notation, whatever it holds.
func (id ID) MarshalText() ([]byte, error) {
	return []byte(id.text()), nil
}

// UnmarshalText reads what MarshalText wrote.
func (id *ID) UnmarshalText(text []byte) error {
	key, effect, found := strings.Cut(string(text), ":")
	if !found {
		return fmt.Errorf("%q is not key:Effect", text)
	}
	*id = ID{Key: key, Effect: corev1.TaintEffect(effect)}
	return nil
}
