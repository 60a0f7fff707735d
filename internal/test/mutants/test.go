// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"time"
)

// bounded keeps a mutant that never stops appending from taking all of the machine's
// memory: 6 GiB of addresses, of which Go reserves some without using them.
const bounded = `sh -c 'ulimit -v 6291456 && exec "$0" "$@"'`

// tester runs tests on mutants.
type tester struct {
	// dir holds the overlays.
	dir   string
	count atomic.Int64
	// limits is how long each package's tests may take: longer than that is an endless loop.
	limits map[string]time.Duration
}

// newTester runs the tests of all packages as they are: they must pass, and how long they
// take limits how long they may take on a mutant.
func newTester(ctx context.Context, packages []string) (*tester, error) {
	dir, err := os.MkdirTemp("", "mutants-")
	if err != nil {
		return nil, err
	}
	t := &tester{dir: dir, limits: map[string]time.Duration{}}
	for _, pkg := range packages {
		if out, err := goTool(ctx, "test", t.args("", pkg, 10*time.Minute, "-run", "^$")...); err != nil {
			t.close()
			return nil, fmt.Errorf("%s does not compile: %w\n%s", pkg, err, out)
		}
		began := time.Now()
		if out, err := goTool(ctx, "test", t.args("", pkg, 10*time.Minute)...); err != nil {
			t.close()
			return nil, fmt.Errorf("the tests of %s fail without any mutant: %w\n%s", pkg, err, out)
		}
		t.limits[pkg] = 30*time.Second + 5*time.Since(began)
	}
	return t, nil
}

func (t *tester) close() { _ = os.RemoveAll(t.dir) }

// args are those of go test for one package.
func (t *tester) args(overlay, pkg string, limit time.Duration, more ...string) []string {
	args := []string{"-count=1", "-failfast", "-vet=off", "-ldflags=-s -w", "-exec=" + bounded, "-timeout=" + limit.String()}
	if overlay != "" {
		args = append(args, "-overlay="+overlay)
	}
	return append(append(args, more...), "./"+pkg)
}

// test reports what the package's tests make of a mutant.
func (t *tester) test(ctx context.Context, m mutant) (outcome, error) {
	overlay, err := t.overlay(m)
	if err != nil {
		return survived, err
	}
	if _, err := goTool(ctx, "build", "-overlay="+overlay, "./"+m.pkg); err != nil {
		return invalid, ctx.Err()
	}
	if _, err := goTool(ctx, "test", t.args(overlay, m.pkg, t.limits[m.pkg])...); err != nil {
		return caught, ctx.Err()
	}
	return survived, nil
}

// overlay writes the changed file, and the file by which the go command finds it.
func (t *tester) overlay(m mutant) (string, error) {
	dir := filepath.Join(t.dir, strconv.FormatInt(t.count.Add(1), 10))
	if err := os.Mkdir(dir, 0o700); err != nil {
		return "", err
	}
	changed, list := filepath.Join(dir, path.Base(m.file)), filepath.Join(dir, "overlay.json")
	original, err := filepath.Abs(filepath.FromSlash(m.file))
	if err != nil {
		return "", err
	}
	raw, err := json.Marshal(map[string]map[string]string{"Replace": {original: changed}})
	if err != nil {
		return "", err
	}
	if err := os.WriteFile(changed, m.source, 0o600); err != nil {
		return "", err
	}
	return list, os.WriteFile(list, raw, 0o600)
}

// goTool runs the go command without what makes acceptance tests run, and without the files
// that package rapid leaves where a property test fails: each mutant that one catches would.
func goTool(ctx context.Context, command string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, "go", append([]string{command}, args...)...)
	cmd.Env = append(os.Environ(), "TF_ACC=", "RAPID_NOFAILFILE=1")
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	return out.Bytes(), err
}
