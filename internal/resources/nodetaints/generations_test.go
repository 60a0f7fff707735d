// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package nodetaints_test

import (
	"encoding/json"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/messages"
)

// TestNodeTaints_newResourceKeepsEntriesOfAnOlderOneOfTheSameId: an id is that
// of the first configuration, so that a resource which has been changed since
// and a new one with its old configuration have the same.
func TestNodeTaints_newResourceKeepsEntriesOfAnOlderOneOfTheSameId(t *testing.T) {
	t.Parallel()
	acctest.OnFake(t, func(t *testing.T, c *acctest.Cluster) {
		tf, pool := terraform(t, c), acctest.Name(t, "pool")
		c.Node(t, acctest.Node{Name: pool + "-a", Labels: map[string]string{"pool": pool + "-a"}})
		c.Node(t, acctest.Node{Name: pool + "-b", Labels: map[string]string{"pool": pool + "-b"}})
		config := func(on, taints string) map[string]any {
			return map[string]any{"node_selector": "pool=" + pool + on, "taints": acctest.Objects(t, taints)}
		}
		older, newer := newInstance(), newInstance()
		tf.Settle(t, older, config("-a", "x:NoSchedule"))
		tf.Settle(t, older, config("-b", "x:NoSchedule"))
		tf.Settle(t, newer, config("-a", "x:NoSchedule"))
		wantTaints(t, c, pool+"-a", "x:NoSchedule")
		wantTaints(t, c, pool+"-b", "x:NoSchedule")

		tf.Settle(t, older, config("-a", "y:NoSchedule"))
		wantTaints(t, c, pool+"-a", "x:NoSchedule, y:NoSchedule")
		tf.Destroy(t, newer)
		wantTaints(t, c, pool+"-a", "y:NoSchedule")
		tf.Destroy(t, older)
		wantTaints(t, c, pool+"-a", "")
	})
}

// TestNodeTaints_replacementThatFailsHalfWay begins a replacement that
// creates before it destroys, and fails it after its first write.
func TestNodeTaints_replacementThatFailsHalfWay(t *testing.T) {
	t.Parallel()
	messages.Expect(t, "Taints owned by … were left on …")
	messages.ExpectDetail(t, "another instance of the resource wrote it")
	begin := func(t *testing.T, c *acctest.Cluster) (*acctest.Terraform, *acctest.Instance, []string, map[string]any) {
		t.Helper()
		pool, nodes := pool(t, c, 2)
		proxy := c.Proxy(t)
		tf := &acctest.Terraform{Provider: proxy.Provider(t, c)}
		config := taintsOf(t, "dedicated=gpu:NoSchedule")(pool)
		old := newInstance()
		tf.Settle(t, old, config)
		proxy.Spoil(func(r acctest.Request) acctest.Fault {
			if r.Write() && strings.HasSuffix(r.Path, nodes[1]) {
				return http.StatusForbidden
			}
			return acctest.None
		})
		if d := tf.Apply(t, newInstance(), config); d.Errors() == "" {
			t.Fatal("the replacement did not fail")
		}
		proxy.Spoil(nil)
		return tf, old, nodes, config
	}
	t.Run("a plain apply says how to go on", func(t *testing.T) {
		t.Parallel()
		acctest.OnFake(t, func(t *testing.T, c *acctest.Cluster) {
			tf, old, nodes, config := begin(t, c)
			acctest.WantAll(t, tf.Plan(t, old, config).Diagnostics.Errors(), "another instance of the resource wrote it", "-replace=ADDRESS")
			fresh := newInstance()
			if d := tf.Apply(t, fresh, config); d.Errors() != "" {
				t.Fatal(d.Errors())
			}
			tf.Destroy(t, old)
			wantOwned(t, c, nodes, ", dedicated=gpu:NoSchedule")
			tf.Destroy(t, fresh)
			wantOwned(t, c, nodes, "")
		})
	})
	t.Run("a destroy says what stays behind", func(t *testing.T) {
		t.Parallel()
		acctest.OnFake(t, func(t *testing.T, c *acctest.Cluster) {
			tf, old, nodes, _ := begin(t, c)
			id := tf.Attributes(t, old)["id"].(string)
			d := tf.Apply(t, old, nil)
			if d.Errors() != "" {
				t.Fatal(d.Errors())
			}
			acctest.WantAll(t, d.Warnings(), "Taints owned by \""+id+"\" were left on 1 node: "+nodes[0])
			wantTaints(t, c, nodes[1], foreignTaint)
		})
	})
}

