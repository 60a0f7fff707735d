// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package provider_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
)

// TestAccProvider_oneConfigurationForTwoClusters: each provider block has a cluster of its
// own, with a node of the same name, and nothing of one cluster is taken for the other's.
func TestAccProvider_oneConfigurationForTwoClusters(t *testing.T) {
	t.Parallel()
	cli, node := acctest.NewCLI(t), acctest.Name(t, "node")
	clusters := map[string]*acctest.Cluster{"east": acctest.Connect(t), "west": acctest.Beside(t)}
	blocks, resources := "", map[string]string{}
	for name, c := range clusters {
		c.Node(t, acctest.Node{Name: node, Quiet: true})
		blocks += fmt.Sprintf("provider \"kubetaint\" {\n  alias       = %q\n  config_path = %q\n}\n\n", name, c.Kubeconfig(t))
		resources[name] = fmt.Sprintf(`resource "kubetaint_node_taints" %[1]q {
  provider  = kubetaint.%[1]s
  node_name = %[2]q
  taints    = [{ key = "team", value = %[1]q, effect = "NoSchedule" }]
}

data "kubetaint_nodes" %[1]q {
  provider   = kubetaint.%[1]s
  depends_on = [kubetaint_node_taints.%[1]s]
}

output %[1]q {
  value = [for one in data.kubetaint_nodes.%[1]s.nodes : one.taints if one.name == %[2]q]
}
`, name, node)
	}
	cli.Write(nil, blocks+resources["east"]+resources["west"])
	cli.MustRun("apply", "-auto-approve", "-input=false")
	for name, c := range clusters {
		if got := c.Taints(t, node); got != "team="+name+":NoSchedule" {
			t.Errorf("the node in the %s has %q", name, got)
		}
		if shown := cli.MustRun("output", "-json", name); !strings.Contains(shown, name) {
			t.Errorf("the nodes of the %s are %s", name, shown)
		}
	}
	cli.WantEmptyPlan()

	// One block left out, and its cluster meant by the other: an error, and nothing written.
	moved := strings.ReplaceAll(resources["west"], "kubetaint.west\n", "kubetaint.east\n")
	cli.Write(nil, blocks+resources["east"]+moved)
	out, ok := cli.Run("apply", "-auto-approve", "-input=false")
	if ok {
		t.Fatalf("a resource goes to another cluster without a word:\n%s", out)
	}
	acctest.WantAll(t, acctest.Unfold(out), "another cluster")
	if got := clusters["east"].Taints(t, node); got != "team=east:NoSchedule" {
		t.Errorf("the node in the east has %q", got)
	}

	cli.Write(nil, blocks+resources["east"])
	cli.MustRun("apply", "-auto-approve", "-input=false")
	if east, west := clusters["east"].Taints(t, node), clusters["west"].Taints(t, node); east != "team=east:NoSchedule" || west != "" {
		t.Errorf("the node in the east has %q and that in the west %q", east, west)
	}
}
