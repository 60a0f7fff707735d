// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package dedicatednodes_test

import (
	"slices"
	"testing"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
)

// TestDedicatedNodes_renamed renames the resource without a moved block, so that
// Terraform destroys the one object and creates the other, in any order: no node is
// without the taint for a moment, nobody is evicted, and no machine is replaced.
func TestDedicatedNodes_renamed(t *testing.T) {
	t.Parallel()
	id := taint.ID{Key: "team", Effect: "NoExecute"}
	for order, createFirst := range map[string]bool{"the destroy comes first": false, "the create comes first": true} {
		t.Run("nodes/"+order, func(t *testing.T) {
			t.Parallel()
			onFake(t, func(t *testing.T, c *acctest.Cluster) {
				p, tf := newPool(t, c, "Deployment"), terraform(t, c)
				evicted := c.Evictions(t, p.namespace)
				w := wish{taints: "team=a:NoExecute", labels: "dedicated=gpu", workloads: map[string]string{"Deployment": pinned}}
				older := newInstance()
				tf.Settle(t, older, p.config(w))
				bared := c.Bared(t, p.name, id)
				newer := rename(t, tf, older, p.config(w), createFirst)
				if nodes := bared(); len(nodes) > 0 {
					t.Fatalf("nodes were without the taint: %v", nodes)
				}
				p.want(w, "Deployment")
				p.settled("Deployment", w)
				if again := tf.Plan(t, newer, p.config(w)); !again.Empty {
					t.Fatal("the plan of the heir is not empty")
				}
				if names := evicted(); len(names) > 0 {
					t.Fatalf("the taint-eviction controller deleted %v", names)
				}
			})
		})
		t.Run("machine sets/"+order, func(t *testing.T) {
			t.Parallel()
			onFake(t, func(t *testing.T, c *acctest.Cluster) {
				f := newFleet(t, c)
				tf, older := terraform(t, f.c), newInstance()
				evicted := f.c.Evictions(t, f.Namespace)
				w := fleetWish{"team=a:NoExecute", "dedicated=gpu"}
				config := f.config(w, map[string]any{"strategy": "surge"})
				tf.Settle(t, older, config)
				names, bared := f.Names(), f.c.Bared(t, f.Pool.Name, id)
				newer := rename(t, tf, older, config, createFirst)
				if got := f.Names(); !slices.Equal(got, names) {
					t.Fatalf("the machines were %v and are %v", names, got)
				}
				if nodes := bared(); len(nodes) > 0 {
					t.Fatalf("nodes were without the taint: %v", nodes)
				}
				f.want(w)
				if again := tf.Plan(t, newer, config); !again.Empty {
					t.Fatal("the plan of the heir is not empty")
				}
				if names := evicted(); len(names) > 0 {
					t.Fatalf("the taint-eviction controller deleted %v", names)
				}
			})
		})
	}
}

// rename plans the destroy of one object and the create of another one side by side, and
// carries them out one after the other.
func rename(t *testing.T, tf *acctest.Terraform, older *acctest.Instance, config map[string]any, createFirst bool) *acctest.Instance {
	t.Helper()
	newer := newInstance()
	plans := tf.Walk(t)
	create, destroyed := plans.Plan(newer, config), plans.Plan(older, nil)
	if d := append(create.Diagnostics, destroyed.Diagnostics...); d.Errors() != "" {
		t.Fatal(d.Errors())
	}
	applies := tf.Walk(t)
	carry := func(i *acctest.Instance, planned acctest.Planned, config map[string]any) {
		if d := applies.ApplyChange(i, planned, config); d.Errors() != "" {
			t.Fatal(d.Errors())
		}
	}
	if createFirst {
		carry(newer, create, config)
		carry(older, destroyed, nil)
	} else {
		carry(older, destroyed, nil)
		carry(newer, create, config)
	}
	return newer
}
