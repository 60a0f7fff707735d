// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package dedicatednodes_test

import (
	"strings"
	"testing"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
)

// TestDedicatedNodes_restartsOfOthersAreAnnounced has a workload that is not among
// the resource's own need a toleration that retires: it goes with the taint, and
// the plan reports that this restarts its pods. It does not run beside other tests,
// whose retiring tolerations would be named as well.
func TestDedicatedNodes_restartsOfOthersAreAnnounced(t *testing.T) {
	t.Parallel()
	onFake(t, func(t *testing.T, c *acctest.Cluster) {
		p := newPool(t, c, "Deployment")
		p.run("StatefulSet", "guest", nil)
		c.Running(t, p.namespace, "guest", 3)
		tf, i := terraform(t, c), newInstance()
		guest := &acctest.Instance{Type: "kubetaint_workload_tolerations"}
		if d := tf.Apply(t, guest, map[string]any{
			"workload":    map[string]any{"kind": "StatefulSet", "namespace": p.namespace, "name": "guest"},
			"tolerations": acctest.Objects(t, "team=a:NoSchedule"),
		}); d.Errors() != "" {
			t.Fatal(d.Errors())
		}
		tf.Settle(t, i, p.config(wish{taints: "team=a:NoSchedule", workloads: map[string]string{"Deployment": tolerating}}))
		// Runs of a configuration have both.
		walk := tf.Walk(t)
		if d := append(walk.Refresh(guest), walk.Refresh(i)...); d.Errors() != "" {
			t.Fatal(d.Errors())
		}
		if d := tf.Apply(t, guest, nil); d.Errors() != "" || !strings.Contains(d.Warnings(), "stays for now: team=a:NoSchedule") {
			t.Fatalf("the guest's toleration does not retire: %s%s", d.Errors(), d.Warnings())
		}

		planned := tf.Plan(t, i, nil)
		acctest.WantAll(t, planned.Diagnostics.Warnings(), `Removing team=a:NoSchedule from 2 nodes`, `restarts 3 pods of StatefulSet "`+p.namespace+`/guest" in 1 rollout`)
		if strings.Contains(planned.Diagnostics.Warnings(), "of 2 workloads") {
			t.Fatalf("the resource's own workload is announced twice: %s", planned.Diagnostics.Warnings())
		}
		if d := tf.Carry(t, i, planned, nil); d.Errors() != "" {
			t.Fatal(d.Errors())
		}
		if got := c.Tolerations(t, p.namespace, "StatefulSet", "guest"); got != "foreign Exists" {
			t.Fatalf("the guest has the tolerations %q", got)
		}
	})
}
