// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"
)

// heartbeatEvery keeps a build of minutes from looking stuck.
const heartbeatEvery = 15 * time.Second

// builder builds components into the cache.
type builder struct {
	modules  string
	cache    string
	progress io.Writer
}

// newBuilder finds the folders and reports progress on standard error, since
// standard output is for paths alone.
func newBuilder() (*builder, error) {
	modules, err := modulesDir()
	if err != nil {
		return nil, err
	}
	cache, err := cacheDir()
	if err != nil {
		return nil, err
	}
	return &builder{modules: modules, cache: cache, progress: os.Stderr}, nil
}

// binary returns the path of a component's binary and builds it when the cache
// does not hold it.
func (b *builder) binary(ctx context.Context, name string) (string, error) {
	c, err := findComponent(name)
	if err != nil {
		return "", err
	}
	moduleDir := filepath.Join(b.modules, c.moduleFolder())
	version, err := goVersion(ctx, moduleDir)
	if err != nil {
		return "", err
	}
	key, err := cacheKey(c, moduleDir, version)
	if err != nil {
		return "", err
	}
	target := filepath.Join(b.cache, "bin", key, c.binary)
	if fileExists(target) {
		return target, nil
	}
	if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
		return "", fmt.Errorf("making room in the cache: %w", err)
	}
	lock, err := b.lock(ctx, c, filepath.Dir(target)+".lock")
	if err != nil {
		return "", err
	}
	defer lock.release()
	// The previous holder of the lock has probably built it.
	if fileExists(target) {
		return target, nil
	}
	return target, b.build(ctx, c, moduleDir, target)
}

// chosen is binary for a user, who means the control plane of the chosen version of
// Kubernetes by "controlplane".
func (b *builder) chosen(ctx context.Context, name, kubernetes string) (string, error) {
	if name == clusterComponent {
		var err error
		if name, err = controlPlaneFor(kubernetes); err != nil {
			return "", err
		}
	}
	return b.binary(ctx, name)
}

// lock makes one process build while others wait for its result.
func (b *builder) lock(ctx context.Context, c component, path string) (*fileLock, error) {
	lock, err := tryLock(path)
	if !errors.Is(err, errLocked) {
		return lock, err
	}
	fmt.Fprintf(b.progress, "waiting for another process that builds %s %s\n", c.title, c.version)
	return waitLock(ctx, path)
}

// build compiles into a temporary file and renames it, so that a binary in the
// cache is always whole.
func (b *builder) build(ctx context.Context, c component, moduleDir, target string) (err error) {
	temp := target + ".tmp"
	defer func() { _ = os.Remove(temp) }() // Gone when all went well.

	fmt.Fprintf(b.progress, "building %s %s (about %s the first time)\n", c.title, c.version, c.cold)
	started := time.Now()
	var packages packageCount
	stop := b.heartbeat(c, &packages, started)
	defer stop()

	if stale, err := stalePackages(ctx, c, moduleDir); err == nil {
		packages.expect(stale)
	} // The build reports what is wrong with the module.
	args := buildArgs(c)
	// Packages are printed as they are begun, which changes nothing in the binary.
	cmd := goCommand(ctx, c, moduleDir, slices.Concat(args[:1], []string{"-v"}, args[1:], []string{"-o", temp, c.pkg})...)
	cmd.Stdout, cmd.Stderr = &packages, &packages
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			return fmt.Errorf("building %s: %w", c.title, context.Cause(ctx))
		}
		return fmt.Errorf("building %s: %w\n%s", c.title, err, lastLines(packages.messages(), 20))
	}
	if err := os.Rename(temp, target); err != nil {
		return fmt.Errorf("moving %s into the cache: %w", c.title, err)
	}
	fmt.Fprintf(b.progress, "built %s %s in %s\n", c.title, c.version, elapsed(started))
	return nil
}

// heartbeat prints a line now and then until the returned function is called.
func (b *builder) heartbeat(c component, packages *packageCount, started time.Time) (stop func()) {
	done := make(chan struct{})
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		ticker := time.NewTicker(heartbeatEvery)
		defer ticker.Stop()
		for {
			select {
			case <-done:
				return
			case <-ticker.C:
				fmt.Fprintf(b.progress, "building %s %s: %s (%s)\n", c.title, c.version, packages, elapsed(started))
			}
		}
	}()
	return func() {
		close(done)
		<-stopped
	}
}

// buildArgs returns the arguments of go that shape the binary. They are part of
// the cache key.
func buildArgs(c component) []string {
	flags := []string{"-s", "-w"}
	for _, v := range c.vars {
		flags = append(flags, "-X", v)
	}
	// No revision is stamped: the binary must not depend on the clone's state. What is
	// built here is not debugged, and without tables for that the compiler has a seventh
	// less to do.
	args := []string{"build", "-trimpath", "-buildvcs=false", "-gcflags=all=-dwarf=false", "-ldflags", strings.Join(flags, " ")}
	if c.modFile != "" {
		args = append(args, "-modfile="+c.modFile)
	}
	return args
}

// goCommand returns a go command that ends in good order when the context does.
func goCommand(ctx context.Context, c component, moduleDir string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = moduleDir
	cmd.Env = append(buildEnv(), cgoEnv(c)...)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 5 * time.Second
	return cmd
}

// buildEnv makes a build the same whatever the caller has set, for instance a
// GOOS to cross-compile the provider.
func buildEnv() []string {
	return append(processEnv(),
		"CGO_ENABLED=0",
		"GOFLAGS=-mod=readonly",
		"GOWORK=off",
		"GOOS="+runtime.GOOS,
		"GOARCH="+runtime.GOARCH,
	)
}

// cgoEnv returns what a component with C in it adds to buildEnv. It is part of the
// cache key. C is compiled with little optimization and without tables for debuggers,
// which saves most of its time, and without warnings, which are not for us to act on.
func cgoEnv(c component) []string {
	if !c.cgo {
		return nil
	}
	return []string{"CGO_ENABLED=1", "CGO_CFLAGS=-O1 -w"}
}

func fileExists(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

func elapsed(since time.Time) time.Duration {
	return time.Since(since).Round(time.Second)
}
