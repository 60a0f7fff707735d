// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestParseCommandLine(t *testing.T) {
	t.Parallel()
	for output, want := range map[string]struct {
		product, version string
		newEnough        bool
	}{
		"Terraform v1.11.4\non linux_amd64\n":        {"Terraform", "1.11.4", true},
		"Terraform v1.10.5\non linux_amd64\n":        {"Terraform", "1.10.5", false},
		"Terraform v0.13.0\n":                        {"Terraform", "0.13.0", false},
		"Terraform v1.16.0-rc2\non darwin_arm64\n":   {"Terraform", "1.16.0-rc2", true},
		"Terraform v2.0.0\n":                         {"Terraform", "2.0.0", true},
		"OpenTofu v1.12.6\non linux_amd64\n":         {"OpenTofu", "1.12.6", true},
		"OpenTofu v1.11.4\non linux_amd64\n":         {"OpenTofu", "1.11.4", false},
		"terraform: no version is set, run install.": {},
		"": {},
	} {
		got, ok := parseCommandLine(output)
		if ok != (want.product != "") || got.product != want.product || got.version != want.version {
			t.Errorf("%q is %s %s (%t), want %s %s", output, got.product, got.version, ok, want.product, want.version)
		}
		if ok && got.newEnough() != want.newEnough {
			t.Errorf("%s %s is new enough: %t, want %t", got.product, got.version, got.newEnough(), want.newEnough)
		}
	}
}

func TestInstalledCommandLine(t *testing.T) {
	for name, test := range map[string]struct {
		installed map[string]string
		// want is the name of the program, empty for none.
		want string
		said []string
	}{
		"nothing is installed":  {},
		"Terraform comes first": {map[string]string{"terraform": "Terraform v1.11.4", "tofu": "OpenTofu v1.12.6"}, "terraform", []string{"Terraform 1.11.4"}},
		"OpenTofu alone":        {map[string]string{"tofu": "OpenTofu v1.12.6"}, "tofu", []string{"OpenTofu 1.12.6"}},
		"Terraform is too old":  {map[string]string{"terraform": "Terraform v1.5.7", "tofu": "OpenTofu v1.12.6"}, "tofu", []string{"Terraform 1.5.7 is too old", "OpenTofu 1.12.6"}},
		"both are too old":      {map[string]string{"terraform": "Terraform v1.5.7", "tofu": "OpenTofu v1.6.0"}, "", []string{"Terraform 1.5.7 is too old", "OpenTofu 1.6.0 is too old"}},
		"a wrapper without one": {map[string]string{"terraform": "no version is set"}, "", []string{"does not print its version"}},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			for program, output := range test.installed {
				script := "#!/bin/sh\necho '" + output + "'\n"
				if err := os.WriteFile(filepath.Join(dir, program), []byte(script), 0o755); err != nil {
					t.Fatal(err)
				}
			}
			t.Setenv("PATH", dir)
			var said strings.Builder
			path, ok := installedCommandLine(t.Context(), &said)
			want := test.want
			if want != "" {
				want = filepath.Join(dir, want)
			}
			if path != want || ok != (want != "") {
				t.Errorf("the command line is %q (%t), want %q; it says\n%s", path, ok, want, &said)
			}
			if lines := strings.Count(said.String(), "\n"); lines != len(test.said) {
				t.Errorf("it says %d lines, want %d:\n%s", lines, len(test.said), &said)
			}
			for _, text := range test.said {
				if !strings.Contains(said.String(), text) {
					t.Errorf("it does not say %q:\n%s", text, &said)
				}
			}
		})
	}
}
