// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// extraFiles are files of a release that no build makes.
type extraFiles struct {
	Files []struct{ Glob string } `json:"extra_files"`
}

// TestRelease_everyExtraFileHasAChecksumOrAnAttestation: the signature of the checksums covers a file, or
// the release workflow attests it.
func TestRelease_everyExtraFileHasAChecksumOrAnAttestation(t *testing.T) {
	t.Parallel()
	var build struct{ Release, Checksum extraFiles }
	read(t, ".goreleaser.yml", &build)
	var workflow struct {
		Jobs map[string]struct {
			Steps []struct {
				Uses string
				With map[string]any
			}
		}
	}
	read(t, ".github/workflows/release.yml", &workflow)
	var attested []string
	for _, step := range workflow.Jobs["release"].Steps {
		if strings.HasPrefix(step.Uses, "actions/attest-build-provenance@") {
			paths, _ := step.With["subject-path"].(string)
			attested = append(attested, strings.Fields(paths)...)
		}
	}
	if len(build.Release.Files) < 2 || len(attested) < 2 {
		t.Fatalf("the release has the files %v, and the attestation %v", build.Release.Files, attested)
	}
	for _, file := range build.Release.Files {
		if !slices.Contains(build.Checksum.Files, file) && !slices.Contains(attested, file.Glob) {
			t.Errorf("%s is published without a checksum and an attestation", file.Glob)
		}
	}
}

func read(t *testing.T, name string, into any) {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("..", "..", "..", filepath.FromSlash(name)))
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(raw, into); err != nil {
		t.Fatal(err)
	}
}
