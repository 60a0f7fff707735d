// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestCacheKeyFollowsEverythingThatIsBuilt(t *testing.T) {
	t.Parallel()
	const goVersion = "go1.26.0"
	base := component{name: "thing", version: "v1.0.0", pkg: "."}
	module := func(files map[string]string) string {
		dir := t.TempDir()
		for name, content := range files {
			path := filepath.Join(dir, name)
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		return dir
	}
	key := func(c component, dir, goVersion string) string {
		key, err := cacheKey(c, dir, goVersion)
		if err != nil {
			t.Fatal(err)
		}
		return key
	}
	original := key(base, module(map[string]string{"go.mod": "module a", "sub/a.go": "package a"}), goVersion)

	same := key(base, module(map[string]string{"go.mod": "module a", "sub/a.go": "package a"}), goVersion)
	if same != original {
		t.Errorf("another folder with the same files has key %s, want %s", same, original)
	}

	tested := key(base, module(map[string]string{"go.mod": "module a", "sub/a.go": "package a", "sub/a_test.go": "package a"}), goVersion)
	if tested != original {
		t.Errorf("with a test the key is %s, want %s", tested, original)
	}

	another := key(base, module(map[string]string{"go.mod": "module a", "sub/a.go": "package a", "1.36.mod": "module b", "1.36.sum": ""}), goVersion)
	if another != original {
		t.Errorf("with the go.mod of another component the key is %s, want %s", another, original)
	}

	linked := base
	linked.vars = []string{"main.version=1"}
	withC := base
	withC.cgo = true
	for name, changed := range map[string]string{
		"a file's content":    key(base, module(map[string]string{"go.mod": "module a", "sub/a.go": "package b"}), goVersion),
		"a file's name":       key(base, module(map[string]string{"go.mod": "module a", "sub/b.go": "package a"}), goVersion),
		"a nested go.mod":     key(base, module(map[string]string{"go.mod": "module a", "sub/a.go": "package a", "sub/1.mod": ""}), goVersion),
		"a new file":          key(base, module(map[string]string{"go.mod": "module a", "sub/a.go": "package a", "x": ""}), goVersion),
		"the toolchain":       key(base, module(map[string]string{"go.mod": "module a", "sub/a.go": "package a"}), "go1.27.0"),
		"C":                   key(withC, module(map[string]string{"go.mod": "module a", "sub/a.go": "package a"}), goVersion),
		"the linker settings": key(linked, module(map[string]string{"go.mod": "module a", "sub/a.go": "package a"}), goVersion),
	} {
		if changed == original {
			t.Errorf("the key does not follow %s", name)
		}
	}
}

// The version in the list is what people read; go.mod is what is built.
func TestComponentVersionsAreThosePinned(t *testing.T) {
	t.Parallel()
	for _, c := range components() {
		content, err := os.ReadFile(filepath.Join("modules", c.moduleFolder(), c.modFileName()))
		if err != nil {
			t.Error(err)
			continue
		}
		// The end of the version is a comment or the end of the line.
		want := c.module + " " + c.version
		if !strings.Contains(string(content), want+"\n") && !strings.Contains(string(content), want+" ") {
			t.Errorf("%s: %s does not require %s", c.name, c.modFileName(), want)
		}
	}
	if _, err := findComponent("missing"); err == nil {
		t.Error("an unknown component is found")
	}
}

func TestReservedPortsDiffer(t *testing.T) {
	t.Parallel()
	cache := t.TempDir()
	seen := map[int]bool{}
	for range 50 {
		port, err := reservePort(cache)
		if err != nil {
			t.Fatal(err)
		}
		defer port.lock.release()
		if seen[port.number] {
			t.Fatalf("port %d is handed out twice", port.number)
		}
		seen[port.number] = true
	}
}

func TestCommandSeesNoOtherCluster(t *testing.T) {
	t.Parallel()
	got := withoutCluster([]string{"HOME=/h", "KUBECONFIG=/real", "KUBE_HOST=real", "KUBERNETES_MASTER=real", "KUBETAINT_CACHE=/c"})
	if want := "HOME=/h KUBETAINT_CACHE=/c"; strings.Join(got, " ") != want {
		t.Errorf("environment is %q, want %q", got, want)
	}
}

func TestAbandonedFoldersAreRemoved(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	living, remove, err := tempFolder()
	if err != nil {
		t.Fatal(err)
	}
	defer remove()
	abandoned := filepath.Join(os.TempDir(), tempPattern+"abandoned")
	if err := os.Mkdir(abandoned, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(abandoned, "lock"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	_, removeOther, err := tempFolder()
	if err != nil {
		t.Fatal(err)
	}
	defer removeOther()
	if !isDir(living) || isDir(abandoned) {
		t.Errorf("living folder exists: %t, abandoned folder exists: %t; want true, false", isDir(living), isDir(abandoned))
	}
}
