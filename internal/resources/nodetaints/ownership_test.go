// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package nodetaints_test

import (
	"testing"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/messages"
)

func TestNodeTaints_conflictNamesTheOtherOwner(t *testing.T) {
	t.Parallel()
	messages.Expect(t, "Unable to claim taint … on …")
	messages.ExpectDetail(t, "is owned by …")
	acctest.OnFake(t, func(t *testing.T, c *acctest.Cluster) {
		tf, name := terraform(t, c), acctest.Name(t, "node")
		c.Node(t, acctest.Node{Name: name})
		other := &acctest.Terraform{Provider: acctest.With(tf.Provider, map[string]any{"owner": "team-a"})}
		first := newInstance()
		other.Settle(t, first, map[string]any{"node_name": name, "taints": acctest.Objects(t, "dedicated=gpu:NoSchedule")})
		for _, onConflict := range []string{"fail", "adopt"} {
			config := map[string]any{"node_name": name, "on_conflict": onConflict, "taints": acctest.Objects(t, "dedicated=gpu:NoSchedule")}
			acctest.WantAll(t, tf.Plan(t, newInstance(), config).Diagnostics.Errors(), "team-a/node_taints/node/"+name)
		}
		wantTaints(t, c, name, "dedicated=gpu:NoSchedule")
	})
}

// TestNodeTaints_keepsItsOwner when the provider block gets another one: what exists
// keeps the id that its marks carry, through updates as well.
func TestNodeTaints_keepsItsOwner(t *testing.T) {
	t.Parallel()
	acctest.OnFake(t, func(t *testing.T, c *acctest.Cluster) {
		tf, name, i := terraform(t, c), acctest.Name(t, "node"), newInstance()
		c.Node(t, acctest.Node{Name: name})
		tf.Settle(t, i, map[string]any{"node_name": name, "taints": acctest.Objects(t, "dedicated=gpu:NoSchedule")})
		before := tf.Attributes(t, i)["id"]
		other := &acctest.Terraform{Provider: acctest.With(tf.Provider, map[string]any{"owner": "team-a"})}
		if planned := other.Plan(t, i, map[string]any{"node_name": name, "taints": acctest.Objects(t, "dedicated=gpu:NoSchedule")}); !planned.Empty || planned.Diagnostics.Errors() != "" {
			t.Fatalf("another owner changes what exists: %s", planned.Diagnostics.Errors())
		}
		other.Settle(t, i, map[string]any{"node_name": name, "taints": acctest.Objects(t, "dedicated=web:NoSchedule")})
		if after := other.Attributes(t, i)["id"]; after != before {
			t.Fatalf("the id was %v and is %v", before, after)
		}
		wantTaints(t, c, name, "dedicated=web:NoSchedule")
		other.Destroy(t, i)
		wantTaints(t, c, name, "")
	})
}

func TestNodeTaints_twoResourcesInOneRunCannotClaimTheSameTaint(t *testing.T) {
	t.Parallel()
	messages.Expect(t, "Unable to claim taint … twice")
	acctest.OnFake(t, func(t *testing.T, c *acctest.Cluster) {
		tf, name := terraform(t, c), acctest.Name(t, "node")
		c.Node(t, acctest.Node{Name: name, Labels: map[string]string{"pool": name}})
		walk := tf.Walk(t)
		first := walk.Plan(newInstance(), map[string]any{"node_name": name, "taints": acctest.Objects(t, "dedicated=gpu:NoSchedule")})
		if first.Diagnostics.Errors() != "" {
			t.Fatal(first.Diagnostics.Errors())
		}
		for _, second := range []map[string]any{
			{"node_name": name, "taints": acctest.Objects(t, "dedicated=gpu:NoSchedule")},
			{"node_selector": "pool=" + name, "taints": acctest.Objects(t, "dedicated=web:NoSchedule other:NoSchedule")},
			{"node_name": name, "absent_taints": []any{map[string]any{"key": "dedicated", "effect": "NoSchedule"}}},
		} {
			acctest.WantAll(t, walk.Plan(newInstance(), second).Diagnostics.Errors(), `Unable to claim taint "dedicated:NoSchedule" on node "`+name+`" twice`)
		}
	})
}

func TestNodeTaints_twoResourcesShareANode(t *testing.T) {
	t.Parallel()
	acctest.OnFake(t, func(t *testing.T, c *acctest.Cluster) {
		tf, name := terraform(t, c), acctest.Name(t, "node")
		c.Node(t, acctest.Node{Name: name})
		one, two := newInstance(), newInstance()
		tf.Settle(t, one, map[string]any{"node_name": name, "taints": acctest.Objects(t, "a=1:NoSchedule b:NoSchedule")})
		tf.Settle(t, two, map[string]any{"node_name": name, "taints": acctest.Objects(t, "a=2:NoExecute")})
		wantTaints(t, c, name, "a=1:NoSchedule, b:NoSchedule, a=2:NoExecute")
		tf.Destroy(t, one)
		wantTaints(t, c, name, "a=2:NoExecute")
		tf.Destroy(t, two)
		wantTaints(t, c, name, "")
	})
}

