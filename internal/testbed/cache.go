// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

// cacheEnv overrides the folder that keeps binaries and background clusters.
const cacheEnv = "KUBETAINT_CACHE"

// cacheDir returns the folder that outlives clones, and makes it.
func cacheDir() (string, error) {
	dir := os.Getenv(cacheEnv)
	if dir == "" {
		base, err := os.UserCacheDir()
		if err != nil {
			return "", fmt.Errorf("finding a cache folder, set %s to choose one: %w", cacheEnv, err)
		}
		dir = filepath.Join(base, "kubetaint")
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", fmt.Errorf("resolving the cache folder: %w", err)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", fmt.Errorf("making the cache folder: %w", err)
	}
	return dir, nil
}

// modulesDir finds the folder that holds one nested module per component. They
// cannot be embedded, since go:embed stops at module borders: so it is beside
// this source file, or, when paths were trimmed from the binary, above the
// working directory.
func modulesDir() (string, error) {
	if _, file, _, ok := runtime.Caller(0); ok && filepath.IsAbs(file) {
		if dir := filepath.Join(filepath.Dir(file), "modules"); isDir(dir) {
			return dir, nil
		}
	}
	dir, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("finding the modules folder: %w", err)
	}
	for {
		for _, sub := range []string{"modules", "internal/testbed/modules"} {
			candidate := filepath.Join(dir, filepath.FromSlash(sub))
			if isDir(filepath.Join(candidate, clusterComponent)) {
				return candidate, nil
			}
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", errors.New("no internal/testbed/modules found, run testbed inside a clone of the project")
		}
		dir = parent
	}
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// cacheKey names a binary by all that goes into it, and by no path, so that
// another clone with the same files finds it.
func cacheKey(c component, moduleDir, goVersion string) (string, error) {
	sum := sha256.New()
	add := func(parts ...string) {
		for _, part := range parts {
			// The length keeps neighbours from running into each other.
			fmt.Fprintf(sum, "%d:%s\n", len(part), part)
		}
	}
	add(goVersion, runtime.GOOS, runtime.GOARCH)
	add(buildArgs(c)...)
	add(cgoEnv(c)...)
	// WalkDir goes in lexical order, the hash is the same everywhere.
	err := filepath.WalkDir(moduleDir, func(path string, entry fs.DirEntry, err error) error {
		// A component's tests are not in its binary.
		if err != nil || !entry.Type().IsRegular() || strings.HasSuffix(path, "_test.go") {
			return err
		}
		rel, err := filepath.Rel(moduleDir, path)
		if err != nil || pinsAnother(c, rel) {
			return err
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		add(filepath.ToSlash(rel), string(content))
		return nil
	})
	if err != nil {
		return "", fmt.Errorf("hashing %s: %w", moduleDir, err)
	}
	return fmt.Sprintf("%s-%s-%s", c.name, c.version, hex.EncodeToString(sum.Sum(nil))[:16]), nil
}

// pinsAnother reports whether a file pins the versions of another component of the
// same folder.
func pinsAnother(c component, rel string) bool {
	mod := strings.TrimSuffix(c.modFileName(), ".mod")
	switch filepath.Ext(rel) {
	case ".mod", ".sum":
		return filepath.Base(rel) == rel && strings.TrimSuffix(rel, filepath.Ext(rel)) != mod
	default:
		return false
	}
}

// goVersion returns the version of the toolchain that builds, which need not be
// the one that built testbed.
func goVersion(ctx context.Context, moduleDir string) (string, error) {
	cmd := exec.CommandContext(ctx, "go", "env", "GOVERSION")
	cmd.Dir = moduleDir
	cmd.Env = buildEnv()
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("asking the go command for its version: %w", err)
	}
	return strings.TrimSpace(string(out)), nil
}
