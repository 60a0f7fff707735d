// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// tempPattern names the folders of throw-away clusters.
const tempPattern = "kubetaint-testbed-"

// runCommand starts a cluster, runs a command beside it and tears it down. It
// returns the command's exit code.
func runCommand(ctx context.Context, args []string) (int, error) {
	flags := newFlags("run")
	dir := flags.String("dir", "", "keep the cluster's files in this empty or missing `folder`, and leave them there")
	machines := addClusterFlags(flags)
	if err := flags.Parse(args); err != nil {
		return 0, usageError{err}
	}
	if flags.NArg() == 0 {
		return 0, usageError{errors.New("run: no command given")}
	}
	// A mistyped command is told before a cluster is started for it.
	program, err := exec.LookPath(flags.Arg(0))
	if err != nil {
		return 0, fmt.Errorf("finding the command: %w", err)
	}
	b, err := newBuilder()
	if err != nil {
		return 0, err
	}
	programs, err := machines.programs(ctx, b)
	if err != nil {
		return 0, err
	}
	folder, remove, err := runFolder(*dir)
	if err != nil {
		return 0, err
	}
	defer remove()
	c, err := startCluster(ctx, programs, b.cache, folder)
	if err != nil {
		return 0, err
	}
	defer c.stop()
	return c.runBeside(ctx, program, flags.Args())
}

// runBeside runs a command in the caller's working directory.
func (c *cluster) runBeside(ctx context.Context, program string, args []string) (int, error) {
	// From here on signals are for the command, which decides when to end.
	signals, stop := notify()
	defer stop()
	if ctx.Err() != nil {
		return 0, context.Cause(ctx)
	}
	cmd := exec.Command(program)
	cmd.Args = args
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.Env = append(withoutCluster(os.Environ()), c.environment()...)
	// In testbed's own group, so that it may read from the terminal.
	cmd.SysProcAttr = childAttributes(false)
	if err := spawn(cmd); err != nil {
		return 0, fmt.Errorf("starting the command: %w", err)
	}
	defer relay(signals, cmd.Process)()
	err := cmd.Wait()
	if exit := new(exec.ExitError); err != nil && !errors.As(err, &exit) {
		return 0, fmt.Errorf("waiting for the command: %w", err)
	}
	return exitCode(cmd.ProcessState), nil
}

// withoutCluster removes every variable that could lead a test to a real
// cluster.
func withoutCluster(environ []string) []string {
	var kept []string
	for _, variable := range environ {
		if strings.HasPrefix(variable, "KUBE_") || strings.HasPrefix(variable, "KUBECONFIG=") ||
			strings.HasPrefix(variable, "KUBERNETES_") {
			continue
		}
		kept = append(kept, variable)
	}
	return kept
}

// runFolder makes the folder of a cluster and returns how to remove it.
func runFolder(dir string) (folder string, remove func(), err error) {
	if dir == "" {
		return tempFolder()
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return "", nil, fmt.Errorf("resolving --dir: %w", err)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", nil, fmt.Errorf("making --dir: %w", err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return "", nil, fmt.Errorf("reading --dir: %w", err)
	}
	if len(entries) > 0 {
		// Old data would be those of a cluster with other keys and ports.
		return "", nil, fmt.Errorf("the folder %s is not empty", dir)
	}
	return dir, func() {}, nil
}

// tempFolder makes a locked temporary folder. The lock tells living folders from
// those of a testbed that was killed, which are removed on this occasion.
func tempFolder() (folder string, remove func(), err error) {
	removeAbandoned()
	for {
		folder, err := os.MkdirTemp("", tempPattern)
		if err != nil {
			return "", nil, fmt.Errorf("making the cluster's folder: %w", err)
		}
		lock, err := tryLock(filepath.Join(folder, "lock"))
		if errors.Is(err, errLocked) {
			continue // Another testbed took it for an abandoned one just now.
		}
		if err != nil {
			return "", nil, err
		}
		return folder, func() {
			_ = os.RemoveAll(folder)
			lock.release()
		}, nil
	}
}

// removeAbandoned removes the folders that no process holds any more. What cannot be
// removed has another owner.
func removeAbandoned() {
	folders, _ := filepath.Glob(filepath.Join(os.TempDir(), tempPattern+"*"))
	for _, folder := range folders {
		path := filepath.Join(folder, "lock")
		if !fileExists(path) {
			continue
		}
		if lock, err := tryLock(path); err == nil {
			_ = os.RemoveAll(folder)
			lock.release()
		}
	}
}
