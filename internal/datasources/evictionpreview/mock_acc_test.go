// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package evictionpreview_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
)

// TestAccEvictionPreview_configurationsAreTestedWithoutACluster runs the guide's module with
// the guide's test: "terraform test" mocks the provider, and nothing is connected to.
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
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cli := acctest.NewCLI(t)
			if err := os.CopyFS(cli.Dir, os.DirFS(filepath.Join(examples, "guides", "terraform-test"))); err != nil {
				t.Fatal(err)
			}
			module := filepath.Join(cli.Dir, "main.tf")
			text, err := os.ReadFile(module)
			if err != nil || !strings.Contains(string(text), tt.old) {
				t.Fatalf("the module has no %q: %v", tt.old, err)
			}
			if tt.old != "" {
				text = []byte(strings.ReplaceAll(string(text), tt.old, tt.new))
			}
			const source = "terraform {\n  required_providers {\n    kubetaint = { source = \"kubetaint/kubetaint\" }\n  }\n}\n\n"
			if err := os.WriteFile(module, append([]byte(source), text...), 0o600); err != nil {
				t.Fatal(err)
			}
			if out, ok := cli.Run("test", "-no-color"); ok != tt.passes {
				t.Errorf("it passes: %t\n%s", ok, out)
			}
		})
	}
}
