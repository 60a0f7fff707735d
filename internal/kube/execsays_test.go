// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package kube

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestID_tellsWhatTheCommandForCredentialsSays: the exit code alone does not help.
func TestID_tellsWhatTheCommandForCredentialsSays(t *testing.T) {
	t.Parallel()
	once := filepath.Join(t.TempDir(), "once")
	for name, tt := range map[string]struct {
		script, want, not string
	}{
		"its standard error":           {`echo "session expired: run $HINT" >&2; exit 3`, "exit code 3: session expired: run aws sso login", ""},
		"on one line":                  {`printf 'one\n::error::two\033[31m' >&2; exit 1`, "exit code 1: one : : error::two", "\033"},
		"not its standard output":      {`echo secret; echo why >&2; exit 1`, "exit code 1: why", "secret"},
		"the end of what is very long": {`i=0; while [ $i -lt 300 ]; do echo aaaaaaaa >&2; i=$((i+1)); done; echo last >&2; exit 1`, "aaaaaaaa last", strings.Repeat("aaaaaaaa ", 100)},
		"nothing where it says none":   {`exit 7`, "exit code 7", "exit code 7:"},
		"nothing where it succeeds the next time": {
			`if [ -e ` + once + ` ]; then exit 0; fi; touch ` + once + `; echo why >&2; exit 1`, "exit code 1", "why",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, err := New(Config{Host: "https://127.0.0.1:1", Exec: &Exec{
				APIVersion: "client.authentication.k8s.io/v1", Command: "sh", Args: []string{"-c", tt.script}, Env: map[string]string{"HINT": "aws sso login"},
			}})
			if err != nil {
				t.Fatal(err)
			}
			_, err = c.ID(t.Context())
			if !errors.Is(err, ErrUnreachable) || !Unusable(err) || !strings.Contains(err.Error(), tt.want) || tt.not != "" && strings.Contains(err.Error(), tt.not) {
				t.Errorf("the error is %v, want %q in it and not %q", err, tt.want, tt.not)
			}
		})
	}
}

// TestID_tellsWhatACommandSaysThatAsksForTheCluster: kubeconfigs of GKE have provideClusterInfo. The command
// knows the cluster when it is run again, too.
func TestID_tellsWhatACommandSaysThatAsksForTheCluster(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ version, provide, want string }{
		"v1":                     {"v1", "true", "exit code 1: told of https://127.0.0.1:1"},
		"v1beta1":                {"v1beta1", "true", "exit code 1: told of https://127.0.0.1:1"},
		"one that does not ask":  {"v1", "false", "exit code 1: not told"},
		"v1beta1 that asks none": {"v1beta1", "false", "exit code 1: not told"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "config")
			script := `case $KUBERNETES_EXEC_INFO in *client.authentication.k8s.io/` + tt.version + `*https://127.0.0.1:1*) echo told of https://127.0.0.1:1;; *) echo not told;; esac >&2; exit 1`
			content := `{apiVersion: v1, kind: Config, current-context: c, contexts: [{name: c, context: {cluster: c, user: u}}], clusters: [{name: c, cluster: {server: "https://127.0.0.1:1"}}],
users: [{name: u, user: {exec: {apiVersion: client.authentication.k8s.io/` + tt.version + `, command: sh, args: ["-c", "` + script + `"], interactiveMode: Never, provideClusterInfo: ` + tt.provide + `}}}]}`
			if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
			c, err := New(Config{Paths: []string{path}})
			if err != nil {
				t.Fatal(err)
			}
			if _, err = c.ID(t.Context()); err == nil || !strings.HasSuffix(err.Error(), tt.want) {
				t.Errorf("the error is %v, want %q at its end", err, tt.want)
			}
		})
	}
}
