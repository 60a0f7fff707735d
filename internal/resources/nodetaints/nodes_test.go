// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package nodetaints_test

import (
	"net/http"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/messages"
)

func TestNodeTaints_selectorFollowsTheNodes(t *testing.T) {
	t.Parallel()
	acctest.OnFake(t, func(t *testing.T, c *acctest.Cluster) {
		tf, pool := terraform(t, c), acctest.Name(t, "pool")
		for _, n := range []string{"-1", "-2", "-3"} {
			c.Node(t, acctest.Node{Name: pool + n, Labels: map[string]string{"pool": pool}})
		}
		c.Node(t, acctest.Node{Name: pool + "-other"})
		i := newInstance()
		config := map[string]any{"node_selector": "pool=" + pool, "taints": acctest.Objects(t, "dedicated=gpu:NoSchedule")}
		tf.Settle(t, i, config)
		wantTaints(t, c, pool+"-2", "dedicated=gpu:NoSchedule")
		wantTaints(t, c, pool+"-other", "")

		c.Patch(t, pool+"-other", `{"metadata":{"labels":{"pool":"`+pool+`"}}}`)
		c.Patch(t, pool+"-1", `{"metadata":{"labels":{"pool":null}}}`)
		c.DeleteNode(t, pool+"-3")
		planned := tf.Plan(t, i, config)
		nodes, _ := tf.Attributes(t, i)["nodes"].(map[string]any)
		if planned.Empty || nodes[pool+"-other"] != "missing" || nodes[pool+"-1"] != "different" || len(nodes) != 2 {
			t.Fatalf("after nodes came and went, nodes are %v", nodes)
		}
		tf.Settle(t, i, config)
		wantTaints(t, c, pool+"-other", "dedicated=gpu:NoSchedule")
		wantTaints(t, c, pool+"-1", "")

		tf.Settle(t, i, acctest.With(config, map[string]any{"node_selector": "pool=" + pool + ",!gone"}))
		tf.Destroy(t, i)
		for _, n := range []string{"-1", "-2", "-other"} {
			wantTaints(t, c, pool+n, "")
		}
	})
}

func TestNodeTaints_selectorThatMatchesNothingWarns(t *testing.T) {
	t.Parallel()
	messages.Expect(t, "No node matches")
	acctest.OnFake(t, func(t *testing.T, c *acctest.Cluster) {
		tf, pool := terraform(t, c), acctest.Name(t, "pool")
		i := newInstance()
		config := map[string]any{"node_selector": "pool=" + pool, "taints": acctest.Objects(t, "dedicated=gpu:NoSchedule")}
		d := tf.Apply(t, i, config)
		if d.Errors() != "" || !i.Exists() {
			t.Fatalf("an empty pool is no error: %s", d.Errors())
		}
		acctest.WantAll(t, d.Warnings(), `No node matches "pool=`+pool+`": nothing is tainted`)
		c.Node(t, acctest.Node{Name: pool, Labels: map[string]string{"pool": pool}})
		tf.Settle(t, i, config)
		wantTaints(t, c, pool, "dedicated=gpu:NoSchedule")
		tf.Destroy(t, i)
	})
}

// TestNodeTaints_otherWordsPreviewNothing: a plan that changes words alone is as quiet as one that changes nothing.
func TestNodeTaints_otherWordsPreviewNothing(t *testing.T) {
	t.Parallel()
	acctest.OnFake(t, func(t *testing.T, c *acctest.Cluster) {
		tf, i, pool := terraform(t, c), newInstance(), acctest.Name(t, "pool")
		config := func(selector string) map[string]any {
			return map[string]any{"node_selector": selector, "taints": acctest.Objects(t, "a:NoSchedule")}
		}
		apply(t, tf, i, config("pool="+pool))
		planned := tf.Plan(t, i, config(" pool = "+pool))
		if said := planned.Diagnostics.Warnings() + planned.Diagnostics.Errors(); !planned.Empty || said != "" {
			t.Errorf("a plan of other words is empty: %t, and says %q", planned.Empty, said)
		}
	})
}

// A plan's words about a target that does not exist fit the attributes of the configuration.
func TestNodeTaints_missingTargetSaysWhatWouldBeDone(t *testing.T) {
	t.Parallel()
	wanted, unwanted := map[string]any{"taints": acctest.Objects(t, "dedicated=gpu:NoSchedule")}, map[string]any{"absent_taints": []any{map[string]any{"key": "node.example.com/new", "effect": "NoExecute"}}}
	for name, tt := range map[string]struct {
		config         map[string]any
		summary, later string
		named          string
	}{
		"taints":                   {wanted, "nothing is tainted", "Nodes that match later are tainted at the first apply after that.", "and taints it then. Pods"},
		"absent taints":            {unwanted, "no taint is removed", "Nodes that match later lose these taints at the first apply after that.", "and removes these taints then. If the name"},
		"taints and absent taints": {acctest.With(wanted, unwanted), "no taint is added or removed", "Nodes that match later get and lose these taints at the first apply after that.", "and changes its taints then. Pods"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			acctest.OnFake(t, func(t *testing.T, c *acctest.Cluster) {
				tf, pool := terraform(t, c), acctest.Name(t, "pool")
				d := tf.Plan(t, newInstance(), acctest.With(tt.config, map[string]any{"node_selector": "pool=" + pool})).Diagnostics
				acctest.WantAll(t, d.Warnings(), `No node matches "pool=`+pool+`": `+tt.summary+"\n", tt.later)
				d = tf.Plan(t, newInstance(), acctest.With(tt.config, map[string]any{"node_name": pool})).Diagnostics
				acctest.WantAll(t, d.Warnings(), `Node "`+pool+`" does not exist yet`, tt.named)
			})
		})
	}
}

