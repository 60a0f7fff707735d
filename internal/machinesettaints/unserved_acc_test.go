// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package machinesettaints_test

import (
	"strings"
	"sync/atomic"
	"testing"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
)

// TestAccMachineSetTaints_aClusterWithoutTheMachineAPI says so at plan, and loses no
// state; what is about nodes alone works as everywhere, and says nothing. It does not
// run beside other tests, whose tolerations that retire a plan would name.
//
//nolint:paralleltest // See above.
func TestAccMachineSetTaints_aClusterWithoutTheMachineAPI(t *testing.T) {
	const none = "Unable to find MachineSets: the cluster has no Machine API"
	s := stageOn(t, acctest.Alone(t))
	p, i := s.pool(1, nil), newInstance()
	config := s.config(p.Name, "team=a:NoSchedule", map[string]any{"strategy": "in_place"})
	planned := s.tf.Plan(t, newInstance(), config)
	s.apply(i, config)

	proxy := s.c.Proxy(t)
	tf := &acctest.Terraform{Provider: proxy.Provider(t, s.c)}
	var asked atomic.Int64
	proxy.Spoil(func(r acctest.Request) acctest.Fault {
		if strings.HasPrefix(r.Path, "/apis/machine.openshift.io") {
			asked.Add(1)
			return acctest.Unserved
		}
		return acctest.None
	})
	acctest.WantAll(s.T, tf.Plan(t, newInstance(), config).Diagnostics.Errors(), none, "it is not OpenShift", "kubetaint_node_taints works on any cluster")
	acctest.WantAll(s.T, tf.Carry(t, newInstance(), planned, config).Errors(), none)
	walk := tf.Walk(t)
	acctest.WantAll(s.T, walk.Refresh(i).Errors(), none)
	acctest.WantAll(s.T, walk.Plan(i, nil).Diagnostics.Errors(), none)
	acctest.WantAll(s.T, walk.ApplyChange(i, acctest.Planned{Private: i.Private}, nil).Errors(), none)
	if _, d := tf.Import(t, "kubetaint_machine_set_taints", s.namespace+"/"+p.Name+"/team:NoSchedule"); true {
		acctest.WantAll(s.T, d.Errors(), none)
	}
	if !i.Exists() || asked.Load() == 0 {
		t.Fatalf("%d requests asked for MachineSets, and the state has the resource: %t", asked.Load(), i.Exists())
	}
	p.Want(1, foreign+" team=a:NoSchedule")

	node := acctest.Name(t, "node")
	const before = "old=x:NoSchedule"
	s.c.Node(t, acctest.Node{Name: node, Taints: acctest.Parse(t, before)})
	taints := &acctest.Instance{Type: "kubetaint_node_taints"}
	for _, wanted := range []string{"team=a:NoSchedule", "team=b:NoSchedule"} {
		config := map[string]any{"node_name": node, "taints": acctest.Objects(t, wanted), "absent_taints": []any{map[string]any{"key": "old", "effect": "NoSchedule"}}}
		if d := tf.Apply(t, taints, config); len(d) > 0 || s.c.Taints(t, node) != wanted {
			t.Fatalf("the node has %q, want %q: %s%s", s.c.Taints(t, node), wanted, d.Errors(), d.Warnings())
		}
	}
	if _, d := tf.Data(t, "kubetaint_nodes", map[string]any{"selector": "kubernetes.io/hostname=" + node}); len(d) > 0 {
		t.Fatalf("the list of nodes says %s%s", d.Errors(), d.Warnings())
	}
	if d := tf.Apply(t, taints, nil); len(d) > 0 || s.c.Taints(t, node) != before {
		t.Fatalf("the node has %q: %s%s", s.c.Taints(t, node), d.Errors(), d.Warnings())
	}
}
