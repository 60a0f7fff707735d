// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package main

import (
	"bytes"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
)

func TestRunPassesExitCodeAndTearsDown(t *testing.T) {
	needCluster(t)
	t.Parallel()
	for role, want := range map[string]int{"exit 7": 7, "panic": 2} {
		t.Run(role, func(t *testing.T) {
			t.Parallel()
			cmd := testbedRun(t, role)
			err := cmd.Run()
			var exit *exec.ExitError
			if !errors.As(err, &exit) || exit.ExitCode() != want {
				t.Errorf("testbed ended with %v, want exit status %d", err, want)
			}
			nothingLeft(t, cmd)
		})
	}
}

func TestRunPassesSignalsOnAndTearsDown(t *testing.T) {
	needCluster(t)
	t.Parallel()
	cmd, dir := startWaiting(t)
	components := pids(t, dir)
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	err := cmd.Wait()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 42 {
		t.Errorf("testbed ended with %v, want exit status 42, the child's answer to SIGTERM", err)
	}
	for name, pid := range components {
		if alive(pid) {
			t.Errorf("%s is alive after testbed has ended", name)
		}
	}
	nothingLeft(t, cmd)
}

func TestKilledComponentsComeBack(t *testing.T) {
	needCluster(t)
	t.Parallel()
	_, dir := startWaiting(t)
	for _, name := range []string{apiServerName, etcdName, apiServerName} {
		before := pids(t, dir)[name]
		if err := syscall.Kill(before, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		eventually(t, name+" to be started again", func() bool { return pids(t, dir)[name] != before })
		eventually(t, name+" to serve the old data", func() bool { return askForNamespace(t, dir) == "ok" })
	}
}

func TestClustersDoNotCollide(t *testing.T) {
	needCluster(t)
	t.Parallel()
	_, one := startWaiting(t)
	_, other := startWaiting(t)
	if one == other {
		t.Fatalf("both clusters are in %s", one)
	}
	for _, dir := range []string{one, other} {
		if got := askForNamespace(t, dir); got != "ok" {
			t.Errorf("the cluster in %s answers %s, want ok", dir, got)
		}
		// Each must answer by itself: a component that found its port taken would
		// have been started again.
		for name := range pids(t, dir) {
			log, err := os.ReadFile(filepath.Join(dir, "logs", name+".log"))
			if err != nil {
				t.Fatal(err)
			}
			if bytes.Contains(log, []byte("starting it again")) {
				t.Errorf("%s in %s has died:\n%s", name, dir, lastLines(string(log), 20))
			}
		}
	}
}

func TestNothingSurvivesSIGKILL(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("this system cannot tie a child's life to its parent's")
	}
	needCluster(t)
	t.Parallel()
	cmd, dir := startWaiting(t)
	components := pids(t, dir)
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	allGone(t, components)
}

func TestUpAndDown(t *testing.T) {
	needCluster(t, machineAPIComponent)
	t.Parallel()
	name := "test-" + strings.ToLower(rand.Text())
	t.Cleanup(func() {
		_ = testbed(t, "down", "--name", name).Run()
		// down leaves its empty lock files, which here would pile up.
		removeLocks(t, name)
	})

	first, err := testbed(t, "up", "--name", name).Output()
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(first), dirEnv+"='")
	dir, _, ok := strings.Cut(rest, "'")
	if !ok {
		t.Fatalf("up printed no %s:\n%s", dirEnv, first)
	}
	components := pids(t, dir)
	second, err := testbed(t, "up", "--name", name).Output()
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(first, second) {
		t.Errorf("up prints\n%s\nof a cluster that runs already, want\n%s", second, first)
	}
	for component, pid := range pids(t, dir) {
		if components[component] != pid {
			t.Errorf("up has started %s again", component)
		}
	}
	if out, err := testbed(t, "up", "--name", name, "--machine-api").Output(); err == nil {
		t.Errorf("up says that a cluster without a Machine API has one:\n%s", out)
	}
	if err := testbed(t, "down", "--name", name).Run(); err != nil {
		t.Fatal(err)
	}
	for component, pid := range components {
		if alive(pid) {
			t.Errorf("%s is alive after down", component)
		}
	}
	if isDir(dir) {
		t.Errorf("%s is still there after down", dir)
	}
}

func TestFailedStartNamesTheComponentAndShowsItsLog(t *testing.T) {
	t.Parallel()
	// A program that fails immediately with a message stands in for a component.
	dir := t.TempDir()
	for _, sub := range []string{"pids", "logs"} {
		if err := os.Mkdir(filepath.Join(dir, sub), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	broken := newProcess(dir, "broken", "/bin/ls", []string{"--no-such-flag-of-ls"})
	if err := broken.run(); err != nil {
		t.Fatal(err)
	}
	defer broken.stop()
	err := probe{client: newProbeClient(nil), url: "https://127.0.0.1:1/"}.wait(t.Context(), broken)
	if err == nil || !strings.Contains(err.Error(), "broken did not start") || !strings.Contains(err.Error(), "no-such-flag-of-ls") {
		t.Errorf("the error is %v, want one that names the component and shows its log", err)
	}
}

// removeLocks removes the lock files of a background cluster.
func removeLocks(t *testing.T, name string) {
	t.Helper()
	cache, err := cacheDir()
	if err != nil {
		t.Fatal(err)
	}
	locks, err := filepath.Glob(filepath.Join(cache, "clusters", name+"*.lock"))
	if err != nil {
		t.Fatal(err)
	}
	for _, lock := range locks {
		if err := os.Remove(lock); err != nil {
			t.Error(err)
		}
	}
}

// nothingLeft checks that testbed has removed the cluster's folder.
func nothingLeft(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	temp := environ(cmd.Env, "TMPDIR")
	left, err := filepath.Glob(filepath.Join(temp, tempPattern+"*"))
	if err != nil || len(left) > 0 {
		t.Errorf("testbed has left %v (%v)", left, err)
	}
}

// environ returns the value that the last setting of a variable gives it.
func environ(env []string, name string) (value string) {
	for _, variable := range env {
		if got, ok := strings.CutPrefix(variable, name+"="); ok {
			value = got
		}
	}
	return value
}

// askForNamespace reads the namespace default as the admin, and returns "ok" or
// the error.
func askForNamespace(t *testing.T, dir string) string {
	t.Helper()
	return ask(t, dir, "/api/v1/namespaces/default")
}

// ask reads a path of the API server as the admin, and returns "ok" or the
// error.
func ask(t *testing.T, dir, path string) string {
	t.Helper()
	kubeconfig, err := os.ReadFile(filepath.Join(dir, "kubeconfig"))
	if err != nil {
		t.Fatal(err)
	}
	fields := map[string]string{}
	for line := range strings.Lines(string(kubeconfig)) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
		fields[name] = value
	}
	caPEM, err := base64.StdEncoding.DecodeString(fields["certificate-authority-data"])
	if err != nil {
		t.Fatal(err)
	}
	client := newProbeClient(caPEM)
	defer client.CloseIdleConnections()
	err = probe{client: client, url: fields["server"] + path, token: fields["token"]}.ask(t.Context())
	if err != nil {
		return err.Error()
	}
	return "ok"
}
