// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package nodetaints_test

import (
	"testing"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
)

// TestNodeTaints_whatIsStillItsOwnGoes has entries outlive the configuration that named them:
// what the resource has not given up goes with a later apply, and what it has does not.
func TestNodeTaints_whatIsStillItsOwnGoes(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]func(t *testing.T, c *acctest.Cluster, tf *acctest.Terraform, nodes []string){
		"on a node whose record was damaged": func(t *testing.T, c *acctest.Cluster, tf *acctest.Terraform, nodes []string) {
			i := newInstance()
			tf.Settle(t, i, selecting(t, nodes[0], "a:NoSchedule"))
			written := c.Get(t, nodes[1]).Annotations[taint.OwnedAnnotation]
			annotate(t, c, nodes[1], "damaged")
			apply(t, tf, i, selecting(t, nodes[0], "b:NoSchedule"))
			wantTaints(t, c, nodes[1], "a:NoSchedule")
			annotate(t, c, nodes[1], written)
			tf.Settle(t, i, selecting(t, nodes[0], "b:NoSchedule"))
			wantTaints(t, c, nodes[1], "b:NoSchedule")
		},
		"after an update whose state was not saved": func(t *testing.T, c *acctest.Cluster, tf *acctest.Terraform, nodes []string) {
			i := newInstance()
			tf.Settle(t, i, selecting(t, nodes[0], "a:NoSchedule"))
			for _, interrupted := range []string{"b:NoSchedule", "a:NoSchedule c:NoSchedule", "d:NoExecute"} {
				killed := *i
				apply(t, tf, &killed, selecting(t, nodes[0], interrupted))
			}
			tf.Settle(t, i, selecting(t, nodes[0], "e:NoSchedule"))
			wantTaints(t, c, nodes[0], "e:NoSchedule")
			killed := *i
			apply(t, tf, &killed, selecting(t, nodes[0], "f:NoSchedule"))
			tf.Destroy(t, i)
			wantTaints(t, c, nodes[0], "")
		},
		"of a state without held marks": func(t *testing.T, c *acctest.Cluster, tf *acctest.Terraform, nodes []string) {
			i := newInstance()
			tf.Settle(t, i, selecting(t, nodes[0], "a:NoSchedule"))
			i.Private = acctest.ReplacePrivate(t, i.Private, `"held":`, `"dropped":`)
			before := c.Get(t, nodes[0]).ResourceVersion
			tf.Settle(t, i, selecting(t, nodes[0], "a:NoSchedule"))
			if after := c.Get(t, nodes[0]).ResourceVersion; after != before {
				t.Error("the node is written for it")
			}
			tf.Settle(t, i, selecting(t, nodes[0], "b:NoSchedule"))
			wantTaints(t, c, nodes[0], "b:NoSchedule")
		},
		"and not what it has given up": func(t *testing.T, c *acctest.Cluster, tf *acctest.Terraform, nodes []string) {
			i := newInstance()
			tf.Settle(t, i, selecting(t, nodes[0], "a:NoSchedule"))
			written := c.Get(t, nodes[1]).Annotations[taint.OwnedAnnotation]
			tf.Settle(t, i, selecting(t, nodes[0], "b:NoSchedule"))
			c.Patch(t, nodes[1], `{"spec":{"taints":[{"key":"a","effect":"NoSchedule"}]}}`)
			annotate(t, c, nodes[1], written)
			apply(t, tf, i, selecting(t, nodes[0], "c:NoSchedule"))
			wantTaints(t, c, nodes[1], "a:NoSchedule, c:NoSchedule")
		},
		"on other nodes than that of which nothing can be read": func(t *testing.T, c *acctest.Cluster, tf *acctest.Terraform, nodes []string) {
			i := newInstance()
			tf.Settle(t, i, selecting(t, nodes[0], "a:NoSchedule"))
			written := c.Get(t, nodes[1]).Annotations[taint.OwnedAnnotation]
			annotate(t, c, nodes[0], "damaged")
			apply(t, tf, i, selecting(t, nodes[0], "b:NoSchedule"))
			c.Patch(t, nodes[1], `{"spec":{"taints":[{"key":"a","effect":"NoSchedule"}]}}`)
			annotate(t, c, nodes[1], written)
			apply(t, tf, i, selecting(t, nodes[0], "c:NoSchedule"))
			wantTaints(t, c, nodes[1], "a:NoSchedule, c:NoSchedule")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			acctest.OnFake(t, func(t *testing.T, c *acctest.Cluster) {
				pool := acctest.Name(t, "node")
				nodes := []string{pool, pool + "-2"}
				for _, node := range nodes {
					c.Node(t, acctest.Node{Name: node, Labels: map[string]string{"pool": pool}})
				}
				test(t, c, terraform(t, c), nodes)
			})
		})
	}
}

func selecting(t *testing.T, pool, taints string) map[string]any {
	t.Helper()
	return map[string]any{"node_selector": "pool=" + pool, "taints": acctest.Objects(t, taints)}
}

func apply(t *testing.T, tf *acctest.Terraform, i *acctest.Instance, config map[string]any) {
	t.Helper()
	if d := tf.Apply(t, i, config); d.Errors() != "" {
		t.Fatal(d.Errors())
	}
}