func TestNodeTaints_absentTaintIsRemovedAndPutBackOnDestroy(t *testing.T) {
	t.Parallel()
	acctest.OnFake(t, func(t *testing.T, c *acctest.Cluster) {
		tf, name := terraform(t, c), acctest.Name(t, "node")
		c.Node(t, acctest.Node{Name: name, Taints: acctest.Parse(t, "node-role.kubernetes.io/control-plane=old:NoSchedule keep:NoSchedule")})
		i := newInstance()
		absent := []any{map[string]any{"key": "node-role.kubernetes.io/control-plane", "effect": "NoSchedule"}, map[string]any{"key": "never", "effect": "NoExecute"}}
		config := map[string]any{"node_name": name, "absent_taints": absent}
		tf.Settle(t, i, config)
		wantTaints(t, c, name, "keep:NoSchedule")

		c.Patch(t, name, `{"spec":{"taints":[{"key":"keep","effect":"NoSchedule"},{"key":"never","value":"x","effect":"NoExecute"}]}}`)
		if planned := tf.Plan(t, i, config); planned.Empty {
			t.Fatal("a taint that must be absent came, and the plan is empty")
		}
		tf.Settle(t, i, config)
		wantTaints(t, c, name, "keep:NoSchedule")

		tf.Destroy(t, i)
		wantTaints(t, c, name, "keep:NoSchedule, never=x:NoExecute, node-role.kubernetes.io/control-plane=old:NoSchedule")
	})
}

func TestNodeTaints_absentControlPlaneTaintIsRefusedWhereOpenShiftOwnsIt(t *testing.T) {
	t.Parallel()
	acctest.OnFake(t, func(t *testing.T, c *acctest.Cluster) {
		tf, name := terraform(t, c), acctest.Name(t, "node")
		c.Node(t, acctest.Node{Name: name, Taints: acctest.Parse(t, "node-role.kubernetes.io/master:NoSchedule")})
		c.Patch(t, name, `{"metadata":{"annotations":{"machineconfiguration.openshift.io/currentConfig":"rendered-master-1"}}}`)
		config := map[string]any{"node_name": name, "absent_taints": []any{map[string]any{"key": "node-role.kubernetes.io/master", "effect": "NoSchedule"}}}
		acctest.WantAll(t, tf.Plan(t, newInstance(), config).Diagnostics.Errors(), "absent_taints", "mastersSchedulable")
	})
}

func TestNodeTaints_driftOfOwnedTaintsOnly(t *testing.T) {
	t.Parallel()
	acctest.OnFake(t, func(t *testing.T, c *acctest.Cluster) {
		tf, name := terraform(t, c), acctest.Name(t, "node")
		c.Node(t, acctest.Node{Name: name})
		i := newInstance()
		config := map[string]any{"node_name": name, "taints": acctest.Objects(t, "dedicated=gpu:NoSchedule spot:NoSchedule")}
		tf.Settle(t, i, config)
		for _, tt := range []struct {
			drift string
			want  any
		}{
			{`[{"key":"dedicated","value":"gpu","effect":"NoSchedule"},{"key":"spot","effect":"NoSchedule"},{"key":"foreign","effect":"NoSchedule"}]`, nil},
			{`[{"key":"dedicated","value":"gpu","effect":"NoSchedule"}]`, "missing"},
			{`[{"key":"dedicated","value":"web","effect":"NoSchedule"},{"key":"spot","effect":"NoSchedule"}]`, "different"},
		} {
			c.Patch(t, name, `{"spec":{"taints":`+tt.drift+`}}`)
			planned := tf.Plan(t, i, config)
			nodes, _ := tf.Attributes(t, i)["nodes"].(map[string]any)
			if nodes[name] != tt.want || planned.Empty != (tt.want == nil) {
				t.Fatalf("with taints %s nodes are %v and the plan is empty: %v, want %v", tt.drift, nodes, planned.Empty, tt.want)
			}
			tf.Settle(t, i, config)
		}
		wantTaints(t, c, name, "dedicated=gpu:NoSchedule, spot:NoSchedule")
	})
}

func TestNodeTaints_replaceCreatingBeforeDestroyingLosesNoTaint(t *testing.T) {
	t.Parallel()
	messages.Expect(t, "Creating adopts")
	acctest.OnFake(t, func(t *testing.T, c *acctest.Cluster) {
		tf, name := terraform(t, c), acctest.Name(t, "node")
		c.Node(t, acctest.Node{Name: name})
		config := map[string]any{"node_name": name, "taints": acctest.Objects(t, "dedicated=gpu:NoSchedule")}
		old := newInstance()
		tf.Settle(t, old, config)

		fresh := newInstance()
		d := tf.Apply(t, fresh, config)
		if d.Errors() != "" {
			t.Fatal(d.Errors())
		}
		acctest.WantAll(t, d.Warnings(), "adopts taints of", "terraform/node_taints/node/"+name+"/dedicated:NoSchedule")
		tf.Destroy(t, old)
		wantTaints(t, c, name, "dedicated=gpu:NoSchedule")
		if planned := tf.Plan(t, fresh, config); !planned.Empty {
			t.Fatal("the new object has lost its taint to the destruction of the old one")
		}
		tf.Destroy(t, fresh)
		wantTaints(t, c, name, "")
	})
}
