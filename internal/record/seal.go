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
// up: a user who may patch an object may write its annotations, a kubelet those of its node. A
// claim contains a Seal, and each of its marks a proof of what it marks, and on which object.
type Seal struct {
	// Nonce is random, and kept in the private state alone. The zero value proves nothing and
	// believes everything.
	Nonce string
	// Object is what carries the marks, such as Node/worker-1: a mark that is copied to another
	// object proves nothing there. Kinds that the provider does not know have their group, as in
	// Cluster.example.com/shop/db.
	Object string
	// UID is that of a node, which can be made anew under its name.
	UID string
	// Epoch is counted up by each apply that comes to its end, and is part of the proofs that are
	// made in it: one of this epoch is from an apply that has been interrupted.
	Epoch int
	// Resource is the id of the resource, where it is known, and Generation that of its marks.
	Resource, Generation string
	// Live is set where the resource was in the run that made the plan: marks with its id that are of
	// no generation of it are made up.
	Live bool
	// Held are the marks of earlier epochs that count. One that is not among them was given up,
	// and another writer has written it back.
	Held Held
}

// On is the seal of the marks of one object, such as Deployment/shop/web.
func (s Seal) On(object string) Seal {
	s.Object, s.UID = object, ""
	return s
}

// OnNode is the seal of the marks of a node, which can be made anew under its name.
func (s Seal) OnNode(name string, uid string) Seal {
	s.Object, s.UID = "Node/"+name, uid
	return s
}

// former is the seal that builds made which left groups out of the names of objects.
func (s Seal) former() Seal {
	kind, name, _ := strings.Cut(s.Object, "/")
	if plain, _, grouped := strings.Cut(kind, "."); grouped {
		s.Object = plain + "/" + name
	}
	return s
}

// Sealed is what counts of a mark, and the proof of it that the mark carries.
type Sealed struct {
	Proof string
	Parts []string
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

// Proves reports whether a mark is believed: one with a proof, or one that was seen when there
// were no proofs.
func (s Seal) Proves(m Sealed) bool {
	return s.Nonce == "" || s.made(m) || s.sawIt(m)
}

// Saw reports whether an import, or what found a lost private state out again, has seen a mark as
// it is now. Where it is not known what is held, it may have seen anything.
func (s Seal) Saw(m Sealed) bool {
	return s.Nonce == "" || s.Held == nil || s.sawIt(m) || s.has(anyProof)
}

// made reports whether the resource has made the proof, and still has the mark.
func (s Seal) made(m Sealed) bool {
	then, former := s, s.former()
	then.Epoch, former.Epoch = epochOf(m.Proof), epochOf(m.Proof)
	if !hmac.Equal([]byte(m.Proof), []byte(then.Proof(m.Parts...))) && !hmac.Equal([]byte(m.Proof), []byte(former.Proof(m.Parts...))) {
		return false
	}
	return s.Held == nil || then.Epoch >= s.Epoch || s.has(m.Proof) || s.has(anyProof)
}

// Renew returns the proof of a mark that stands with one: that, where the resource has made it. So
// an epoch alone rewrites no mark.
func (s Seal) Renew(m Sealed) string {
	if m.Proof != "" && s.made(m) {
		return m.Proof
	}
	return s.Proof(m.Parts...)
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
