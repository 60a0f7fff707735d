// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package cyclemachineset_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/fakeapi/controllers"
)

const typeName = "kubetaint_cycle_machine_set"

// TestCycleMachineSet_refusals is what is refused before anything is written.
func TestCycleMachineSet_refusals(t *testing.T) {
	t.Parallel()
	acctest.OnFakeWithControllers(t, func(t *testing.T, c *acctest.Cluster) {
		namespace, tf := c.Namespace(t), &acctest.Terraform{Provider: c.Provider(t)}
		pool := func() *acctest.Pool {
			return c.MachineSet(t, acctest.MachineSet{Namespace: namespace, Name: acctest.Name(t, "ms"), Replicas: 1, Taints: foreign})
		}
		p, marked, hive := pool(), pool(), pool()
		c.Change(t, hive.Thing, "hive", `{"metadata":{"labels":{"hive.openshift.io/managed":"true"}}}`)
		c.Change(t, marked.Thing, "other", `{"metadata":{"annotations":{"kubetaint.io/rollout":"{\"id\":\"terraform/other\",\"strategy\":\"rolling\",\"originalReplicas\":1,\"targetTaints\":[],\"startedAt\":\"2026-01-02T03:04:05Z\"}"}}}`)
		before := p.Names()
		of := func(name string, rollout, more map[string]any) map[string]any {
			return acctest.With(map[string]any{"namespace": namespace, "name": name, "rollout": rollout}, more)
		}
		rolling := map[string]any{"strategy": "rolling"}
		for name, tt := range map[string]struct {
			config map[string]any
			want   []string
		}{
			"a strategy that replaces nothing": {of(p.Name, map[string]any{"strategy": "in_place"}, nil), []string{`AttributeName("rollout").AttributeName("strategy")`, "rolling"}},
			"a parameter of another strategy":  {of(p.Name, map[string]any{"strategy": "rolling", "max_surge": 2}, nil), []string{"Unable to use max_surge with the strategy rolling", "is only for the strategy surge"}},
			"a timeout that is no time":        {of(p.Name, rolling, map[string]any{"timeout": "soon"}), []string{`AttributeName("timeout")`, "such as 90m or 2h"}},
			"a MachineSet that there is not":   {of("nobody", rolling, nil), []string{"There is no MachineSet of this name"}},
			"one that another rolls out":       {of(marked.Name, rolling, nil), []string{"Unable to replace the machines of MachineSet", "Nothing has been written: \"terraform/other\" began a rollout of MachineSet", "at 2026-01-02 03:04:05 UTC (strategy rolling)", "kubetaint.io/rollout-"}},
			"scaling what Hive scales back":    {of(hive.Name, map[string]any{"strategy": "surge"}, nil), []string{"Nothing has been written: Hive manages this MachineSet", "Use the strategy rolling"}},
		} {
			acctest.WantAll(t, name+": "+tf.Invoke(t, typeName, tt.config).Errors(), tt.want...)
		}
		if got := p.Names(); !slices.Equal(got, before) {
			t.Fatalf("the machines were %v and are %v", before, got)
		}
		before = hive.Names()
		if d := tf.Invoke(t, typeName, of(hive.Name, rolling, nil)); d.Errors() != "" {
			t.Fatal(d.Errors())
		}
		hive.Want(1, foreign)
		for _, name := range hive.Names() {
			if slices.Contains(before, name) {
				t.Fatalf("%s has not been replaced", name)
			}
		}
	}, controllers.MachineAPI...)
}

func TestCycleMachineSet_withoutTheMachineAPISaysThatThereIsNone(t *testing.T) {
	t.Parallel()
	acctest.OnFake(t, func(t *testing.T, c *acctest.Cluster) {
		proxy := c.Proxy(t)
		proxy.Spoil(func(r acctest.Request) acctest.Fault {
			if strings.Contains(r.Path, "machine.openshift.io") {
				return 404
			}
			return acctest.None
		})
		tf := &acctest.Terraform{Provider: proxy.Provider(t, c)}
		config := map[string]any{"namespace": "openshift-machine-api", "name": "gpu", "rollout": map[string]any{"strategy": "rolling"}}
		acctest.WantAll(t, tf.Invoke(t, typeName, config).Errors(), "Unable to find MachineSets: the cluster has no Machine API")
	})
}
