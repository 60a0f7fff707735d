// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package recorded

import (
	"bufio"
	"bytes"
	"compress/flate"
	"compress/gzip"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"hash"
	"io"
)

// decoder reads the records of a file.
type decoder struct {
	in *countedReader
	// packed is what is compressed, and r what comes out of it.
	packed *bufio.Reader
	r      *bufio.Reader
	digest hash.Hash
	// read is how many bytes there were, decompressed, and records how many records.
	read    int64
	records int64
	head    []byte
}

// countedReader counts what is read of a compressed file.
type countedReader struct {
	io.Reader
	n int64
}

func (c *countedReader) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	c.n += int64(n)
	return n, err
}

// newDecoder reads the beginning of a file. Errors: ErrForeign, ErrNewer, ErrTruncated, those of the
// reader.
func newDecoder(r io.Reader) (*decoder, error) {
	begin := make([]byte, len(magic)+1)
	n, err := io.ReadFull(r, begin)
	switch {
	case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
		if n > 0 && bytes.HasPrefix([]byte(magic), begin[:min(n, len(magic))]) {
			return nil, ErrTruncated
		}
		return nil, ErrForeign
	case err != nil:
		return nil, err
	case !bytes.HasPrefix(begin, []byte(magic)):
		return nil, ErrForeign
	case begin[len(magic)] == 0:
		return nil, damaged("its version is 0")
	case begin[len(magic)] > version:
		return nil, ErrNewer
	}
	in := &countedReader{Reader: r}
	// Of a reader by bytes gzip reads no more than the stream, so that end sees what is after it.
	packed := bufio.NewReader(in)
	zip, err := gzip.NewReader(packed)
	if err != nil {
		return nil, broken(err)
	}
	zip.Multistream(false)
	return &decoder{in: in, packed: packed, r: bufio.NewReaderSize(zip, 64<<10), digest: sha256.New()}, nil
}

// broken gives an error of a reader its class. Others, such as those of a disk, stay what they are.
func broken(err error) error {
	corrupt := flate.CorruptInputError(0)
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return ErrTruncated
	case errors.Is(err, gzip.ErrChecksum), errors.Is(err, gzip.ErrHeader), errors.As(err, &corrupt):
		return damaged("%s", err)
	}
	return err
}

// next reads a record into a buffer that it gets from take. Errors: ErrTruncated, ErrDamaged.
func (d *decoder) next(take func(size int) []byte) (kind byte, content []byte, err error) {
	if kind, err = d.r.ReadByte(); err != nil {
		return 0, nil, broken(err)
	}
	size, err := binary.ReadUvarint(d.r)
	switch {
	case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
		return 0, nil, ErrTruncated
	case err != nil:
		return 0, nil, damaged("%s", broken(err))
	case size > maxRecord:
		return 0, nil, damaged("a record has %d bytes", size)
	}
	content = take(int(size))
	if _, err := io.ReadFull(d.r, content); err != nil {
		return 0, nil, broken(err)
	}
	if kind != recordEnd {
		d.head = binary.AppendUvarint(append(d.head[:0], kind), size)
		_, _ = d.digest.Write(d.head) // It returns no error.
		_, _ = d.digest.Write(content)
	}
	if d.records++; d.records > freeRecords+d.in.n {
		return 0, nil, damaged("it has %d records from %d bytes", d.records, d.in.n)
	}
	d.read += int64(len(content)) + 2
	if d.read > maxBytes || d.read > freeBytes+maxRatio*d.in.n {
		return 0, nil, damaged("it becomes too large: %d bytes from %d", d.read, d.in.n)
	}
	return kind, content, nil
}

// end checks that a file is whole, and that nothing comes after it. Errors: ErrTruncated, ErrDamaged.
func (d *decoder) end(content []byte, objects int) error {
	var e endRecord
	if err := json.Unmarshal(content, &e); err != nil {
		return damaged("its end: %s", err)
	}
	if e.Objects != objects || e.Digest != hex.EncodeToString(d.digest.Sum(nil)) {
		return damaged("its digest is another one")
	}
	// The end of the stream has a checksum of its own.
	switch _, err := d.r.ReadByte(); {
	case err == nil:
		return damaged("there is more after its end")
	case !errors.Is(err, io.EOF):
		return broken(err)
	}
	switch _, err := d.packed.ReadByte(); {
	case err == nil:
		return damaged("there is more after its end")
	case !errors.Is(err, io.EOF):
		return err
	}
	return nil
}
