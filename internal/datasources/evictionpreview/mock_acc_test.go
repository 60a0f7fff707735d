// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package evictionpreview_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
)

// TestAccEvictionPreview_configurationsAreTestedWithoutACluster runs the guide's module with
// the guide's test: "terraform test" mocks the provider, and nothing is connected to. OpenTofu needs
// objects with every attribute.
func TestAccEvictionPreview_configurationsAreTestedWithoutACluster(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		old, new string
		passes   bool
	}{
		"the guide's module passes":            {passes: true},
		"a module with another taint does not": {`effect = "NoExecute"`, `effect = "NoSchedule"`, false},
		"one that accepts lost pods does not":  {"lost == 0", "lost >= 0", false},
	} {
		for _, complete := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, complete objects: %t", name, complete), func(t *testing.T) {
				t.Parallel()
				cli := acctest.NewCLI(t)
				mocked(t, cli.Dir, complete, tt.old, tt.new)
				passes := tt.passes
				if !complete && strings.HasPrefix(cli.MustRun("version"), "OpenTofu") {
					passes = false
				}
				if out, ok := cli.Run("test", "-no-color"); ok != passes {
					t.Errorf("it passes: %t\n%s", ok, out)
				}
			})
		}
	}
}

// mocked writes the guide's module and its test, with the module changed.
func mocked(t *testing.T, dir string, complete bool, old, replacement string) {
	t.Helper()
	if err := os.CopyFS(dir, os.DirFS(filepath.Join(examples, "guides", "terraform-test"))); err != nil {
		t.Fatal(err)
	}
	const source = "terraform {\n  required_providers {\n    kubetaint = { source = \"kubetaint/kubetaint\" }\n  }\n}\n\n"
	edit(t, filepath.Join(dir, "main.tf"), func(text string) string {
		if !strings.Contains(text, old) {
			t.Fatalf("the module has no %q", old)
		}
		if old != "" {
			text = strings.ReplaceAll(text, old, replacement)
		}
		return source + text
	})
	if complete {
		edit(t, filepath.Join(dir, "taints.tftest.hcl"), func(text string) string {
			return regexp.MustCompile(`summary = \{ lost = (\d) \}`).ReplaceAllString(text, "summary = {\n"+
				"stays = 0, evicted_now = 0, evicted_after = 0, drained = 0, unknown = 0, lost = $1\n"+
				"pending = 0, pending_max = 0, preempted = 0, evicted_again = 0, lost_max = 0, not_reschedulable = 0\n}")
		})
	}
}

// edit changes the text of a file.
func edit(t *testing.T, path string, change func(string) string) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(change(string(text))), 0o600); err != nil {
		t.Fatal(err)
	}
}
