// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package provider_test

import (
	"strings"
	"testing"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
)

// TestAccProvider_plansEveryResourceFromASnapshot plans from recordings of a cluster before and after an
// apply by a real command line: it warns once however many resources there are, and changes nothing.
func TestAccProvider_plansEveryResourceFromASnapshot(t *testing.T) {
	t.Parallel()
	c, cli := acctest.Connect(t), acctest.NewCLI(t)
	config := everyResource(t, c)
	refused := func(args ...string) {
		t.Helper()
		out, ok := cli.Run(append(args, "-auto-approve", "-input=false")...)
		if ok {
			t.Errorf("%v is not refused:\n%s", args, out)
		}
		acctest.WantAll(t, acctest.Unfold(out), "Unable to apply from a snapshot")
	}
	cli.Write(c.Snapshot(t).Provider, config)
	told := 0
	for _, w := range cli.PlanWarnings() {
		if strings.HasPrefix(w.Summary, "The plan is made from the snapshot ") {
			told++
		}
	}
	if told != 1 {
		t.Errorf("the plan warns %d times of the snapshot", told)
	}
	refused("apply")
	if state := string(cli.State()); strings.Contains(state, `"instances": [`) {
		t.Errorf("the refused apply has a state: %s", state)
	}
	live := c.Provider(t)
	cli.Write(live, config)
	cli.MustRun("apply", "-auto-approve", "-input=false")
	cli.Write(c.Snapshot(t).Provider, config)
	cli.WantEmptyPlan()
	refused("destroy")
	cli.Write(live, config)
	cli.WantEmptyPlan()
	cli.MustRun("destroy", "-auto-approve", "-input=false")
}
