// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package kube

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// FuzzConfig: no kubeconfig makes the provider panic, and where one is given as a path, a host, a
// context, a cluster, a user or a proxy, no error has a line of it.
func FuzzConfig(f *testing.F) {
	const token = "token-that-no-error-prints"
	f.Add(kubeconfig)
	f.Add("")
	f.Add("users: [{name: u, user: {exec: {command: x}}}]")
	f.Add("{current-context: c, contexts: [{name: c, context: null}], clusters: [null]}")
	f.Add("clusters:\n- cluster: {server: \"https://c:x\", certificate-authority-data: \"%\"}\n  name: c")
	f.Add("~\x00\u202e::error::")
	f.Fuzz(func(t *testing.T, content string) {
		file := filepath.Join(t.TempDir(), "kubeconfig")
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		_, _ = New(Config{Paths: []string{file}})
		whole := content + "\n" + token
		for _, c := range []Config{
			{Paths: []string{whole}},
			{Paths: []string{file, whole}},
			{Host: whole},
			{Host: "https://api.example.com", ProxyURL: whole},
			{Host: "https://api.example.com", TLSServerName: whole},
			{Host: "https://api.example.com", Exec: &Exec{Command: whole}},
			{Paths: []string{file}, Context: whole},
			{Paths: []string{file}, ContextCluster: whole},
			{Paths: []string{file}, ContextAuthInfo: whole},
		} {
			if _, err := New(c); err != nil && strings.Contains(err.Error(), token) {
				t.Fatalf("%q: %v", content, err)
			}
		}
	})
}
