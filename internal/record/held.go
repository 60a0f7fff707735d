// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package record

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"maps"
	"slices"
	"strings"
)

const (
	// objectSize and proofSize are how many characters stand for an object and for a proof, in
	// what is remembered of a mark: few, as there is one for each mark of thousands of nodes.
	objectSize, proofSize = 4, 6
	tagSize               = objectSize + proofSize
)

// Held are the marks that a resource has on its objects after an apply. A mark that it has given
// up there, and that somebody writes back, is not among them. nil stands for all marks: nothing
// is remembered yet.
type Held map[string]bool

// ParseHeld reads what String returns.
func ParseHeld(s string) Held {
	out := Held{}
	for ; len(s) >= tagSize; s = s[tagSize:] {
		out[s[:tagSize]] = true
	}
	return out
}

// String returns all of it, sorted.
func (h Held) String() string { return strings.Join(slices.Sorted(maps.Keys(h)), "") }

// Hold adds a mark on the seal's object, by its proof.
func (h Held) Hold(s Seal, proof string) {
	if len(proof) >= proofSize {
		h[s.tag(proof)] = true
	}
}

// Keep adds what others has of the seal's object, as where its marks cannot be read.
func (h Held) Keep(s Seal, others Held) {
	object := s.object()
	for tag := range others {
		if strings.HasPrefix(tag, object) {
			h[tag] = true
		}
	}
}

// Retain adds what the seal holds of a mark on its object, by its proof.
func (h Held) Retain(s Seal, proof string) {
	if len(proof) >= proofSize && s.Held[s.tag(proof)] {
		h[s.tag(proof)] = true
	}
}

// Note adds what an import has seen on the seal's object. Nothing of it is written there.
func (h Held) Note(s Seal, parts ...string) { h.Hold(s, s.noted(parts)) }

// Saw reports whether Note has added this. Where nothing is held, it may have been anything.
func (s Seal) Saw(parts ...string) bool {
	s.Lenient = false
	return s.Proves(s.noted(parts), parts...)
}

// ProvesSeen is Proves on an object that a configuration does not name: where proofs are lost, a
// mark is believed there that an import has seen.
func (s Seal) ProvesSeen(sight []string, proof string, parts ...string) bool {
	if !s.Lenient {
		return s.Proves(proof, parts...)
	}
	saw := s.Saw(sight...)
	s.Lenient = false
	return saw || s.Proves(proof, parts...)
}

// noted is the proof of an epoch of which all have to be held.
func (s Seal) noted(parts []string) string {
	s.Epoch = 0
	return s.Proof(parts...)
}

func (s Seal) tag(proof string) string {
	return s.object() + proof[len(proof)-proofSize:]
}

func (s Seal) object() string {
	mac := hmac.New(sha256.New, []byte(s.Nonce))
	mac.Write([]byte("object\x00" + s.Object))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))[:objectSize]
}