func TestNodeTaints_importAndDestroyFreesEntriesOfSeveralGenerations(t *testing.T) {
	t.Parallel()
	acctest.OnFake(t, func(t *testing.T, c *acctest.Cluster) {
		pool, nodes := pool(t, c, 3)
		tf := terraform(t, c)
		byName := func(node string) {
			tf.Settle(t, newInstance(), map[string]any{"node_name": node, "taints": acctest.Objects(t, "dedicated=gpu:NoSchedule")})
		}
		byName(nodes[0])
		byName(nodes[1])
		c.Patch(t, nodes[2], `{"spec":{"taints":[{"key":"foreign","value":"1","effect":"NoSchedule"},{"key":"dedicated","value":"gpu","effect":"NoSchedule"}]}}`)
		i, d := tf.Import(t, typeName, "selector/pool="+pool+"/dedicated:NoSchedule")
		if d.Errors() != "" {
			t.Fatal(d.Errors())
		}
		if planned := tf.Plan(t, i, taintsOf(t, "dedicated=gpu:NoSchedule")(pool)); planned.Diagnostics.Errors() != "" {
			t.Fatal(planned.Diagnostics.Errors())
		}
		tf.Destroy(t, i)
		wantOwned(t, c, nodes, "")
	})
}

func TestNodeTaints_destroyRightAfterMovedWritesNothing(t *testing.T) {
	t.Parallel()
	acctest.OnFake(t, func(t *testing.T, c *acctest.Cluster) {
		tf, name := terraform(t, c), acctest.Name(t, "node")
		c.Node(t, acctest.Node{Name: name, Taints: acctest.Parse(t, "foreign=1:NoSchedule dedicated=gpu:NoExecute")})
		i, d := tf.Move(t, typeName, "kubernetes_node_taint", `{"metadata":[{"name":"`+name+`"}],"taint":[{"key":"foreign","value":"1","effect":"NoSchedule"},{"key":"dedicated","value":"gpu","effect":"NoExecute"}]}`)
		if d.Errors() != "" {
			t.Fatal(d.Errors())
		}
		d = tf.Apply(t, i, nil)
		if d.Errors() != "" {
			t.Fatal(d.Errors())
		}
		acctest.WantAll(t, d.Warnings(), "leaves its taints where they are")
		wantTaints(t, c, name, "foreign=1:NoSchedule, dedicated=gpu:NoExecute")
	})
}

func TestNodeTaints_sameMeaningInOtherWordsIsNoChange(t *testing.T) {
	t.Parallel()
	acctest.OnFake(t, func(t *testing.T, c *acctest.Cluster) {
		tf := terraform(t, c)
		pool, _ := pool(t, c, 1)
		i := newInstance()
		tf.Settle(t, i, map[string]any{"node_selector": "pool=" + pool + ",!gone", "taints": acctest.Objects(t, "dedicated:NoSchedule")})
		planned := tf.Plan(t, i, map[string]any{"node_selector": "!gone,pool==" + pool, "taints": []any{map[string]any{"key": "dedicated", "value": "", "effect": "NoSchedule"}}})
		if !planned.Empty {
			t.Fatalf("the plan is not empty: %s", planned.Diagnostics.Errors())
		}
		tf.Destroy(t, i)
	})
}