// An apply of absent_taints alone that fails names a removal.
func TestNodeTaints_absentTaintsFailAsARemoval(t *testing.T) {
	t.Parallel()
	acctest.OnFake(t, func(t *testing.T, c *acctest.Cluster) {
		proxy, name := c.Proxy(t), acctest.Name(t, "node")
		c.Node(t, acctest.Node{Name: name, Taints: []corev1.Taint{{Key: "new", Effect: corev1.TaintEffectNoSchedule}}})
		tf, i := &acctest.Terraform{Provider: proxy.Provider(t, c)}, newInstance()
		config := map[string]any{"node_name": name, "absent_taints": []any{map[string]any{"key": "new", "effect": "NoSchedule"}}}
		forbid := func() {
			proxy.Spoil(func(r acctest.Request) acctest.Fault {
				if r.Write() {
					return http.StatusForbidden
				}
				return acctest.None
			})
		}
		forbid()
		acctest.WantAll(t, tf.Apply(t, i, config).Errors(), `Unable to remove taints of node "`+name+`"`, "The nodes are changed one by one; what was written stays")
		proxy.Spoil(nil)
		tf.Settle(t, i, config)
		wantTaints(t, c, name, "")
		forbid()
		acctest.WantAll(t, tf.Apply(t, i, nil).Errors(), `Unable to restore taints of node "`+name+`"`)
		proxy.Spoil(nil)
		tf.Destroy(t, i)
		wantTaints(t, c, name, "new:NoSchedule")
	})
}

func TestNodeTaints_nodeThatDoesNotExistYetIsWaitedFor(t *testing.T) {
	t.Parallel()
	messages.Expect(t, "does not exist yet", "Unable to find node")
	acctest.OnFake(t, func(t *testing.T, c *acctest.Cluster) {
		tf, name := terraform(t, c), acctest.Name(t, "node")
		config := map[string]any{"node_name": name, "taints": acctest.Objects(t, "dedicated=gpu:NoSchedule"), "timeouts": map[string]any{"create": "8s"}}
		i := newInstance()
		d := tf.Apply(t, i, config)
		acctest.WantAll(t, d.Warnings(), `Node "`+name+`" does not exist yet`)
		acctest.WantAll(t, d.Errors(), `Unable to find node "`+name+`"`, "node_name")
		if i.Exists() {
			t.Fatal("a failed create left a state")
		}

		planned := tf.Plan(t, i, acctest.With(config, map[string]any{"timeouts": nil}))
		var wg sync.WaitGroup
		wg.Go(func() { d = tf.Carry(t, i, planned, acctest.With(config, map[string]any{"timeouts": nil})) })
		c.Node(t, acctest.Node{Name: name})
		wg.Wait()
		if d.Errors() != "" {
			t.Fatal(d.Errors())
		}
		wantTaints(t, c, name, "dedicated=gpu:NoSchedule")
		tf.Destroy(t, i)
	})
}

func TestNodeTaints_deletedNodeIsDroppedAndRecreatedOneIsPlannedAgain(t *testing.T) {
	t.Parallel()
	acctest.OnFake(t, func(t *testing.T, c *acctest.Cluster) {
		tf, name := terraform(t, c), acctest.Name(t, "node")
		c.Node(t, acctest.Node{Name: name})
		config := map[string]any{"node_name": name, "taints": acctest.Objects(t, "dedicated=gpu:NoSchedule")}
		i := newInstance()
		tf.Settle(t, i, config)

		c.DeleteNode(t, name)
		c.Node(t, acctest.Node{Name: name})
		if planned := tf.Plan(t, i, config); planned.Empty || planned.Replace {
			t.Fatal("a node recreated under the same name must be tainted again in place")
		}
		tf.Settle(t, i, config)
		wantTaints(t, c, name, "dedicated=gpu:NoSchedule")

		c.DeleteNode(t, name)
		if d := tf.Walk(t).Refresh(i); d.Errors() != "" || i.Exists() {
			t.Fatalf("a deleted node must leave the state silently: %s", d.Errors())
		}
	})
}

func TestNodeTaints_changingTheNodeReplacesAndPreviewsTheWholeChange(t *testing.T) {
	t.Parallel()
	acctest.OnFake(t, func(t *testing.T, c *acctest.Cluster) {
		tf, name, namespace := terraform(t, c), acctest.Name(t, "node"), c.Namespace(t)
		c.Node(t, acctest.Node{Name: name + "-a"})
		c.Node(t, acctest.Node{Name: name + "-b"})
		c.Pod(t, namespace, "onb", name+"-b", nil)
		i := newInstance()
		config := map[string]any{"node_name": name + "-a", "taints": acctest.Objects(t, "dedicated=gpu:NoExecute")}
		tf.Settle(t, i, config)
		moved := acctest.With(config, map[string]any{"node_name": name + "-b"})
		planned := tf.Plan(t, i, moved)
		if !planned.Replace || !strings.Contains(planned.Diagnostics.Warnings(), `to node "`+name+`-b" evicts 1 pod`) {
			t.Fatalf("replacing: %v, warnings: %s", planned.Replace, planned.Diagnostics.Warnings())
		}
		if d := tf.Carry(t, i, planned, moved); d.Errors() != "" {
			t.Fatal(d.Errors())
		}
		wantTaints(t, c, name+"-a", "")
		wantTaints(t, c, name+"-b", "dedicated=gpu:NoExecute")
	})
}
