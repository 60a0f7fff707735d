// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package dedicatednodes_test

import (
	"testing"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
)

var allKinds = []string{"DaemonSet", "Deployment", "StatefulSet"}

// everything is one resource through its life, in every way in which it can
// change.
func everything() []wish {
	all := map[string]string{"Deployment": pinned, "StatefulSet": pinned, "DaemonSet": pinned}
	return []wish{
		{"creating", "team=a:NoExecute", "dedicated=gpu", all},
		{"changing the value", "team=b:NoExecute", "dedicated=gpu", all},
		{"changing the effect to NoSchedule", "team=b:NoSchedule", "dedicated=gpu", all},
		{"changing the effect back and adding a taint", "team=b:NoExecute zone=x:NoSchedule", "dedicated=gpu", all},
		{"changing the key of a taint and of the label", "group=b:NoExecute zone=x:NoSchedule", "reserved=gpu", all},
		{"adding a label", "group=b:NoExecute", "reserved=gpu tier=one", all},
		{"removing a label", "group=b:NoExecute", "reserved=gpu", all},
		{"changing the value of the label", "group=b:NoExecute", "reserved=web", map[string]string{"Deployment": pinned, "StatefulSet": pinned, "DaemonSet": tolerating}},
		{"taking a workload out", "group=b:NoExecute", "reserved=web", map[string]string{"Deployment": pinned, "DaemonSet": tolerating}},
		{"removing all labels and pins, and the value of the taint", "group:NoExecute", "", map[string]string{"Deployment": tolerating, "DaemonSet": tolerating}},
		{"destroying", "", "", nil},
	}
}

// TestAccDedicatedNodes_evictsNoPod watches which pods the real taint-eviction
// controller deletes, and where the real scheduler puts pods.
func TestAccDedicatedNodes_evictsNoPod(t *testing.T) {
	t.Parallel()
	c := acctest.Connect(t)
	for _, flag := range []string{"-parallelism=10", "-parallelism=1"} {
		t.Run(flag, func(t *testing.T) {
			t.Parallel()
			if flag == "-parallelism=1" {
				acctest.Exhaustive(t)
			}
			p := newPool(t, c, allKinds...)
			p.keyed = true
			cli := acctest.NewCLI(t)
			evicted := c.Evictions(t, p.namespace)
			for _, w := range everything() {
				cli.Write(c.Provider(t), p.hcl(w))
				if out, ok := cli.Run("apply", "-auto-approve", "-input=false", flag); !ok {
					t.Fatalf("%s failed:\n%s", w.name, out)
				}
				t.Log(w.name)
				p.want(w, allKinds...)
				cli.WantEmptyPlan()
				for _, kind := range allKinds {
					p.settled(kind, w)
					if w.workloads[kind] == pinned {
						p.confined(kind)
					}
				}
				cli.WantEmptyPlan("-refresh-only")
			}
			if names := evicted(); len(names) > 0 {
				t.Fatalf("the taint-eviction controller deleted %v", names)
			}
		})
	}
}

// TestAccDedicatedNodes_daemonSetNeverLosesMoreThanItAllows watches a DaemonSet
// whose pods the nodes are kept for.
func TestAccDedicatedNodes_daemonSetNeverLosesMoreThanItAllows(t *testing.T) {
	t.Parallel()
	c := acctest.Connect(t)
	p := newPool(t, c, "DaemonSet")
	p.keyed = true
	tf, i := terraform(t, c), newInstance()
	workloads := map[string]string{"DaemonSet": tolerating}
	const pods = 3
	tf.Settle(t, i, p.config(wish{taints: "team=a:NoExecute", workloads: workloads}))
	c.Running(t, p.namespace, "daemonset", pods)
	least := c.LeastReady(t, p.namespace, "daemonset")
	for _, taints := range []string{"team=b:NoExecute", "group=b:NoSchedule", "group=b:NoExecute zone:NoExecute"} {
		tf.Settle(t, i, p.config(wish{taints: taints, workloads: workloads}))
	}
	c.Running(t, p.namespace, "daemonset", pods)
	if ready := least(); ready < pods-1 {
		t.Fatalf("only %d of %d pods were ready at some moment, and maxUnavailable is 1", ready, pods)
	}
}
