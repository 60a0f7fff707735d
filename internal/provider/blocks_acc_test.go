// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package provider_test

import (
	"fmt"
	"regexp"
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
  evictions = {}
}

data "kubetaint_eviction_preview" %[1]q {
  provider      = kubetaint.%[1]s
  node_selector = "pool=%[3]s"
  taints        = [{ key = "team", effect = "NoExecute" }]

  added_tolerations = [{ kind = "Deployment", namespace = "shop", name = "web", tolerations = [{ key = "team" }] }]
}

`, alias, tt.blocks[i], node)
			}
			config += outliving("kubetaint_eviction_preview")
			cli.Write(nil, config)
			if out := cli.MustRun("validate"); strings.Contains(out, "tolerates only") || strings.Contains(out, "sets no") {
				t.Errorf("a process without a block warns:\n%s", out)
			}
			shown := acctest.Unfold(cli.MustRun("plan", "-input=false"))
			if strings.Contains(shown, "similar warning") {
				t.Errorf("a command line shows one warning for both:\n%s", shown)
			}
			warnings := cli.Warnings()
			for address, warning := range map[string]string{
				"kubetaint_node_taints.%s":           "does not exist yet",
				"kubetaint_node_taints.%s ":          "sets no limit",
				"data.kubetaint_eviction_preview.%s": "tolerates only taints with an empty value",
			} {
				if got := strings.Count(shown, warning); got != 2 {
					t.Errorf("%d warnings that a thing %s:\n%s", got, warning, shown)
				}
				numbered := regexp.MustCompile(warning + `( \([^)]*\))? \(provider block 2\)`)
				if got := len(numbered.FindAllString(shown, -1)); got != map[bool]int{true: 1}[tt.numbered] {
					t.Errorf("%d warnings are numbered that a thing %s:\n%s", got, warning, shown)
				}
				for _, block := range []string{"a", "b"} {
					at := strings.TrimSpace(fmt.Sprintf(address, block))
					if !slices.ContainsFunc(warnings, func(w acctest.PlanWarning) bool { return w.Address == at && strings.Contains(w.Summary, warning) }) {
						t.Errorf("the output for programs has no warning of %s that it %s", at, warning)
					}
				}
			}
		})
	}
}

// outliving has the process of each block run until that of the other has read a data source: one that has ended
// before the other is started is taken for one of an earlier step.
func outliving(data string) string {
	const last = `data "kubetaint_nodes" "last_%[1]s" {
  provider   = kubetaint.%[1]s
  depends_on = [data.%[3]s.%[2]s]
}

`
	return fmt.Sprintf(last, "a", "b", data) + fmt.Sprintf(last, "b", "a", data)
}

// TestAccProvider_warningsOfTheBlocksThemselves: limits of two equal blocks that set nothing are two warnings.
func TestAccProvider_warningsOfTheBlocksThemselves(t *testing.T) {
	t.Parallel()
	file, cli, config := acctest.Connect(t).Kubeconfig(t), acctest.NewCLI(t), ""
	for _, alias := range []string{"a", "b"} {
		config += fmt.Sprintf(`provider "kubetaint" {
  alias       = %[1]q
  config_path = %[2]q
  evictions   = {}
}

data "kubetaint_nodes" %[1]q {
  provider = kubetaint.%[1]s
}

`, alias, file)
	}
	cli.Write(nil, config+outliving("kubetaint_nodes"))
	shown := acctest.Unfold(cli.MustRun("plan", "-input=false"))
	const nothing = "sets no limit"
	if strings.Count(shown, nothing) != 2 || strings.Count(shown, "(provider block 2)") != 1 || strings.Contains(shown, "similar warning") {
		t.Errorf("want two warnings, the second numbered:\n%s", shown)
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
