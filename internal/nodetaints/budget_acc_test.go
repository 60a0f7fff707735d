// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package nodetaints_test

import (
	"testing"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
)

func TestAccNodeTaints_budgetIsCheckedAgainRightBeforeTheFirstWrite(t *testing.T) {
	t.Parallel()
	c := acctest.Connect(t)
	tf, name, namespace := terraform(t, c), acctest.Name(t, "node"), c.Namespace(t)
	c.Node(t, acctest.Node{Name: name})
	c.Pod(t, namespace, "one", name, nil)
	config := map[string]any{"node_name": name, "taints": acctest.Objects(t, "dedicated=gpu:NoExecute"), "evictions": map[string]any{"max_pods": 1}}
	i := newInstance()
	planned := tf.Plan(t, i, config)
	if planned.Diagnostics.Errors() != "" {
		t.Fatal(planned.Diagnostics.Errors())
	}
	walk := tf.Walk(t)
	// The process has read the pods already by then: what counts is those that
	// are there when it writes.
	walk.Between = func() { c.Pod(t, namespace, "two", name, nil) }
	d := walk.ApplyChange(i, planned, config)
	acctest.WantAll(t, d.Errors(), "max_pods", "2 pods")
	wantTaints(t, c, name, "")
	if i.Exists() {
		t.Fatal("nothing was written, and yet there is a state")
	}
}
