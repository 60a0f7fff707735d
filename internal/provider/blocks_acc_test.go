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

// TestAccProvider_warningsOfTwoBlocks: a command line shows the warnings of two provider blocks one by one
// where the blocks have another owner or cluster. Blocks that are equal in both share a summary: neither a
// provider's configuration nor its process shows which block it serves (ConfigureProviderRequest of
// tfplugin6.proto has no alias). The output for programs still has both warnings.
func TestAccProvider_warningsOfTwoBlocks(t *testing.T) {
	t.Parallel()
	east, west := acctest.Connect(t), acctest.Beside(t)
	path := func(c *acctest.Cluster) string { return fmt.Sprintf("config_path = %q\n", c.Kubeconfig(t)) }
	here := path(east)
	for name, tt := range map[string]struct {
		// blocks are the settings of the two provider blocks.
		blocks [2]string
		// folded is set where a command line shows one warning for both.
		folded bool
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
  taints    = [{ key = %[1]q, effect = "NoSchedule" }]
}

`, alias, tt.blocks[i], node)
			}
			cli.Write(nil, config)
			const warning, similar = "does not exist yet", "similar warning elsewhere"
			shown := acctest.Unfold(cli.MustRun("plan", "-input=false"))
			if got := strings.Contains(shown, similar); got != tt.folded || !strings.Contains(shown, warning) {
				t.Errorf("a command line shows one warning for both: %t, want %t:\n%s", got, tt.folded, shown)
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
