// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package nodetaints_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
)

// TestAccNodeTaints_replacementThatCouldNotTakeOverIsRefusedAtPlan: an object that was
// changed keeps its id, and one that is made of the same configuration has another. With
// create_before_destroy it would fail after the old object has been deposed.
func TestAccNodeTaints_replacementThatCouldNotTakeOverIsRefusedAtPlan(t *testing.T) {
	t.Parallel()
	c := acctest.Connect(t)
	cli := acctest.NewCLI(t)
	pool, nodes := pool(t, c, 2)
	selector := "pool=" + pool
	write := func(selector, taints string) {
		cli.Write(c.Provider(t), hcl(fmt.Sprintf("node_selector = %q\n  lifecycle {\n    create_before_destroy = true\n  }", selector), hclTaints(t, taints)))
	}
	refused := func() {
		t.Helper()
		out, ok := cli.Run("apply", "-no-color", "-auto-approve", "-input=false", "-replace=kubetaint_node_taints.this")
		if flat := strings.Join(strings.Fields(strings.ReplaceAll(out, "│", " ")), " "); ok || !strings.Contains(flat, "Unable to replace") || !strings.Contains(flat, "Apply without -replace") {
			t.Fatalf("it is not refused at plan:\n%s", out)
		}
	}
	write(selector, gpu)
	cli.MustRun("apply", "-auto-approve", "-input=false")
	write(selector, gpu+" spot:NoSchedule")
	refused()
	cli.MustRun("apply", "-auto-approve", "-input=false")
	refused()
	wantOwned(t, c, nodes, ", "+gpu+", spot:NoSchedule")
	cli.WantEmptyPlan()

	// With another selector it is another object as well, wherever it was created.
	write("pool in ("+pool+",none)", gpu)
	cli.MustRun("apply", "-auto-approve", "-input=false")
	refused()

	// As it was created, it can be replaced.
	write(selector, gpu)
	cli.MustRun("apply", "-auto-approve", "-input=false", "-replace=kubetaint_node_taints.this")
	wantOwned(t, c, nodes, ", "+gpu)
	cli.WantEmptyPlan()
	cli.MustRun("destroy", "-auto-approve", "-input=false")
	wantOwned(t, c, nodes, "")
}
