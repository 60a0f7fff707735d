// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package machineset

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/printable"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/record"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
)

// MarkerAnnotation is where a rollout that is going on is remembered, on the
// MachineSet. It is written in the same patch as the first change, so that no
// count is ever lost, and taken away with the last.
const MarkerAnnotation = "kubetaint.io/rollout"

// Marker is a rollout that is going on.
type Marker struct {
	// ID is the id of the resource that rolls out.
	ID       string   `json:"id"`
	Strategy Strategy `json:"strategy"`
	// OriginalReplicas is what spec.replicas was when the rollout began. A strategy that changes it brings it back.
	OriginalReplicas int `json:"originalReplicas"`
	// Surge counts the machines that were added.
	Surge int `json:"surge,omitempty"`
	// TargetTaints are the taints that machines are to have, as kubectl writes them.
	TargetTaints []string `json:"targetTaints"`
	// Retired are the entries that they must have no more, as key:Effect.
	Retired []string `json:"retired,omitempty"`
	// Proof shows that the resource itself has written what is retired. See record.Seal.
	Proof     string    `json:"proof,omitempty"`
	StartedAt time.Time `json:"startedAt"`
	// Machines are those that a cycle replaces: all that there were when it began.
	// What has come since is new.
	Machines []types.UID `json:"machines,omitempty"`
}

// Scales reports whether the rollout changes spec.replicas.
func (m *Marker) Scales() bool { return m.Strategy.Scales() }

// ErrNoCount reports that a marker does not hold the number of replicas from before the rollout.
var ErrNoCount = errors.New("originalReplicas is missing")

// ParseMarker reads the annotation's value; an empty one is none. One that cannot
// be read, or that no rollout writes, is an error: the number of replicas may be in it, and
// a user who may patch the MachineSet may have written it. Errors: *record.DamagedError.
func ParseMarker(s string) (*Marker, error) {
	if s == "" {
		return nil, nil
	}
	var m struct {
		Marker
		// OriginalReplicas tells a count of zero from none.
		OriginalReplicas *int `json:"originalReplicas"`
	}
	err := errors.Join(printable.JSON(s), json.Unmarshal([]byte(s), &m))
	if err == nil && m.OriginalReplicas == nil {
		err = ErrNoCount
	}
	if err == nil {
		m.Marker.OriginalReplicas = *m.OriginalReplicas
		err = m.valid()
	}
	if err != nil {
		return nil, &record.DamagedError{Annotation: MarkerAnnotation, Err: err}
	}
	return &m.Marker, nil
}

// valid returns an error for a marker that no rollout writes. Counts are those of spec.replicas, an int32, and
// no rollout adds more machines than it replaces.
func (m *Marker) valid() error {
	switch {
	case m.Strategy != InPlace && !m.Strategy.Replaces():
		return fmt.Errorf("strategy is %q", m.Strategy)
	case m.OriginalReplicas < 0 || m.OriginalReplicas > math.MaxInt32:
		return fmt.Errorf("originalReplicas is %d", m.OriginalReplicas)
	case m.Surge < 0 || m.Surge > min(m.OriginalReplicas, math.MaxInt32-m.OriginalReplicas) || m.Surge > 0 && m.Strategy != Surge:
		return fmt.Errorf("surge is %d", m.Surge)
	}
	return nil
}

// String writes the annotation's value, "" for no marker.
func (m *Marker) String() string {
	if m == nil {
		return ""
	}
	out, err := json.Marshal(m)
	if err != nil {
		panic(fmt.Sprintf("a marker of strings and numbers always marshals: %v", err))
	}
	return string(out)
}

// Sealed is what the proof of the marker is of.
func (m *Marker) Sealed() record.Sealed {
	return record.Sealed{Proof: m.Proof, Parts: append([]string{"marker"}, m.Retired...)}
}

// of reports whether there is a marker, and a claim to the MachineSet's entries has written it.
// A rollout without taints claims none, so that nothing is retired by its marker, whatever its writer.
func (m *Marker) of(claim taint.Claim) bool {
	return m != nil && claim.Generation != "" && m.ID == claim.Owner && claim.Seal.Proves(m.Sealed())
}

// retired returns the identities of the retired entries, without those that no resource can
// own: others may write the annotation.
func (m *Marker) retired() []taint.ID {
	var out []taint.ID
	for _, s := range m.Retired {
		key, effect, ok := strings.Cut(s, ":")
		if id := (taint.ID{Key: key, Effect: corev1.TaintEffect(effect)}); ok && taint.Ownable(id) {
			out = append(out, id)
		}
	}
	return out
}

// mark begins a rollout, or goes on with one of the same resource whose taints
// have changed since.
func (v *view) mark(surge int, now time.Time) *Marker {
	m := Marker{ID: v.desired.Claim.Owner, Strategy: v.strategy(), OriginalReplicas: v.Set.Replicas, Surge: surge, StartedAt: now.UTC().Truncate(time.Second)}
	if v.marker != nil {
		m = *v.marker
	}
	if v.desired.Cycle && v.marker == nil {
		for _, old := range v.old {
			m.Machines = append(m.Machines, old.UID)
		}
	}
	m.TargetTaints, m.Retired = []string{}, nil
	for _, id := range v.template.Ours {
		if at := taint.Find(v.template.Taints, id); at >= 0 {
			m.TargetTaints = append(m.TargetTaints, taint.Format(v.template.Taints[at]))
		} else {
			m.Retired = append(m.Retired, id.String())
		}
	}
	m.Proof = v.desired.Claim.On(v.Set.Object()).Seal.Proof(m.Sealed().Parts...)
	return &m
}
