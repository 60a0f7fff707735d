// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package dedicatednodes_test

import (
	"testing"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
)

func TestDedicatedNodes_anotherClusterIsAnErrorBeforeARead(t *testing.T) {
	t.Parallel()
	onFake(t, func(t *testing.T, c *acctest.Cluster) {
		p := newPool(t, c, "Deployment")
		tf, i := terraform(t, c), newInstance()
		w := wish{taints: "team=a:NoSchedule", labels: "dedicated=gpu", workloads: map[string]string{"Deployment": pinned}}
		tf.Settle(t, i, p.config(w))
		c.Elsewhere(t, i, p.config(wish{taints: "team=b:NoSchedule"}))
		p.want(w, "Deployment")
		// An update that was killed leaves no private state: the marks say whose it is.
		killed := *i
		killed.Private = nil
		if planned := tf.Plan(t, &killed, p.config(w)); planned.Diagnostics.Errors() != "" || !planned.Empty {
			t.Fatalf("the state is not recovered: %s", planned.Diagnostics.Errors())
		}
		tf.Destroy(t, &killed)
		p.want(wish{}, "Deployment")
	})
}

func TestDedicatedNodes_clusterOutOfReachKeepsTheState(t *testing.T) {
	t.Parallel()
	onFake(t, func(t *testing.T, c *acctest.Cluster) {
		p := newPool(t, c, "Deployment")
		proxy := c.Proxy(t)
		tf, i := &acctest.Terraform{Provider: proxy.Provider(t, c)}, newInstance()
		w := wish{taints: "team=a:NoExecute", labels: "dedicated=gpu", workloads: map[string]string{"Deployment": pinned}}
		changed := wish{taints: "team=b:NoExecute", labels: "reserved=gpu", workloads: w.workloads}
		tf.Settle(t, i, p.config(w))
		proxy.OutOfReach(t, tf.Provider, []*acctest.Instance{i}, []map[string]any{p.config(w)}, p.config(changed))

		// A limit cannot be checked then.
		proxy.Spoil(func(acctest.Request) acctest.Fault { return acctest.CutBefore })
		budget := acctest.With(p.config(changed), map[string]any{"evictions": map[string]any{"max_pods": 1}})
		acctest.WantAll(t, tf.Walk(t).Plan(i, budget).Diagnostics.Errors(), `[AttributeName("evictions")]`, "cannot be checked", "Check that its API server runs, and the network to it.")
		proxy.Spoil(nil)
		p.want(w, "Deployment")
		tf.Settle(t, i, p.config(changed))
		p.want(changed, "Deployment")
		tf.Destroy(t, i)
	})
}

func TestDedicatedNodes_unknownInputsAreNotGuessedAt(t *testing.T) {
	t.Parallel()
	onFake(t, func(t *testing.T, c *acctest.Cluster) {
		p := newPool(t, c, "Deployment")
		good := p.config(wish{taints: "team=a:NoExecute", labels: "dedicated=gpu", workloads: map[string]string{"Deployment": pinned}})
		workload := func(changes map[string]any) map[string]any {
			return map[string]any{"workloads": []any{acctest.With(map[string]any{"kind": "Deployment", "namespace": p.namespace, "name": "deployment"}, changes)}}
		}
		for name, changes := range map[string]map[string]any{
			"the selector":                {"node_selector": acctest.Unknown},
			"the names":                   {"node_selector": nil, "node_names": acctest.Unknown},
			"one name":                    {"node_selector": nil, "node_names": []any{p.nodes[0], acctest.Unknown}},
			"the taints":                  {"taints": acctest.Unknown},
			"the value of a taint":        {"taints": []any{map[string]any{"key": "team", "value": acctest.Unknown, "effect": "NoExecute"}}},
			"the labels":                  {"labels": acctest.Unknown},
			"the value of a label":        {"labels": map[string]any{"dedicated": acctest.Unknown}},
			"the workloads":               {"workloads": acctest.Unknown},
			"the name of a workload":      workload(map[string]any{"name": acctest.Unknown}),
			"the kind of a workload":      workload(map[string]any{"kind": acctest.Unknown}),
			"the namespace of a workload": workload(map[string]any{"namespace": acctest.Unknown}),
			"whether it is pinned":        workload(map[string]any{"pin": acctest.Unknown}),
			"for how long it tolerates":   workload(map[string]any{"toleration_seconds": acctest.Unknown}),
			"what a conflict leads to":    {"on_conflict": acctest.Unknown},
		} {
			t.Log(name)
			if planned := terraform(t, c).Plan(t, newInstance(), acctest.With(good, changes)); len(planned.Diagnostics) > 0 {
				t.Fatalf("%s%s", planned.Diagnostics.Errors(), planned.Diagnostics.Warnings())
			}
		}
		unknown := &acctest.Terraform{Provider: map[string]any{"host": acctest.Unknown, "token": "x"}}
		acctest.WantAll(t, unknown.Plan(t, newInstance(), good).Diagnostics.Warnings(), "Unable to read the cluster: the provider block is not known yet")
	})
}
