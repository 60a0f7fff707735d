// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package nodetaints_test

import (
	"testing"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
)

const gpu = "dedicated=gpu:NoSchedule"

func idOf(t *testing.T, notation string) taint.ID {
	t.Helper()
	return taint.IDOf(acctest.Parse(t, notation)[0])
}

// TestNodeTaints_createsWhatAResourceHadBeforeItWasChanged: a resource keeps its id when it is
// changed, so that a new one with its first configuration has the same, and other taints.
func TestNodeTaints_createsWhatAResourceHadBeforeItWasChanged(t *testing.T) {
	t.Parallel()
	acctest.OnFake(t, func(t *testing.T, c *acctest.Cluster) {
		first, firstNodes := pool(t, c, 1)
		second, secondNodes := pool(t, c, 1)
		tf, older, newer := terraform(t, c), newInstance(), newInstance()
		tf.Settle(t, older, taintsOf(t, gpu)(first))
		tf.Settle(t, older, taintsOf(t, gpu+" spot:NoSchedule")(second))
		wantOwned(t, c, firstNodes, "")

		plans := tf.Walk(t)
		create, destroyed := plans.Plan(newer, taintsOf(t, gpu)(first)), plans.Plan(older, nil)
		applies := tf.Walk(t)
		if d := applies.ApplyChange(older, destroyed, nil); d.Errors() != "" {
			t.Fatal(d.Errors())
		}
		if d := applies.ApplyChange(newer, create, taintsOf(t, gpu)(first)); d.Errors() != "" {
			t.Fatal(d.Errors())
		}
		wantOwned(t, c, firstNodes, ", "+gpu)
		wantOwned(t, c, secondNodes, "")
		tf.Destroy(t, newer)
	})
}