func TestNodeTaints_nodeThatGoesAwayBetweenPlanAndApply(t *testing.T) {
	t.Parallel()
	acctest.OnFake(t, func(t *testing.T, c *acctest.Cluster) {
		tf, name := terraform(t, c), acctest.Name(t, "node")
		c.Node(t, acctest.Node{Name: name})
		i := newInstance()
		config := map[string]any{"node_name": name, "taints": acctest.Objects(t, "dedicated=gpu:NoSchedule")}
		tf.Settle(t, i, config)
		changed := acctest.With(config, map[string]any{"taints": acctest.Objects(t, "dedicated=web:NoSchedule")})
		planned := tf.Plan(t, i, changed)
		c.DeleteNode(t, name)
		acctest.WantAll(t, tf.Carry(t, i, planned, changed).Errors(), "node_name", "the node is gone", "Plan again")
		c.Node(t, acctest.Node{Name: name})
		tf.Settle(t, i, changed)
		wantTaints(t, c, name, "dedicated=web:NoSchedule")
		tf.Destroy(t, i)
	})
}

func TestNodeTaints_nodeThatGoesAwayDuringAnApply(t *testing.T) {
	t.Parallel()
	acctest.OnFake(t, func(t *testing.T, c *acctest.Cluster) {
		pool, nodes := pool(t, c, 3)
		proxy := c.Proxy(t)
		tf := &acctest.Terraform{Provider: proxy.Provider(t, c)}
		i := newInstance()
		config := taintsOf(t, "dedicated=gpu:NoSchedule")(pool)
		planned := tf.Plan(t, i, config)
		proxy.Spoil(func(r acctest.Request) acctest.Fault {
			if r.Write() && strings.HasSuffix(r.Path, nodes[2]) {
				c.DeleteNode(t, nodes[2])
			}
			return acctest.None
		})
		if d := tf.Carry(t, i, planned, config); d.Errors() != "" {
			t.Fatalf("a node of a selector that goes away is no error: %s", d.Errors())
		}
		proxy.Spoil(nil)
		wantOwned(t, c, nodes[:2], ", dedicated=gpu:NoSchedule")
		if again := tf.Plan(t, i, config); !again.Empty {
			t.Fatal("the plan afterwards is not empty")
		}
	})
}

// TestNodeTaints_nodesThatComeWhileAnApplyRuns: a process that has listed the
// nodes long ago must not decide from that list.
func TestNodeTaints_nodesThatComeWhileAnApplyRuns(t *testing.T) {
	t.Parallel()
	acctest.OnFake(t, func(t *testing.T, c *acctest.Cluster) {
		tf, pool := terraform(t, c), acctest.Name(t, "pool")
		i := newInstance()
		config := taintsOf(t, "dedicated=gpu:NoSchedule")(pool)
		planned := tf.Plan(t, i, config)
		walk := tf.Walk(t)
		walk.Between = func() { c.Node(t, acctest.Node{Name: pool, Labels: map[string]string{"pool": pool}}) }
		if d := walk.ApplyChange(i, planned, config); d.Errors() != "" {
			t.Fatal(d.Errors())
		}
		wantTaints(t, c, pool, "dedicated=gpu:NoSchedule")
		tf.Destroy(t, i)
	})
}

// Which of two generations a state has written is not known once its private state is lost: to
// take the last one found would leave the entries of the other behind.
func TestNodeTaints_lostPrivateStateAmongSeveralGenerationsIsAnError(t *testing.T) {
	t.Parallel()
	acctest.OnFake(t, func(t *testing.T, c *acctest.Cluster) {
		pool, nodes := pool(t, c, 2)
		tf, i := terraform(t, c), newInstance()
		config := taintsOf(t, "dedicated=gpu:NoSchedule")(pool)
		tf.Settle(t, i, config)
		lost := *i
		lost.Private = nil
		record := c.Get(t, nodes[1]).Annotations["kubetaint.io/owned-taints"]
		generation := regexp.MustCompile(`"generation":"[^"]*"`)
		annotate(t, c, nodes[1], generation.ReplaceAllString(record, `"generation":"forged"`))
		acctest.WantAll(t, tf.Plan(t, &lost, config).Diagnostics.Errors(), "Unable to determine which ownership records of", "node "+nodes[0], `generation "forged": node `+nodes[1], "terraform state rm")
		acctest.WantAll(t, tf.Apply(t, &lost, nil).Errors(), "Unable to determine which ownership records of")
		wantTaints(t, c, nodes[0], foreignTaint+", dedicated=gpu:NoSchedule")
		annotate(t, c, nodes[1], record)
		if d := tf.Apply(t, &lost, nil); d.Errors() != "" {
			t.Fatal(d.Errors())
		}
		wantOwned(t, c, nodes, "")
	})
}

