// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package kubectlplugin_test

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
)

// TestSnapshot_printsNoControlCharactersOfAFile: a file comes from another writer, and its texts must not control the
// terminal or the pipeline that they are printed in.
func TestSnapshot_printsNoControlCharactersOfAFile(t *testing.T) {
	t.Parallel()
	acctest.OnFake(t, func(t *testing.T, c *acctest.Cluster) {
		var records []byte
		for _, r := range []string{
			`H{"taken":"2026-11-01T12:00:00Z","server":"\u001b[2J\u001b]0;x\u0007https://prod\n::error::x","serves":[]}`,
			`K{"version":"v1","resource":"\u001b[31mjobs\n::error::y","kind":"Job","state":"forbidden"}`,
			`K{"version":"v1","resource":"nodes","kind":"Node"}`,
			`K{"version":"v1","resource":"pods","kind":"Pod"}`,
		} {
			records = append(binary.AppendUvarint(append(records, r[0]), uint64(len(r)-1)), r[1:]...)
		}
		digest := sha256.Sum256(records)
		end := `{"objects":0,"digest":"` + hex.EncodeToString(digest[:]) + `"}`
		records = append(binary.AppendUvarint(append(records, 'E'), uint64(len(end))), end...)
		b := bytes.NewBufferString("kubetaint snapshot\n\x01")
		z := gzip.NewWriter(b)
		if _, err := z.Write(records); err != nil {
			t.Fatal(err)
		}
		if err := z.Close(); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(t.TempDir(), "cluster.kts")
		if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
		got := newReader(t, c).run(t, "untolerated", "web", "--snapshot", path)
		if !strings.Contains(got.err, "https://prod") || strings.ContainsAny(got.err+got.out, "\x1b\x07") || strings.Contains(got.err+got.out, "\n::") {
			t.Errorf("%q", got.err)
		}
	})
}
