// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package nodetaints_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
)

// TestAccNodeTaints_renamedWithoutMovedIsRefused by a plan, whatever comes first in it, and
// one after the other as well; with the moved block of the message nothing changes.
func TestAccNodeTaints_renamedWithoutMovedIsRefused(t *testing.T) {
	t.Parallel()
	c := acctest.Connect(t)
	cli := acctest.NewCLI(t)
	pool, nodes := pool(t, c, 2)
	config := hcl(fmt.Sprintf("node_selector = \"pool=%s\"", pool), hclTaints(t, gpu))
	cli.Write(c.Provider(t), config)
	cli.MustRun("apply", "-auto-approve", "-input=false")
	renamed := strings.Replace(config, `"this"`, `"that"`, 1)
	cli.Write(c.Provider(t), renamed)
	for _, flag := range []string{"-parallelism=1", "-parallelism=10"} {
		out, ok := cli.Run("plan", "-input=false", flag)
		if ok {
			t.Fatalf("with %s the plan succeeds:\n%s", flag, out)
		}
		acctest.WantAll(t, out, "would be destroyed and created again", "moved {", "from = kubetaint_node_taints.OLD")
	}
	cli.Write(c.Provider(t), renamed+`
moved {
  from = kubetaint_node_taints.this
  to   = kubetaint_node_taints.that
}
`)
	acctest.WantAll(t, cli.MustRun("apply", "-auto-approve", "-input=false"), "0 added", "0 destroyed")
	wantOwned(t, c, nodes, ", "+gpu)
	cli.MustRun("destroy", "-auto-approve", "-input=false")
	wantOwned(t, c, nodes, "")
}
