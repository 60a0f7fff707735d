// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package kube

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"
)

// readAhead is how much of an answer is read before it is decoded.
const readAhead = 64 << 10

// read reads a page from an answer, pod by pod, so that no more than one encoded pod is in memory. An
// answer of a page of 2,000 pods has 14 MiB, which grow in steps where they are read as a whole.
// Errors: those of the connection, and of what is no list of pods.
func (p *podPage) read(from io.Reader) error {
	in := &message{from: bufio.NewReaderSize(from, readAhead), left: -1}
	if prefix, err := in.from.Peek(len(protobufPrefix)); err != nil {
		return cut(err)
	} else if !bytes.Equal(prefix, protobufPrefix) {
		// A server that knows no protobuf, such as a proxy, answers with JSON.
		return cut(json.NewDecoder(in.from).Decode(p))
	}
	_, _ = in.from.Discard(len(protobufPrefix)) // They have been peeked at.
	for listed := false; ; {
		number, size, err := in.next()
		if errors.Is(err, io.EOF) && listed {
			return nil
		}
		if err != nil {
			return cut(err)
		}
		switch number {
		case 1:
			err = p.ofType(in, size)
		case 2:
			// The last content counts where there are two.
			*p, listed = podPage{slim: p.slim}, true
			err = p.readList(&message{from: in.from, left: size})
		default:
			err = in.skip(size)
		}
		if err != nil {
			return err
		}
	}
}

// ofType reads the type of the answer.
func (p *podPage) ofType(in *message, size int64) error {
	content, err := in.bytes(size, nil)
	if err != nil {
		return err
	}
	kind, err := kindIn(content)
	if err != nil {
		return err
	}
	return podsIn(kind)
}

// readList reads a PodList in its protobuf form: its metadata (1) and its pods (2).
func (p *podPage) readList(in *message) error {
	var buffer []byte
	for in.left > 0 {
		number, size, err := in.next()
		if err != nil {
			return cut(err)
		}
		if number != 1 && number != 2 {
			if err := in.skip(size); err != nil {
				return err
			}
			continue
		}
		if buffer, err = in.bytes(size, buffer); err != nil {
			return err
		}
		if number == 1 {
			err = p.ListMeta.Unmarshal(buffer)
		} else {
			err = p.add(buffer)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// message is a protobuf message that is read as it arrives.
type message struct {
	from *bufio.Reader
	left int64 // -1 where the message ends with the answer.
}

// next reads up to the content of a field, and returns its number and how long the content is.
// io.EOF: there is none.
func (m *message) next() (protowire.Number, int64, error) {
	tag, err := m.varint()
	if err != nil {
		return 0, 0, err
	}
	number, form := protowire.DecodeTag(tag)
	size := uint64(0)
	switch form {
	case protowire.BytesType:
		size, err = m.varint()
	case protowire.VarintType:
		_, err = m.varint()
	case protowire.Fixed32Type:
		size = 4
	case protowire.Fixed64Type:
		size = 8
	default:
		err = fmt.Errorf("read a field of a protobuf message: %w", protowire.ParseError(protowire.ConsumeFieldValue(number, form, nil)))
	}
	if err != nil {
		return 0, 0, cut(err)
	}
	if number < protowire.MinValidNumber || size > 1<<40 || m.left >= 0 && int64(size) > m.left {
		return 0, 0, fmt.Errorf("read field %d of a protobuf message: it has %d bytes, of which %d are there", number, size, m.left)
	}
	return number, int64(size), nil
}

// bytes reads so many bytes into a buffer. One of more than etcd ever holds grows as they arrive.
func (m *message) bytes(size int64, buffer []byte) ([]byte, error) {
	m.took(size)
	if size > 4<<20 {
		into := &bytes.Buffer{}
		_, err := io.CopyN(into, m.from, size)
		return into.Bytes(), cut(err)
	}
	buffer = slices.Grow(buffer[:0], int(size))[:size]
	_, err := io.ReadFull(m.from, buffer)
	return buffer, cut(err)
}

func (m *message) skip(size int64) error {
	m.took(size)
	_, err := io.CopyN(io.Discard, m.from, size)
	return cut(err)
}

func (m *message) varint() (uint64, error) {
	return binary.ReadUvarint(m)
}

// ReadByte reads one byte of the message.
func (m *message) ReadByte() (byte, error) {
	if m.left == 0 {
		return 0, io.ErrUnexpectedEOF
	}
	m.took(1)
	return m.from.ReadByte()
}

func (m *message) took(size int64) {
	if m.left > 0 {
		m.left -= size
	}
}

// cut returns an error of an answer that ends where something is missing.
func cut(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}
