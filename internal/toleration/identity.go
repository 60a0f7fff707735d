// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package toleration

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
)

// ID identifies a toleration within a list: key, operator, value and effect
// (k8s.io/api v0.37.2 core/v1/toleration.go, Toleration.MatchToleration). How
// long it lasts is not part of it. A list may hold several with the same ID.
type ID struct {
	Key      string
	Operator corev1.TolerationOperator
	Value    string
	Effect   corev1.TaintEffect
}

// IDOf returns the identity of a toleration; no operator is Equal.
func IDOf(t corev1.Toleration) ID {
	return ID{Key: t.Key, Operator: cmp.Or(t.Operator, corev1.TolerationOpEqual), Value: t.Value, Effect: t.Effect}
}

// IDs returns the identities of tolerations.
func IDs(tolerations []corev1.Toleration) []ID {
	ids := make([]ID, len(tolerations))
	for i, t := range tolerations {
		ids[i] = IDOf(t)
	}
	return ids
}

// Notations returns tolerations in kubectl's notation, whatever their seconds: ids of resources are made of these.
func Notations(tolerations []corev1.Toleration) []string {
	out := make([]string, len(tolerations))
	for i, t := range tolerations {
		t.TolerationSeconds = nil
		out[i] = taint.FormatToleration(t)
	}
	return out
}

// Compare orders identities by key, effect, operator and value.
func (id ID) Compare(other ID) int {
	return cmp.Or(cmp.Compare(id.Key, other.Key), cmp.Compare(id.Effect, other.Effect),
		cmp.Compare(id.Operator, other.Operator), cmp.Compare(id.Value, other.Value))
}

// MarshalText writes the identity as a JSON list, so that it can be a key.
func (id ID) MarshalText() ([]byte, error) {
	return json.Marshal([]string{id.Key, string(id.Operator), id.Value, string(id.Effect)})
}

// UnmarshalText reads what MarshalText wrote.
func (id *ID) UnmarshalText(text []byte) error {
	var parts []string
	if err := json.Unmarshal(text, &parts); err != nil || len(parts) != 4 {
		return fmt.Errorf("%q is not the identity of a toleration", text)
	}
	*id = ID{Key: parts[0], Operator: corev1.TolerationOperator(parts[1]), Value: parts[2], Effect: corev1.TaintEffect(parts[3])}
	return nil
}

// Equal reports whether two tolerations are the same in every respect.
func Equal(a, b corev1.Toleration) bool {
	return IDOf(a) == IDOf(b) && equalSeconds(a.TolerationSeconds, b.TolerationSeconds)
}

func equalSeconds(a, b *int64) bool {
	return a == nil && b == nil || a != nil && b != nil && *a == *b
}

// Sort sorts tolerations by identity in place and returns them.
func Sort(tolerations []corev1.Toleration) []corev1.Toleration {
	slices.SortStableFunc(tolerations, func(a, b corev1.Toleration) int {
		return cmp.Or(IDOf(a).Compare(IDOf(b)), cmp.Compare(lasting(a), lasting(b)))
	})
	return tolerations
}

// Contains reports whether the list holds exactly this toleration.
func Contains(list []corev1.Toleration, t corev1.Toleration) bool {
	return find(list, t) >= 0
}

// find returns the index of the last entry that is exactly this one, or -1.
// Where another writer wrote the same entry first, the later one is owned.
func find(list []corev1.Toleration, t corev1.Toleration) int {
	for i, one := range slices.Backward(list) {
		if Equal(one, t) {
			return i
		}
	}
	return -1
}

// Covers reports whether one toleration makes another one superfluous: it matches
// every taint that the other matches, and for at least as long.
func Covers(one, other corev1.Toleration) bool {
	if one.Effect != "" && one.Effect != other.Effect || lasting(one) < lasting(other) {
		return false
	}
	switch {
	case one.Key == "" && one.Operator == corev1.TolerationOpExists:
		return true
	case one.Key != other.Key:
		return false
	case one.Operator == corev1.TolerationOpExists:
		return true
	default:
		a, b := IDOf(one), IDOf(other)
		return a.Operator == b.Operator && a.Value == b.Value
	}
}

// CoveredBy reports whether some entry of a list covers a toleration.
func CoveredBy(list []corev1.Toleration, t corev1.Toleration) bool {
	return slices.ContainsFunc(list, func(one corev1.Toleration) bool { return Covers(one, t) })
}

// The ends of the scale on which Lasts measures.
const (
	// Untolerated: no entry matches the taint.
	Untolerated int64 = -1
	// Forever: the entry that decides has no end.
	Forever int64 = math.MaxInt64
)

// Lasts says for how many seconds a list tolerates a taint: Untolerated, a
// number of seconds, or Forever. The first entry that matches decides. Seconds
// count against NoExecute alone; every other taint is tolerated forever or not
// at all (semantics of k8s.io/kubernetes v1.37.1
// pkg/controller/tainteviction/taint_eviction.go, getMinTolerationTime).
func Lasts(list []corev1.Toleration, t corev1.Taint, comparison bool) int64 {
	at := taint.FirstMatch(list, t, comparison)
	switch {
	case at < 0:
		return Untolerated
	case t.Effect != corev1.TaintEffectNoExecute:
		return Forever
	}
	return lasting(list[at])
}

// lasting is how long a toleration lasts, in seconds; negative ones are zero.
func lasting(t corev1.Toleration) int64 {
	if t.TolerationSeconds == nil {
		return Forever
	}
	return max(*t.TolerationSeconds, 0)
}

// Shadowing returns the earlier entry of the list that decides in place of t
// about every taint that t matches, and for another time; nil where t is heard,
// or where it makes no difference. An entry that matches some of these taints
// alone does not count: t is heard for the others.
func Shadowing(list []corev1.Toleration, t corev1.Toleration) *corev1.Toleration {
	forAnyTime := t
	none := int64(0)
	forAnyTime.TolerationSeconds = &none
	for i := range list {
		switch {
		case !Covers(list[i], forAnyTime):
		case lasting(list[i]) == lasting(t): // t itself, at the latest.
			return nil
		default:
			return &list[i]
		}
	}
	return nil
}

// Without returns a list without the entries of another one: what admission and
// controllers added to a pod beyond its template.
func Without(list, template []corev1.Toleration) []corev1.Toleration {
	var out []corev1.Toleration
	for _, t := range list {
		if !Contains(template, t) {
			out = append(out, t)
		}
	}
	return out
}

// Format writes tolerations for a reader, sorted.
func Format(list []corev1.Toleration) string { return strings.Join(Texts(list), ", ") }

// Texts writes tolerations as Format does, each by itself.
func Texts(list []corev1.Toleration) []string {
	out := make([]string, len(list))
	for i, t := range Sort(slices.Clone(list)) {
		out[i] = taint.FormatToleration(t)
	}
	return out
}
