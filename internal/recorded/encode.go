// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package recorded

import (
	"compress/gzip"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash"
	"io"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// encoder writes the records of a file. The first error is kept.
type encoder struct {
	zip     *gzip.Writer
	digest  hash.Hash
	objects int
	head    []byte
	// bytes is how many bytes there are before compression.
	bytes int64
	// last is how many objects there were when the kind began, of which a list that begins anew
	// takes away all that came since.
	last  int
	begun map[schema.GroupVersionResource]bool
	err   error
}

func newEncoder(w io.Writer, header Header) (*encoder, error) {
	if _, err := w.Write(append([]byte(magic), version)); err != nil {
		return nil, err
	}
	// The best speed halves the time of the default level, and writes a tenth more.
	zip, err := gzip.NewWriterLevel(w, gzip.BestSpeed)
	if err != nil {
		return nil, err
	}
	e := &encoder{zip: zip, digest: sha256.New(), begun: map[schema.GroupVersionResource]bool{}}
	if err := header.bounded(); err != nil {
		return nil, err
	}
	e.json(recordHeader, header)
	return e, e.err
}

// kind begins the objects of a kind. Errors: the objects of that kind are in the file already, and a reader
// would forget them.
func (e *encoder) kind(k kindRecord) error {
	if e.begun[k.gvr()] && e.err == nil {
		e.err = fmt.Errorf("%s are recorded twice", k.gvr().GroupResource())
	}
	e.begun[k.gvr()], e.last = true, e.objects
	if len(e.begun) > maxKinds && e.err == nil {
		e.err = tooLarge("kinds", maxKinds)
	}
	e.json(recordKind, k)
	return e.err
}

// again begins the objects of the same kind anew.
func (e *encoder) again(k kindRecord) error {
	if e.objects == e.last {
		return e.err
	}
	return e.instead(k)
}

// instead begins a kind in the place of the one before, whose objects do not count.
func (e *encoder) instead(k kindRecord) error {
	e.objects = e.last
	e.json(recordKind, k)
	return e.err
}

// object writes an object of the kind.
func (e *encoder) object(content []byte) error {
	if e.objects++; e.objects > maxObjects && e.err == nil {
		e.err = tooLarge("objects", maxObjects)
	}
	e.record(recordObject, content)
	return e.err
}

// tooLarge is the error for a cluster of which no file could be read.
func tooLarge(what string, most int) error {
	return fmt.Errorf("the cluster is too large: no more than %d %s can be recorded", most, what)
}

// close writes the end.
func (e *encoder) close() error {
	e.json(recordEnd, endRecord{Objects: e.objects, Digest: hex.EncodeToString(e.digest.Sum(nil))})
	if e.err != nil {
		return e.err
	}
	return e.zip.Close()
}

func (e *encoder) json(kind byte, content any) {
	raw, err := json.Marshal(content)
	if err != nil && e.err == nil {
		e.err = err
	}
	e.record(kind, raw)
}

func (e *encoder) record(kind byte, content []byte) {
	if e.err != nil {
		return
	}
	if len(content) > maxRecord {
		e.err = fmt.Errorf("an object has %d bytes, and no more than %d can be recorded", len(content), maxRecord)
		return
	}
	if e.bytes += int64(len(content)) + 2; e.bytes > maxBytes {
		e.err = tooLarge("bytes", maxBytes)
		return
	}
	e.head = binary.AppendUvarint(append(e.head[:0], kind), uint64(len(content)))
	for _, part := range [][]byte{e.head, content} {
		_, _ = e.digest.Write(part) // It returns no error.
		if _, err := e.zip.Write(part); err != nil {
			e.err = err
			return
		}
	}
}
