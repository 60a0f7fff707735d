// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package main

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// These variables make the test binary play another program, so that the tests
// need neither a shell nor a build of testbed.
const (
	playTestbed = "TESTBED_TEST_PLAY_TESTBED"
	playChild   = "TESTBED_TEST_PLAY_CHILD"
)

func TestMain(m *testing.M) {
	// The supervisor is started by testbed, without the variable.
	if os.Getenv(playTestbed) != "" || len(os.Args) > 1 && os.Args[1] == "supervise" {
		os.Unsetenv(playTestbed)
		main()
	}
	switch os.Getenv(playChild) {
	case "":
		os.Exit(m.Run())
	case "panic":
		panic("a test that panics")
	case "exit 7":
		fmt.Println(os.Getenv(dirEnv))
		os.Exit(7)
	case "wait for SIGTERM":
		waitForTerm()
	}
}

// waitForTerm ends well when it is asked to.
func waitForTerm() {
	signals, _ := notify()
	fmt.Println(os.Getenv(dirEnv))
	if sig := <-signals; sig != syscall.SIGTERM {
		os.Exit(1)
	}
	os.Exit(42)
}

// testbed returns a command that runs testbed itself.
func testbed(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, args...)
	cmd.Env = append(os.Environ(), playTestbed+"=1", "TMPDIR="+t.TempDir())
	cmd.Stderr = &logWriter{t: t}
	// Apart from a terminal, whose interrupts testbed does not pass on.
	cmd.SysProcAttr = detached()
	return cmd
}

// testbedRun returns a command that runs testbed beside a child that plays a
// role.
func testbedRun(t *testing.T, role string, flags ...string) *exec.Cmd {
	t.Helper()
	cmd := testbed(t, slices.Concat([]string{"run"}, flags, []string{"--"})...)
	cmd.Args = append(cmd.Args, cmd.Path)
	cmd.Env = append(cmd.Env, playChild+"="+role)
	return cmd
}

// logWriter shows what testbed says when a test fails.
type logWriter struct{ t *testing.T }

func (w *logWriter) Write(p []byte) (int, error) {
	w.t.Log(strings.TrimRight(string(p), "\n"))
	return len(p), nil
}

// needCluster builds the control plane, or skips the test with -short. More
// components are built as well.
func needCluster(t *testing.T, more ...string) {
	t.Helper()
	components := append([]string{clusterComponent}, more...)
	if testing.Short() {
		t.Skip("needs a cluster")
	}
	b, err := newBuilder()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range components {
		if _, err := b.binary(t.Context(), name); err != nil {
			t.Fatal(err)
		}
	}
}

// startWaiting starts testbed beside a child that waits for SIGTERM, and returns
// the cluster's folder once it is ready.
func startWaiting(t *testing.T, flags ...string) (cmd *exec.Cmd, dir string) {
	t.Helper()
	cmd = testbedRun(t, "wait for SIGTERM", flags...)
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		t.Fatalf("reading the child's output: %v", err)
	}
	return cmd, strings.TrimSpace(line)
}

// pids reads the ids of all components of a cluster, and of more if it has more.
func pids(t *testing.T, dir string, more ...string) map[string]int {
	t.Helper()
	found := map[string]int{}
	for _, name := range append([]string{etcdName, apiServerName, controllerManagerName, schedulerName, kwokName}, more...) {
		content, err := os.ReadFile(filepath.Join(dir, "pids", name+".pid"))
		if err != nil {
			t.Fatal(err)
		}
		pid, err := strconv.Atoi(strings.TrimSpace(string(content)))
		if err != nil {
			t.Fatal(err)
		}
		found[name] = pid
	}
	return found
}

// alive reports whether a process runs. One that is dead but not yet reaped, by an
// init that takes its time, does not.
func alive(pid int) bool {
	if errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
		return false
	}
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	return err != nil || !strings.Contains(string(status), "State:\tZ")
}

// allGone waits until no component is left.
func allGone(t *testing.T, pids map[string]int) {
	t.Helper()
	for name, pid := range pids {
		eventually(t, name+" to end", func() bool { return !alive(pid) })
	}
}

func eventually(t *testing.T, what string, condition func() bool) {
	t.Helper()
	for deadline := time.Now().Add(5 * time.Minute); !condition(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("timed out waiting for %s", what)
		}
	}
}
