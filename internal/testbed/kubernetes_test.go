// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package main

import (
	"cmp"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

func TestControlPlaneFor(t *testing.T) {
	t.Parallel()
	for version, want := range map[string]string{
		"":         "controlplane",
		"1.37":     "controlplane",
		"v1.37":    "controlplane",
		"1.36":     "controlplane-1.36",
		"v1.35":    "controlplane-1.35",
		"1.34":     "controlplane-1.34",
		"v1.37.2":  "controlplane",
		"1.34.12":  "controlplane-1.34",
		"v1.36.5":  "controlplane-1.36",
		"1.3":      "",
		"1.33":     "",
		"1.36.999": "",
		"latest":   "",
	} {
		got, err := controlPlaneFor(version)
		if got != want || (err == nil) != (want != "") {
			t.Errorf("the control plane of %q is %q (%v), want %q", version, got, err, want)
		}
		if err != nil && (!errors.As(err, &usageError{}) || !strings.Contains(err.Error(), "1.37, 1.36, 1.35, 1.34")) {
			t.Errorf("the error for %q does not list the versions: %v", version, err)
		}
	}
}

// ofAnotherRelease are the staging repositories that a control plane does not take from
// its own release. kwok 0.8 does not compile with the client of container runtimes before
// 0.36; Kubernetes' own components in a control plane have no container runtime.
var ofAnotherRelease = map[string]string{
	"1.34.mod k8s.io/cri-api":    "v0.36.5",
	"1.34.mod k8s.io/cri-client": "v0.36.5",
	"1.35.mod k8s.io/cri-api":    "v0.36.5",
	"1.35.mod k8s.io/cri-client": "v0.36.5",
}

// A staging repository of another release would compile as often as not, and behave as
// no Kubernetes does.
func TestControlPlanesReplaceAllOfStagingByOneVersion(t *testing.T) {
	t.Parallel()
	replaced := regexp.MustCompile(`(?m)^\t(k8s\.io/\S+) => (k8s\.io/\S+) (v\S+)$`)
	for _, c := range controlPlanes() {
		content, err := os.ReadFile(filepath.Join("modules", c.moduleFolder(), c.modFileName()))
		if err != nil {
			t.Error(err)
			continue
		}
		release := "v0" + strings.TrimPrefix(c.version, "v1")
		matches := replaced.FindAllStringSubmatch(string(content), -1)
		if len(matches) < 25 {
			t.Errorf("%s replaces %d staging repositories, want all of them", c.modFileName(), len(matches))
		}
		for _, match := range matches {
			want := cmp.Or(ofAnotherRelease[c.modFileName()+" "+match[1]], release)
			if match[1] != match[2] || match[3] != want {
				t.Errorf("%s has %q, want version %s", c.modFileName(), match[0], want)
			}
		}
		if !slices.Contains(c.vars, "k8s.io/component-base/version.gitVersion="+c.version) {
			t.Errorf("%s does not report %s as its version", c.name, c.version)
		}
	}
}

// The tests' fake API server is held against each version that a control plane can have.
// .ci/parts takes the older ones from the files with their answers.
func TestControlPlanesOfOlderVersionsHaveTheirAnswersRecorded(t *testing.T) {
	t.Parallel()
	var want, got []string
	for _, version := range kubernetesVersions[1:] {
		want = append(want, "conformance-"+minorOf(version)+".golden")
	}
	files, err := filepath.Glob(filepath.Join("..", "test", "fakeapi", "testdata", "conformance-*.golden"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		got = append(got, filepath.Base(file))
	}
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("the recorded answers are %q, want %q", got, want)
	}
}
