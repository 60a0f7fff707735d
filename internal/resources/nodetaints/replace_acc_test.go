// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package nodetaints_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
)

// TestAccNodeTaints_replacementOfWhatHasChangedLosesNothing: with create_before_destroy,
// the replacement of an object whose keys have changed has another id, and cannot
// adopt them. The taints stay, and the configuration that the old object was created with leads
// out of it.
func TestAccNodeTaints_replacementOfWhatHasChangedLosesNothing(t *testing.T) {
	t.Parallel()
	c := acctest.Connect(t)
	cli := acctest.NewCLI(t)
	pool, nodes := pool(t, c, 2)
	write := func(taints string) {
		cli.Write(c.Provider(t), hcl(fmt.Sprintf("node_selector = \"pool=%s\"\n  lifecycle {\n    create_before_destroy = true\n  }", pool), hclTaints(t, taints)))
	}
	write(gpu)
	cli.MustRun("apply", "-auto-approve", "-input=false")
	write(gpu + " spot:NoSchedule")
	cli.MustRun("apply", "-auto-approve", "-input=false")
	if out, ok := cli.Run("apply", "-no-color", "-auto-approve", "-input=false", "-replace=kubetaint_node_taints.this"); ok || !strings.Contains(out, "Unable to claim taint") {
		t.Fatalf("the replacement takes over what is another object's:\n%s", out)
	}
	wantOwned(t, c, nodes, ", "+gpu+", spot:NoSchedule")

	write(gpu)
	cli.MustRun("apply", "-auto-approve", "-input=false")
	for _, node := range nodes {
		if taints := c.Taints(t, node); !strings.Contains(taints, gpu) {
			t.Fatalf("node %s has lost its taint: %s", node, taints)
		}
	}
	cli.MustRun("apply", "-auto-approve", "-input=false")
	wantOwned(t, c, nodes, ", "+gpu)
	cli.WantEmptyPlan()
	cli.MustRun("destroy", "-auto-approve", "-input=false")
	wantOwned(t, c, nodes, "")
}