// annotate writes a node's record as a user who may annotate the node can.
func annotate(t *testing.T, c *acctest.Cluster, node, record string) {
	t.Helper()
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": map[string]any{"kubetaint.io/owned-taints": record}}})
	if err != nil {
		t.Fatal(err)
	}
	c.Patch(t, node, string(patch))
}

// A kubelet may damage the record of its own node: the rest of the pool is tainted all the same.
func TestNodeTaints_damagedRecordStopsItsOwnNodeAlone(t *testing.T) {
	t.Parallel()
	acctest.OnFake(t, func(t *testing.T, c *acctest.Cluster) {
		pool, nodes := pool(t, c, 2)
		tf, i := terraform(t, c), newInstance()
		config := taintsOf(t, "dedicated=gpu:NoSchedule")(pool)
		annotate(t, c, nodes[0], "[{")
		skipped := "Nothing is written to node \"" + nodes[0] + "\": the annotation kubetaint.io/owned-taints is damaged"
		d := tf.Apply(t, i, config)
		if d.Errors() != "" {
			t.Fatal(d.Errors())
		}
		acctest.WantAll(t, d.Warnings(), skipped, "kubectl annotate node "+nodes[0]+" kubetaint.io/owned-taints-")
		wantTaints(t, c, nodes[0], foreignTaint)
		wantTaints(t, c, nodes[1], foreignTaint+", dedicated=gpu:NoSchedule")
		planned := tf.Plan(t, i, config)
		acctest.WantAll(t, planned.Diagnostics.Warnings(), skipped)
		if drifted, _ := tf.Attributes(t, i)["nodes"].(map[string]any); drifted[nodes[0]] != "missing" || len(drifted) != 1 {
			t.Errorf("nodes is %v, want %s alone", drifted, nodes[0])
		}
		// A destroy would leave what may be owned there, and a node by its name is meant alone.
		acctest.WantAll(t, tf.Apply(t, i, nil).Errors(), "node "+nodes[0], "kubectl annotate node "+nodes[0])
		acctest.WantAll(t, tf.Plan(t, newInstance(), map[string]any{"node_name": nodes[0], "taints": acctest.Objects(t, "x:NoSchedule")}).Diagnostics.Errors(), "node "+nodes[0], "kubectl annotate node")
		annotate(t, c, nodes[0], "")
		tf.Settle(t, i, config)
		tf.Destroy(t, i)
		wantTaints(t, c, nodes[0], foreignTaint)
		wantTaints(t, c, nodes[1], foreignTaint)
	})
}

// TestNodeTaints_aDamagedNodeThatLeavesTheSelectorIsNamed: its taint stays there, because it is not known whose it is.
func TestNodeTaints_aDamagedNodeThatLeavesTheSelectorIsNamed(t *testing.T) {
	t.Parallel()
	acctest.OnFake(t, func(t *testing.T, c *acctest.Cluster) {
		pool, nodes := pool(t, c, 2)
		tf, i := terraform(t, c), newInstance()
		config := taintsOf(t, "dedicated=gpu:NoSchedule")(pool)
		tf.Settle(t, i, config)
		annotate(t, c, nodes[0], "[{")
		fewer := acctest.With(config, map[string]any{"node_selector": config["node_selector"].(string) + ",kubernetes.io/hostname=" + nodes[1]})
		c.Patch(t, nodes[1], `{"metadata":{"labels":{"kubernetes.io/hostname":"`+nodes[1]+`"}}}`)
		acctest.WantAll(t, tf.Plan(t, i, fewer).Diagnostics.Warnings(), `Nothing is written to node "`+nodes[0]+`": the annotation kubetaint.io/owned-taints is damaged`)
		if d := tf.Apply(t, i, fewer); d.Errors() != "" {
			t.Fatal(d.Errors())
		}
		wantTaints(t, c, nodes[0], foreignTaint+", dedicated=gpu:NoSchedule")
		wantTaints(t, c, nodes[1], foreignTaint+", dedicated=gpu:NoSchedule")
	})
}
