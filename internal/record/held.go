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
	"unicode/utf8"
)

const (
	// objectSize and proofSize are how many characters stand for an object and for a proof, in
	// what is remembered of a mark: few, as there is one for each mark of thousands of nodes.
	objectSize, proofSize = 4, 6
	tagSize               = objectSize + proofSize
	// anyProof stands for all proofs that the resource has made. No proof ends like this.
	anyProof = "******"
)

// Held are the marks that a resource has on its objects after an apply. A mark that it has given
// up there, and that another writer writes back, is not among them. nil stands for all marks: nothing
// is remembered yet.
type Held map[string]bool

// ParseHeld reads what String returns. Pieces that are not UTF-8 are dropped: no mark has them, and JSON
// would write them in another length.
func ParseHeld(s string) Held {
	out := Held{}
	for ; len(s) >= tagSize; s = s[tagSize:] {
		if tag := s[:tagSize]; utf8.ValidString(tag) {
			out[tag] = true
		}
	}
	return out
}

// String returns all of it, sorted.
func (h Held) String() string { return strings.Join(slices.Sorted(maps.Keys(h)), "") }

// Hold adds a mark on the seal's object that the resource has made, or has seen when there were no
// proofs.
func (h Held) Hold(s Seal, m Sealed) {
	switch {
	case s.made(m):
		h.add(s, m.Proof)
	case s.sawIt(m):
		// It is written with the next change.
		h.Note(s, m)
	}
}

// Note adds a mark that an import has seen on the seal's object. Nothing of it is written there.
func (h Held) Note(s Seal, m Sealed) { h.add(s, s.seen(m)) }

// Keep adds what the seal holds of its object, as where the marks there cannot be read. Where that is
// not known, all that the resource has made counts there.
func (h Held) Keep(s Seal) {
	if s.Held == nil {
		h.add(s, anyProof)
	}
	about := s.about()
	for tag := range s.Held {
		if about(tag) {
			h[tag] = true
		}
	}
}

// Look is what a look at an object has found: its marks, of which the seal is.
type Look struct {
	Seal  Seal
	Still []Sealed
}

// Forget takes away what is held of the seals' objects, but for the marks that are still there. All
// objects of a resource are in one call: builds that left groups out of names wrote the same for
// objects of several kinds.
func (h Held) Forget(looks ...Look) {
	kept, objects := Held{}, map[string]bool{}
	for _, look := range looks {
		s := look.Seal
		for _, object := range s.objects() {
			objects[object] = true
		}
		for _, m := range look.Still {
			for _, proof := range []string{m.Proof, s.seen(m), s.former().seen(m), anyProof} {
				for _, tag := range s.tags(proof) {
					kept[tag] = true
				}
			}
		}
	}
	maps.DeleteFunc(h, func(tag string, _ bool) bool { return objects[tag[:objectSize]] && !kept[tag] })
}

func (h Held) add(s Seal, proof string) {
	if tags := s.tags(proof); len(tags) > 0 {
		h[tags[0]] = true
	}
}

// seen is the proof of a mark that was seen. It is of no epoch, so that it must be held.
func (s Seal) seen(m Sealed) string {
	s.Epoch = 0
	return s.Proof(append([]string{"seen", m.Proof}, m.Parts...)...)
}

// sawIt reports whether what was seen of a mark is held of the seal's object.
func (s Seal) sawIt(m Sealed) bool { return s.has(s.seen(m)) || s.has(s.former().seen(m)) }

// has reports whether a proof is held of the seal's object.
func (s Seal) has(proof string) bool {
	return slices.ContainsFunc(s.tags(proof), func(tag string) bool { return s.Held[tag] })
}

// about returns what reports whether a tag is of the seal's object. It works out once what stands for
// the object: there are as many tags as marks on all objects.
func (s Seal) about() func(tag string) bool {
	objects := s.objects()
	return func(tag string) bool { return slices.Contains(objects, tag[:objectSize]) }
}

// tags are what stands for a proof: what is written now, and what builds wrote that did not know the
// UIDs of nodes, or the groups of kinds.
func (s Seal) tags(proof string) []string {
	if len(proof) < proofSize {
		return nil
	}
	objects := s.objects()
	for i := range objects {
		objects[i] += proof[len(proof)-proofSize:]
	}
	return objects
}

func (s Seal) objects() []string {
	of := func(object string) string {
		mac := hmac.New(sha256.New, []byte(s.Nonce))
		mac.Write([]byte("object\x00" + object))
		return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))[:objectSize]
	}
	switch former := s.former().Object; {
	case s.UID != "":
		return []string{of(s.Object + "\x00" + s.UID), of(s.Object)}
	case former != s.Object:
		return []string{of(s.Object), of(former)}
	}
	return []string{of(s.Object)}
}
