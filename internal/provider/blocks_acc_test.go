// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package provider_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
)

// TestAccProvider_warningsOfTwoBlocks: a command line shows the warnings of two provider blocks one by one. Blocks
// that are equal in cluster and owner are numbered: neither a provider's configuration nor its process shows which
// block it serves (ConfigureProviderRequest of tfplugin6.proto has no alias).
func TestAccProvider_warningsOfTwoBlocks(t *testing.T) {
	t.Parallel()
	east, west := acctest.Connect(t), acctest.Beside(t)
	path := func(c *acctest.Cluster) string { return fmt.Sprintf("config_path = %q\n", c.Kubeconfig(t)) }
	here := path(east)
	for name, tt := range map[string]struct {
		// blocks are the settings of the two provider blocks.
		blocks [2]string
		// numbered is set where nothing else tells the warnings of a plan apart.
		numbered bool
	}{
		"another owner":        {[2]string{here, here + "owner = \"team-b\"\n"}, false},
		"another cluster":      {[2]string{here, path(west)}, false},
		"cluster and owner":    {[2]string{here, path(west) + "owner = \"team-b\"\n"}, false},
		"the same in both":     {[2]string{here, here}, true},
		"the same but a limit": {[2]string{here, here + "evictions = { max_pods = 5 }\n"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cli, config, node := acctest.NewCLI(t), "", acctest.Name(t, "gone")
			for i, alias := range []string{"a", "b"} {
				config += fmt.Sprintf(`provider "kubetaint" {
  alias = %[1]q
  %[2]s
}

resource "kubetaint_node_taints" %[1]q {
  provider  = kubetaint.%[1]s
  node_name = %[3]q
  taints    = [{ key = "team", effect = "NoSchedule" }]
}

`, alias, tt.blocks[i], node)
			}
			cli.Write(nil, config)
			const warning, similar, second = "does not exist yet", "similar warning elsewhere", "(provider block 2)"
			shown := acctest.Unfold(cli.MustRun("plan", "-input=false"))
			if strings.Contains(shown, similar) || strings.Count(shown, warning) != 2 {
				t.Errorf("a command line shows one warning for both:\n%s", shown)
			}
			if got := strings.Count(shown, warning+" "+second); got != map[bool]int{true: 1}[tt.numbered] {
				t.Errorf("%d warnings are numbered:\n%s", got, shown)
			}
			warnings := cli.Warnings()
			for _, block := range []string{"a", "b"} {
				if !slices.ContainsFunc(warnings, func(w acctest.PlanWarning) bool {
					return w.Address == "kubetaint_node_taints."+block && strings.Contains(w.Summary, warning)
				}) {
					t.Errorf("the output for programs has no warning of block %s", block)
				}
			}
		})
	}
}

// TestAccProvider_oneBlockIsNotNumbered: plan and apply are steps with a process each, and may give the same warning.
func TestAccProvider_oneBlockIsNotNumbered(t *testing.T) {
	t.Parallel()
	c, cli := acctest.Connect(t), acctest.NewCLI(t)
	cli.Write(nil, fmt.Sprintf(`provider "kubetaint" {
  config_path = %q
}

resource "kubetaint_node_taints" "this" {
  node_selector = "pool=%s"
  taints        = [{ key = "team", effect = "NoSchedule" }]
}
`, c.Kubeconfig(t), acctest.Name(t, "none")))
	for _, args := range [][]string{{"apply", "-auto-approve"}, {"apply", "-auto-approve", "-replace=kubetaint_node_taints.this"}, {"destroy", "-auto-approve"}} {
		shown := acctest.Unfold(cli.MustRun(append(args, "-input=false")...))
		if strings.Contains(shown, "provider block") || args[0] == "apply" && !strings.Contains(shown, "nothing is tainted") {
			t.Errorf("%v:\n%s", args, shown)
		}
	}
}
