// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package nodetaints_test

import (
	"context"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
)

func TestAccNodeTaints_conflictWithATaintThatIsNotOwned(t *testing.T) {
	t.Parallel()
	c := acctest.Connect(t)
	tf, name := terraform(t, c), acctest.Name(t, "node")
	c.Node(t, acctest.Node{Name: name, Taints: acctest.Parse(t, "dedicated=web:NoSchedule")})
	config := map[string]any{"node_name": name, "taints": acctest.Objects(t, "dedicated=gpu:NoSchedule")}
	i := newInstance()
	d := tf.Plan(t, i, config).Diagnostics
	acctest.WantAll(t, d.Errors(), `Unable to claim taint "dedicated:NoSchedule" on node "`+name+`"`, "adopt", `"taints"`)

	config["on_conflict"] = "adopt"
	tf.Settle(t, i, config)
	wantTaints(t, c, name, "dedicated=gpu:NoSchedule")
	tf.Destroy(t, i)
	wantTaints(t, c, name, "")
}

// TestAccNodeTaints_taintOfACordonIsNoDrift: the node lifecycle controller adds it.
func TestAccNodeTaints_taintOfACordonIsNoDrift(t *testing.T) {
	t.Parallel()
	c := acctest.Connect(t)
	tf, name := terraform(t, c), acctest.Name(t, "node")
	c.Node(t, acctest.Node{Name: name})
	i := newInstance()
	config := map[string]any{"node_name": name, "taints": acctest.Objects(t, "dedicated=gpu:NoSchedule spot:NoSchedule")}
	tf.Settle(t, i, config)
	c.Patch(t, name, `{"spec":{"unschedulable":true}}`)
	acctest.Until(t, "the node has the taint of a cordon", func(context.Context) (bool, error) {
		return strings.Contains(c.Taints(t, name), corev1.TaintNodeUnschedulable), nil
	})
	if planned := tf.Plan(t, i, config); !planned.Empty || len(planned.Diagnostics) > 0 {
		t.Fatalf("a cordon is drift: %s%s", planned.Diagnostics.Errors(), planned.Diagnostics.Warnings())
	}
}
