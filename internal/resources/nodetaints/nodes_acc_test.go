// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package nodetaints_test

import (
	"testing"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
)

func TestAccNodeTaints_destroyAfterTheNodeIsGone(t *testing.T) {
	t.Parallel()
	c := acctest.Connect(t)
	tf, name := terraform(t, c), acctest.Name(t, "node")
	c.Node(t, acctest.Node{Name: name})
	i := newInstance()
	tf.Settle(t, i, map[string]any{"node_name": name, "taints": acctest.Objects(t, "dedicated=gpu:NoSchedule")})
	planned := tf.Plan(t, i, nil)
	c.DeleteNode(t, name)
	if d := tf.Carry(t, i, planned, nil); d.Errors() != "" || i.Exists() {
		t.Fatalf("destroying the taints of a node that is gone: %s", d.Errors())
	}
}
