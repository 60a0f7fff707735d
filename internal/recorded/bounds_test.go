// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package recorded_test

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/recorded"
)

// rec is a record of a file.
func rec(kind byte, content string) []byte {
	return append(binary.AppendUvarint([]byte{kind}, uint64(len(content))), content...)
}

// sealed returns a file with these records and the end that fits them.
func sealed(t testing.TB, objects int, records []byte) []byte {
	t.Helper()
	digest := sha256.Sum256(records)
	return packed(t, append(bytes.Clone(records), rec('E', fmt.Sprintf(`{"objects":%d,"digest":"%s"}`, objects, hex.EncodeToString(digest[:])))...))
}

// taken returns how many MiB a function allocates, those that it frees on the way too.
func taken(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return (after.TotalAlloc - before.TotalAlloc) >> 20
}

// TestRead_theObjectsOfAllKindsAreBounded reads small files of many small objects, of one kind and of several.
func TestRead_theObjectsOfAllKindsAreBounded(t *testing.T) { //nolint:paralleltest // It measures memory.
	acctest.TooLong(t)
	const each = 500_000
	for name, tt := range map[string]struct {
		object string
		kinds  int
		want   string
	}{
		"empty objects":             {"", 2, "an object of kind nodes"},
		"objects without a name":    {"{}", 2, "an object of kind nodes"},
		"valid objects of one kind": {`{"metadata":{"name":"a"}}`, 1, "records from"},
		"valid objects of 10 kinds": {`{"metadata":{"name":"a"}}`, 10, "records from"},
	} {
		b := bytes.NewBufferString(head)
		z, err := gzip.NewWriterLevel(b, gzip.BestSpeed)
		if err != nil {
			t.Fatal(err)
		}
		parts := [][]byte{rec('H', `{"serves":[]}`)}
		for k := range tt.kinds {
			parts = append(parts, rec('K', fmt.Sprintf(`{"version":"v%d","resource":"nodes","kind":"Node"}`, k+1)), bytes.Repeat(rec('O', tt.object), each/tt.kinds))
		}
		for _, part := range parts {
			if _, err := z.Write(part); err != nil {
				t.Fatal(err)
			}
		}
		if err := z.Close(); err != nil {
			t.Fatal(err)
		}
		used := taken(func() { _, err = recorded.Read(bytes.NewReader(b.Bytes())) })
		if !errors.Is(err, recorded.ErrDamaged) || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v", name, err)
		}
		if used > 200 {
			t.Errorf("%s: a file of %d KiB takes %d MiB", name, b.Len()>>10, used)
		}
	}
}

func TestRead_kindsAreBounded(t *testing.T) { //nolint:paralleltest // It measures memory.
	var many []byte
	for k := range 20_000 {
		many = append(many, rec('K', fmt.Sprintf(`{"version":"v1","resource":"r%d","kind":"R"}`, k))...)
	}
	for name, tt := range map[string]struct {
		kinds []byte
		want  string
	}{
		"many kinds":             {many, "more than 10000 kinds"},
		"a kind with many texts": {rec('K', `{"version":"v1","some":[`+strings.Repeat(`"",`, 1<<20)+`""]}`), "a kind has 3145"},
		"some of many objects":   {rec('K', `{"version":"v1","some":[`+strings.Repeat(`"",`, 100)+`""]}`), "a kind"},
	} {
		var err error
		file := sealed(t, 0, append(rec('H', `{"serves":[]}`), tt.kinds...))
		used := taken(func() { _, err = recorded.Read(bytes.NewReader(file)) })
		if !errors.Is(err, recorded.ErrDamaged) || !strings.Contains(err.Error(), tt.want) || used > 60 {
			t.Errorf("%s: %d MiB, %v", name, used, err)
		}
	}
}

func TestRead_whatAClusterServesIsBounded(t *testing.T) {
	t.Parallel()
	header := func(groups, resources int) []byte {
		var s strings.Builder
		for i := range groups {
			if i > 0 {
				s.WriteString(",")
			}
			fmt.Fprintf(&s, `{"group":"g%06d","version":"v","resources":[%s]}`, i, strings.TrimSuffix(strings.Repeat("{},", resources), ","))
		}
		return sealed(t, 0, rec('H', `{"serves":[`+s.String()+`]}`))
	}
	for _, tt := range []struct {
		groups, resources int
		damaged           bool
	}{{5_000, 5, false}, {110_000, 0, true}, {10, 11_000, true}} {
		_, err := recorded.Read(bytes.NewReader(header(tt.groups, tt.resources)))
		if tt.damaged != errors.Is(err, recorded.ErrDamaged) {
			t.Errorf("%d groups of %d kinds: %v", tt.groups, tt.resources, err)
		}
	}
}
