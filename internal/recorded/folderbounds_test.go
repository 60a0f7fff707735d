// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package recorded

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// fileOf makes a file of this size that takes no room, and returns what the file system tells of it.
func fileOf(t *testing.T, path string, size int64) fs.FileInfo {
	t.Helper()
	if err := os.WriteFile(path, []byte(`{"kind":"NodeList","items":[]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if size > 0 {
		if err := os.Truncate(path, size); err != nil {
			t.Fatal(err)
		}
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info
}

// TestOpen_filesAboveTheBoundsAreNotRead: JSON is held as a whole, and so is what a folder has of it.
func TestOpen_filesAboveTheBoundsAreNotRead(t *testing.T) {
	t.Parallel()
	const large, yaml = "the folder is too large: no more than 200000 files and 1024 MiB are read, and no file above 256 MiB", "the file is too large: no more than 64 MiB of YAML are read, and 256 MiB of JSON (kubectl get -o json)"
	for name, tt := range map[string]struct {
		size int64
		want string
	}{"nodes.json": {maxFileSize + 1, large}, "nodes.yaml": {maxYAML + 1, yaml}, "nodes.yml": {maxFileSize + 1, yaml}} {
		dir := t.TempDir()
		path := filepath.Join(dir, name)
		fileOf(t, path, tt.size)
		// As a folder, and as a file.
		for _, opened := range []string{dir, path} {
			if _, err := Open(opened); err == nil || !strings.HasSuffix(err.Error(), tt.want) {
				t.Errorf("%s: %v", opened, err)
			}
		}
	}
	for name, tt := range map[string]struct {
		before folder
		want   string
	}{
		"the last byte":        {folder{bytes: maxBytes - 30}, ""},
		"one byte too many":    {folder{bytes: maxBytes - 29}, large},
		"the last file":        {folder{files: maxFiles - 1}, ""},
		"one file too many":    {folder{files: maxFiles}, large},
		"a folder of one file": {folder{}, ""},
	} {
		path := filepath.Join(t.TempDir(), "nodes.json")
		info := fileOf(t, path, 0)
		f := newFolder()
		f.bytes, f.files = tt.before.bytes, tt.before.files
		got := ""
		if err := f.file(path, "nodes.json", info); err != nil {
			got = err.Error()
		}
		if got != tt.want {
			t.Errorf("%s: got %q", name, got)
		}
	}
}
