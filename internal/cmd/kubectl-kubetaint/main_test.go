// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package main

import (
	"bytes"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// asProgram has the test's binary be the plugin.
const asProgram = "KUBETAINT_TEST_AS_PLUGIN"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		main()
	}
	os.Exit(m.Run())
}

// TestMain_unreachableServerIsOneLine in kubectl's words, and no line of a log beside it.
func TestMain_unreachableServerIsOneLine(t *testing.T) {
	t.Parallel()
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	host := closed.Addr().String()
	if err := closed.Close(); err != nil {
		t.Fatal(err)
	}
	refused := "The connection to the server " + host + " was refused - did you specify the right host or port?\n"
	for args, want := range map[string]string{
		"preview drain a":                                   refused,
		"tolerates deploy/web k:NoExecute":                  refused,
		"untolerated pod/web":                               refused,
		"snapshot -o " + os.DevNull:                         refused,
		"preview nodes a k:NoExecute -o json":               refused,
		"preview machineset a --strategy=surge k:NoExecute": refused,
		"preview drain a --proxy":                           "error: unknown flag: --proxy\nSee 'kubectl kubetaint preview drain -h' for help and examples\n",
	} {
		dir := t.TempDir()
		cmd := exec.CommandContext(t.Context(), os.Args[0], append(strings.Fields(args), "--server=http://"+host, "--cache-dir="+filepath.Join(dir, "cache"))...)
		cmd.Env = append(os.Environ(), asProgram+"=1", "KUBECONFIG="+filepath.Join(dir, "none"))
		var out, errOut bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &errOut
		err := cmd.Run()
		if cmd.ProcessState.ExitCode() != 1 || out.Len() > 0 || errOut.String() != want {
			t.Errorf("%s: want %q and got %v, %q and %q", args, want, err, out.String(), errOut.String())
		}
	}
}
