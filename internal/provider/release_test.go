// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package provider_test

import (
	"go/version"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// TestRelease_buildsOnlyTagsThatAreOnMain runs the check of the release workflow in a repository
// with a tag on main and one on a branch.
func TestRelease_buildsOnlyTagsThatAreOnMain(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile(filepath.Join("..", "..", ".github", "workflows", "release.yml"))
	if err != nil {
		t.Fatal(err)
	}
	var workflow struct {
		Jobs map[string]struct {
			Steps []struct {
				Run string `json:"run"`
			} `json:"steps"`
		} `json:"jobs"`
	}
	if err := yaml.Unmarshal(raw, &workflow); err != nil {
		t.Fatal(err)
	}
	check := ""
	for _, step := range workflow.Jobs["release"].Steps {
		if strings.Contains(step.Run, "make release") && check == "" {
			t.Fatal("it releases before it has checked where the tag is")
		}
		if strings.Contains(step.Run, "GITHUB_SHA") {
			check = step.Run
		}
	}
	if check == "" {
		t.Fatal("there is no check of GITHUB_SHA")
	}
	origin, clone := t.TempDir(), t.TempDir()
	run := func(dir, name string, args ...string) error {
		cmd := exec.CommandContext(t.Context(), name, args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null",
			"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.com")
		out, err := cmd.CombinedOutput()
		t.Logf("%s %v: %s", name, args, out)
		return err
	}
	for _, args := range [][]string{
		{"init", "--quiet", "--initial-branch=main"}, {"commit", "--quiet", "--allow-empty", "-m", "one"}, {"tag", "on-main"}, {"commit", "--quiet", "--allow-empty", "-m", "two"},
		{"switch", "--quiet", "-c", "branch"}, {"commit", "--quiet", "--allow-empty", "-m", "three"}, {"tag", "on-branch"}, {"clone", "--quiet", origin, clone},
	} {
		if err := run(origin, "git", args...); err != nil {
			t.Fatal(err)
		}
	}
	for tag, want := range map[string]bool{"on-main": true, "on-branch": false} {
		if err := run(clone, "sh", "-c", `GITHUB_SHA=$(git rev-parse `+tag+`) && export GITHUB_SHA && `+check); (err == nil) != want {
			t.Errorf("a release of %s: %v", tag, err)
		}
	}
}

// TestRelease_hasTheFixesOfItsStandardLibrary: go.mod names a toolchain, which the tests run with or
// a newer one, and no older one than the language version asks for.
func TestRelease_hasTheFixesOfItsStandardLibrary(t *testing.T) {
	t.Parallel()
	mod, err := os.ReadFile(filepath.Join("..", "..", "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	language := regexp.MustCompile(`(?m)^go (\S+)$`).FindSubmatch(mod)
	toolchain := regexp.MustCompile(`(?m)^toolchain (go1\.\d+\.\d+)$`).FindSubmatch(mod)
	if language == nil || toolchain == nil {
		t.Fatal("go.mod names no toolchain with a patch version")
	}
	if version.Compare(string(toolchain[1]), "go"+string(language[1])) <= 0 {
		t.Errorf("the toolchain %s has no fixes beyond go %s", toolchain[1], language[1])
	}
	// With GOTOOLCHAIN=local, as actions/setup-go sets it, go ignores the line.
	if now, _, _ := strings.Cut(runtime.Version(), " "); version.IsValid(now) && version.Compare(now, string(toolchain[1])) < 0 {
		t.Errorf("the tests run with %s, which lacks fixes of %s", now, toolchain[1])
	}
}
