// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package recorded_test

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/recorded"
)

// head is how a file begins before its compressed records.
const head = "kubetaint snapshot\n\x01"

// packed returns a file with these records.
func packed(t testing.TB, records []byte) []byte {
	t.Helper()
	b := bytes.NewBufferString(head)
	z := gzip.NewWriter(b)
	if _, err := z.Write(records); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// ends returns where each record of a file ends.
func ends(t testing.TB, records []byte) []int {
	t.Helper()
	var out []int
	for at := 0; at < len(records); {
		size, n := binary.Uvarint(records[at+1:])
		if n <= 0 {
			t.Fatalf("no record at %d", at)
		}
		at += 1 + n + int(size)
		out = append(out, at)
	}
	return out
}

// shopFile is a valid file.
func shopFile(t testing.TB) []byte {
	t.Helper()
	api := shop()
	defer api.Close()
	file, _ := record(t, api.Client(), recorded.Options{})
	return file
}

func TestRead_aFileThatEndsEarlyIsTruncated(t *testing.T) {
	t.Parallel()
	file := shopFile(t)
	for size := 1; size < len(file); size += 1 + size/50 {
		if _, err := recorded.Read(bytes.NewReader(file[:size])); !errors.Is(err, recorded.ErrTruncated) {
			t.Errorf("the first %d of %d bytes: %v", size, len(file), err)
		}
	}
	records := plain(t, file)
	for _, end := range ends(t, records) {
		_, err := recorded.Read(bytes.NewReader(packed(t, records[:end])))
		if whole := end == len(records); whole && err != nil || !whole && !errors.Is(err, recorded.ErrTruncated) {
			t.Errorf("the first %d of %d bytes of the records: %v", end, len(records), err)
		}
	}
}

func TestRead_aFlippedBitIsDamage(t *testing.T) {
	t.Parallel()
	file := shopFile(t)
	records := plain(t, file)
	random := rand.New(rand.NewPCG(1, 1))
	// The header of the compressed stream has a time and a system that nothing reads.
	for at := len(head) + 10; at < len(file); at += 1 + random.IntN(40) {
		changed := bytes.Clone(file)
		changed[at] ^= 1 << random.IntN(8)
		// A bit can be one that decompression does not read.
		if _, err := recorded.Read(bytes.NewReader(changed)); err == nil && !bytes.Equal(records, plain(t, changed)) {
			t.Errorf("a bit of byte %d of %d is another one, and nothing is said", at, len(file))
		}
	}
}

// TestRead_filesOfVersion1StayReadable reads a file of the shop as version 1 has written it. A change that
// this cannot read needs a new version, and both must be read.
func TestRead_filesOfVersion1StayReadable(t *testing.T) {
	t.Parallel()
	c, err := recorded.Open(filepath.Join("testdata", "version1.kts"))
	if err != nil {
		t.Fatal(err)
	}
	s, err := connect(t, c.Transport()).Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Nodes) != 2 || len(s.Pods["a"]) != 6 || len(s.Parents) != 2 || len(s.Daemons) != 1 || len(s.Budgets["shop"]) != 1 || len(s.Volumes["shop"]) != 1 || len(s.Gaps) > 0 {
		t.Errorf("%d nodes, %d pods, %d parents, %d DaemonSets, %d PodDisruptionBudgets, %d volumes, gaps %q", len(s.Nodes), len(s.Pods["a"]), len(s.Parents), len(s.Daemons), len(s.Budgets["shop"]), len(s.Volumes["shop"]), s.Gaps)
	}
	if s.Quotas != nil || s.LimitRanges != nil {
		t.Errorf("quotas %v and LimitRanges %v, which it does not have", s.Quotas, s.LimitRanges)
	}
}

func TestRead_otherFilesAreNamed(t *testing.T) {
	t.Parallel()
	file := shopFile(t)
	newer := bytes.Clone(file)
	newer[len(head)-1] = 2
	none := bytes.Clone(file)
	none[len(head)-1] = 0
	records := plain(t, file)
	last := ends(t, records)
	for _, tt := range []struct {
		name string
		file []byte
		want error
	}{
		{"an empty file", nil, recorded.ErrForeign},
		{"a text", []byte("apiVersion: v1\nkind: List\nitems: []\n"), recorded.ErrForeign},
		{"another archive", append([]byte{0x1f, 0x8b, 8, 0}, make([]byte, 100)...), recorded.ErrForeign},
		{"a newer version", newer, recorded.ErrNewer},
		{"no version", none, recorded.ErrDamaged},
		{"a record of another type", packed(t, append([]byte("X\x00"), records...)), recorded.ErrDamaged},
		{"an object before a kind", packed(t, append(bytes.Clone(records[:last[0]]), "O\x02{}"...)), recorded.ErrDamaged},
		{"a record that is too long", packed(t, binary.AppendUvarint([]byte("H"), 1<<40)), recorded.ErrDamaged},
		{"more after the end", packed(t, append(bytes.Clone(records), 'O', 0)), recorded.ErrDamaged},
		{"an object less", packed(t, append(bytes.Clone(records[:last[len(last)-3]]), records[last[len(last)-2]:]...)), recorded.ErrDamaged},
		{"a compressed stream that is none", []byte(head + "these bytes are not compressed"), recorded.ErrDamaged},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if _, err := recorded.Read(bytes.NewReader(tt.file)); !errors.Is(err, tt.want) {
				t.Errorf("got %v, want %v", err, tt.want)
			}
		})
	}
}

func TestRead_bytesAfterTheEndAreDamage(t *testing.T) {
	t.Parallel()
	file := shopFile(t)
	for name, more := range map[string][]byte{"a byte": {0}, "ten bytes": make([]byte, 10), "another file": file, "another compressed stream": file[len(head):]} {
		if _, err := recorded.Read(bytes.NewReader(append(bytes.Clone(file), more...))); !errors.Is(err, recorded.ErrDamaged) {
			t.Errorf("%s after the end: %v", name, err)
		}
	}
}

