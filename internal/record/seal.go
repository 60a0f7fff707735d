// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package record

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
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
}

// Proof returns the proof of a mark, "" without a nonce.
func (s Seal) Proof(parts ...string) string {
	if s.Nonce == "" {
		return ""
	}
	mac := hmac.New(sha256.New, []byte(s.Nonce))
	mac.Write([]byte(s.Object + "\x00" + strings.Join(parts, "\x00")))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil)[:12])
}

// Proves reports whether a mark with this proof is believed.
func (s Seal) Proves(proof string, parts ...string) bool {
	return s.Nonce == "" || s.Lenient || hmac.Equal([]byte(proof), []byte(s.Proof(parts...)))
}
