// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package record

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"strconv"
	"strings"
)

// Seal tells the marks that a resource has written from those that others have copied or made
// up: whoever may patch an object may write its annotations, a kubelet those of its node. A
// claim contains a Seal, and each of its marks a proof of what it marks, and on which object.
type Seal struct {
	// Nonce is random, and kept in the private state alone. The zero value proves nothing and
	// believes everything.
	Nonce string
	// Lenient believes marks without a proof, as where the nonce that they were written with is
	// lost.
	Lenient bool
	// Object is what carries the marks, such as Node/worker-1: a mark that is copied to another
	// object proves nothing there.
	Object string
	// Epoch is counted up by each apply that comes to its end, and is part of the proofs that are
	// made in it: one of this epoch is from an apply that has been interrupted.
	Epoch int
	// Held are the marks of earlier epochs that count. One that is not among them was given up,
	// and somebody has written it back.
	Held Held
}

// Proof returns the proof of a mark, "" without a nonce.
func (s Seal) Proof(parts ...string) string {
	if s.Nonce == "" {
		return ""
	}
	key, prefix := s.Nonce, ""
	if s.Epoch > 0 {
		// Builds before there were epochs made the proofs of the first one.
		epoch := strconv.Itoa(s.Epoch)
		key, prefix = s.Nonce+"\x00"+epoch, epoch+"."
	}
	mac := hmac.New(sha256.New, []byte(key))
	mac.Write([]byte(s.Object + "\x00" + strings.Join(parts, "\x00")))
	return prefix + base64.RawURLEncoding.EncodeToString(mac.Sum(nil)[:12])
}

// Proves reports whether a mark with this proof is believed.
func (s Seal) Proves(proof string, parts ...string) bool {
	if s.Nonce == "" || s.Lenient {
		return true
	}
	made := s
	made.Epoch = epochOf(proof)
	if !hmac.Equal([]byte(proof), []byte(made.Proof(parts...))) {
		return false
	}
	return s.Held == nil || made.Epoch >= s.Epoch || s.Held[s.tag(proof)]
}

// Renew returns the proof of a mark that stands with one: that, where it is believed. So an
// epoch alone rewrites no mark.
func (s Seal) Renew(old string, parts ...string) string {
	if old != "" && !s.Lenient && s.Proves(old, parts...) {
		return old
	}
	return s.Proof(parts...)
}

// epochOf returns the epoch of a proof, 0 for none.
func epochOf(proof string) int {
	text, _, _ := strings.Cut(proof, ".")
	epoch, err := strconv.Atoi(text)
	if err != nil {
		return 0
	}
	return epoch
}