// bombSize is far above what so small a file may become.
const bombSize = 40 << 20

// bomb is a small file of many equal records.
func bomb(t testing.TB, of int) []byte {
	t.Helper()
	b := bytes.NewBufferString(head)
	z, err := gzip.NewWriterLevel(b, gzip.BestSpeed)
	if err != nil {
		t.Fatal(err)
	}
	write := func(record []byte) {
		if _, err := z.Write(record); err != nil {
			t.Fatal(err)
		}
	}
	header := []byte(`{"serves":[]}`)
	write(append(binary.AppendUvarint([]byte("H"), uint64(len(header))), header...))
	kind := []byte(`{"version":"v1","resource":"nodes","kind":"Node"}`)
	write(append(binary.AppendUvarint([]byte("K"), uint64(len(kind))), kind...))
	content := make([]byte, of)
	record := append(binary.AppendUvarint([]byte("O"), uint64(of)), content...)
	for range bombSize / len(record) {
		write(record)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestRead_aDecompressionBombTakesLittleMemory(t *testing.T) { //nolint:paralleltest // It measures memory.
	for _, of := range []int{1000, 1 << 20} {
		file := bomb(t, of)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := recorded.Read(bytes.NewReader(file))
		runtime.ReadMemStats(&after)
		if !errors.Is(err, recorded.ErrDamaged) {
			t.Errorf("records of %d bytes: %v", of, err)
		}
		if used := (after.TotalAlloc - before.TotalAlloc) >> 20; used > 20 {
			t.Errorf("records of %d bytes took %d MiB", of, used)
		}
	}
}

func TestWriteFile_aFailureLeavesNoFile(t *testing.T) {
	t.Parallel()
	api := shop()
	defer api.Close()
	path := filepath.Join(t.TempDir(), "cluster.kts")
	if err := os.WriteFile(path, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	client := api.Client()
	source := connect(t, client)
	if _, err := recorded.WriteFile(t.Context(), path, forbidden{source}, recorded.Options{}); err == nil {
		t.Error("a cluster whose pods may not be listed was recorded")
	}
	entries, err := os.ReadDir(filepath.Dir(path))
	if content, _ := os.ReadFile(path); err != nil || len(entries) != 1 || string(content) != "old" {
		t.Errorf("the folder has %v, the file %q: %v", entries, content, err)
	}
	if _, err := recorded.WriteFile(t.Context(), path, source, recorded.Options{}); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file has mode %v: %v", info.Mode(), err)
	}
	if _, err := recorded.Open(path); err != nil {
		t.Error(err)
	}
}

func TestWriteFile_aFolderIsAnErrorBeforeRecording(t *testing.T) {
	t.Parallel()
	// There is no source: nothing is asked of it.
	_, err := recorded.WriteFile(t.Context(), t.TempDir(), nil, recorded.Options{})
	if !errors.Is(err, syscall.EISDIR) {
		t.Errorf("error: %v", err)
	}
}

func TestWriteFile_aDeviceIsWrittenToAndNotReplaced(t *testing.T) {
	t.Parallel()
	api := shop()
	defer api.Close()
	link := filepath.Join(t.TempDir(), "out")
	if err := os.Symlink(os.DevNull, link); err != nil {
		t.Skip(err)
	}
	if summary, err := recorded.WriteFile(t.Context(), link, connect(t, api.Client()), recorded.Options{}); err != nil || summary.Pods != 6 {
		t.Errorf("summary %+v: %v", summary, err)
	}
	if info, err := os.Stat(link); err != nil || info.Mode().IsRegular() {
		t.Errorf("the device is now %v: %v", info.Mode(), err)
	}
}

func TestWriteFile_theFileThatALinkLeadsToIsReplaced(t *testing.T) {
	t.Parallel()
	api := shop()
	defer api.Close()
	dir := t.TempDir()
	file, link := filepath.Join(dir, "cluster.kts"), filepath.Join(dir, "link")
	if err := os.WriteFile(file, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(file, link); err != nil {
		t.Skip(err)
	}
	if _, err := recorded.WriteFile(t.Context(), link, connect(t, api.Client()), recorded.Options{}); err != nil {
		t.Fatal(err)
	}
	if _, err := recorded.Open(file); err != nil {
		t.Error(err)
	}
	if info, err := os.Lstat(link); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link is now %v: %v", info.Mode(), err)
	}
}

// FuzzRead changes valid files: whatever they are, Read returns an error or a cluster that answers.
func FuzzRead(f *testing.F) {
	file := shopFile(f)
	records := plain(f, file)
	f.Add(file)
	for _, end := range ends(f, records) {
		f.Add(packed(f, records[:end]))
		f.Add(file[:len(file)*end/len(records)])
	}
	random := rand.New(rand.NewPCG(2, 2))
	for range 50 {
		changed := bytes.Clone(file)
		changed[random.IntN(len(changed))] ^= 1 << random.IntN(8)
		f.Add(changed)
		inner := bytes.Clone(records)
		inner[random.IntN(len(inner))] ^= 1 << random.IntN(8)
		f.Add(packed(f, inner))
	}
	f.Add(bomb(f, 4000)[:1000])
	f.Fuzz(func(t *testing.T, file []byte) {
		for _, content := range [][]byte{file, packed(t, file)} {
			c, err := recorded.Read(io.LimitReader(bytes.NewReader(content), 1<<20))
			if err != nil {
				continue
			}
			// An error of a kind is an answer.
			_, _ = connect(t, c.Transport()).Snapshot(t.Context())
		}
	})
}
