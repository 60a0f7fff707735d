// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package nodetaints_test

import (
	"strings"
	"testing"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/messages"
)

func TestNodeTaints_importThenPlanIsEmptyAndNothingIsWritten(t *testing.T) {
	t.Parallel()
	acctest.OnFake(t, func(t *testing.T, c *acctest.Cluster) {
		tf, name := terraform(t, c), acctest.Name(t, "node")
		c.Node(t, acctest.Node{Name: name, Labels: map[string]string{"pool": name}, Taints: acctest.Parse(t, "foreign:NoSchedule example.com/dedicated=gpu:NoExecute spot:NoSchedule")})
		taints := acctest.Objects(t, "example.com/dedicated=gpu:NoExecute spot:NoSchedule")
		for id, config := range map[string]map[string]any{
			"node/" + name + "/example.com/dedicated:NoExecute,spot:NoSchedule":          {"node_name": name, "taints": taints},
			"selector/pool=" + name + "/spot:NoSchedule,example.com/dedicated:NoExecute": {"node_selector": "pool=" + name, "taints": taints},
		} {
			i, d := tf.Import(t, typeName, id)
			if d.Errors() != "" {
				t.Fatal(d.Errors())
			}
			if planned := tf.Plan(t, i, config); !planned.Empty || planned.Diagnostics.Warnings() != "" {
				t.Fatalf("the plan after importing %s is not empty: %s", id, planned.Diagnostics.Warnings())
			}
		}
		if record := c.Record(t, name); record != "" {
			t.Fatalf("importing wrote the record %s", record)
		}
		i, _ := tf.Import(t, typeName, "node/"+name+"/example.com/dedicated:NoExecute,spot:NoSchedule")
		tf.Destroy(t, i)
		wantTaints(t, c, name, "foreign:NoSchedule")
	})
}

func TestNodeTaints_importedTaintsAreMarkedWithTheNextChange(t *testing.T) {
	t.Parallel()
	acctest.OnFake(t, func(t *testing.T, c *acctest.Cluster) {
		tf, name := terraform(t, c), acctest.Name(t, "node")
		c.Node(t, acctest.Node{Name: name, Taints: acctest.Parse(t, "foreign:NoSchedule dedicated=gpu:NoExecute")})
		i, d := tf.Import(t, typeName, "node/"+name+"/dedicated:NoExecute")
		if d.Errors() != "" {
			t.Fatal(d.Errors())
		}
		tf.Settle(t, i, map[string]any{"node_name": name, "taints": acctest.Objects(t, "dedicated=web:NoExecute")})
		wantTaints(t, c, name, "foreign:NoSchedule, dedicated=web:NoExecute")
		if record := c.Record(t, name); !strings.Contains(record, `"key":"dedicated"`) {
			t.Fatalf("the changed entry is not marked: %s", record)
		}
		tf.Destroy(t, i)
		wantTaints(t, c, name, "foreign:NoSchedule")
	})
}

func TestNodeTaints_giveUpAnAbandonedCreateByImportAndDestroy(t *testing.T) {
	t.Parallel()
	acctest.OnFake(t, func(t *testing.T, c *acctest.Cluster) {
		tf, name := terraform(t, c), acctest.Name(t, "node")
		c.Node(t, acctest.Node{Name: name})
		tf.Settle(t, newInstance(), map[string]any{"node_name": name, "taints": acctest.Objects(t, "dedicated=gpu:NoExecute")})
		// The state of that create is lost.
		i, d := tf.Import(t, typeName, "node/"+name+"/dedicated:NoExecute")
		if d.Errors() != "" {
			t.Fatal(d.Errors())
		}
		tf.Destroy(t, i)
		wantTaints(t, c, name, "")
		if record := c.Record(t, name); record != "" {
			t.Fatalf("a mark is left without an owner: %s", record)
		}
	})
}

func TestNodeTaints_importErrors(t *testing.T) {
	t.Parallel()
	acctest.OnFake(t, func(t *testing.T, c *acctest.Cluster) {
		tf, name := terraform(t, c), acctest.Name(t, "node")
		c.Node(t, acctest.Node{Name: name})
		for id, want := range map[string]string{
			"worker-3":                                  "node/NAME/KEY:EFFECT",
			"node/" + name + "/dedicated:Sometimes":     "is none of NoSchedule",
			"node/" + name + "/dedicated:NoExecute":     "The taint does not exist",
			"selector/pool in (/dedicated:NoExecute":    "is not a selector",
			"selector//dedicated:NoExecute":             "empty selector",
			"node/" + name + "/a:NoExecute,a:NoExecute": "named twice",
			"nodes/" + name + ",other/a:NoExecute":      "Unable to import taints of nodes " + name + ", other",
		} {
			_, d := tf.Import(t, typeName, id)
			acctest.WantAll(t, d.Errors(), want)
		}
	})
}

func TestNodeTaints_movedFromKubernetesNodeTaintTouchesNoNode(t *testing.T) {
	t.Parallel()
	messages.Expect(t, "imported taint")
	acctest.OnFake(t, func(t *testing.T, c *acctest.Cluster) {
		tf, name := terraform(t, c), acctest.Name(t, "node")
		c.Node(t, acctest.Node{Name: name, Taints: acctest.Parse(t, "foreign=1:NoSchedule dedicated=gpu:NoExecute node.kubernetes.io/of-somebody:NoSchedule")})
		// The state that hashicorp/kubernetes keeps holds every taint of the node.
		i, d := tf.Move(t, typeName, "kubernetes_node_taint", `{"id":"`+name+`","field_manager":"Terraform","force":null,
		"metadata":[{"name":"`+name+`"}],
		"taint":[{"key":"foreign","value":"1","effect":"NoSchedule"},{"key":"dedicated","value":"gpu","effect":"NoExecute"},
		{"key":"node.kubernetes.io/of-somebody","value":"","effect":"NoSchedule"}]}`)
		if d.Errors() != "" {
			t.Fatal(d.Errors())
		}
		config := map[string]any{"node_name": name, "taints": acctest.Objects(t, "dedicated=gpu:NoExecute")}
		planned := tf.Plan(t, i, config)
		acctest.WantAll(t, planned.Diagnostics.Warnings(), "2 imported taints", "foreign:NoSchedule", "leave the state but stay on node")
		tf.Settle(t, i, config)
		wantTaints(t, c, name, "foreign=1:NoSchedule, dedicated=gpu:NoExecute, node.kubernetes.io/of-somebody:NoSchedule")
		if record := c.Record(t, name); record != "" {
			t.Fatalf("moving wrote to the node: %s", record)
		}
		tf.Destroy(t, i)
		wantTaints(t, c, name, "foreign=1:NoSchedule, node.kubernetes.io/of-somebody:NoSchedule")
	})
}

// TestNodeTaints_anImportBelievesTheMarksThatItHasSeen has two nodes with the marks of a create
// whose state is lost, and one that is not selected with a copy of such a mark.
func TestNodeTaints_anImportBelievesTheMarksThatItHasSeen(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		// change is between the import and the first apply, unless it is after one that writes
		// nothing.
		change func(t *testing.T, c *acctest.Cluster, two string)
		later  bool
		// two is what the second node has then.
		two string
	}{
		"on nodes that stay": {two: "b:NoSchedule"},
		"on a node that leaves the selector": {
			change: func(t *testing.T, c *acctest.Cluster, two string) {
				t.Helper()
				c.Patch(t, two, `{"metadata":{"labels":{"pool":"none"}}}`)
			},
		},
		"on a node that leaves the selector after the first apply": {
			change: func(t *testing.T, c *acctest.Cluster, two string) {
				t.Helper()
				c.Patch(t, two, `{"metadata":{"labels":{"pool":"none"}}}`)
			},
			later: true,
		},
		"and not one that has been changed on a node that leaves": {
			change: func(t *testing.T, c *acctest.Cluster, two string) {
				t.Helper()
				changed := strings.Replace(c.Record(t, two), `"generation"`, `"previous":"theirs","generation"`, 1)
				c.Patch(t, two, `{"metadata":{"labels":{"pool":"none"}}}`)
				annotate(t, c, two, changed)
			},
			two: "a:NoSchedule",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			acctest.OnFake(t, func(t *testing.T, c *acctest.Cluster) {
				tf, pool := terraform(t, c), acctest.Name(t, "node")
				two, other := pool+"-2", pool+"-3"
				for _, node := range []string{pool, two} {
					c.Node(t, acctest.Node{Name: node, Labels: map[string]string{"pool": pool}})
				}
				c.Node(t, acctest.Node{Name: other, Taints: acctest.Parse(t, "a:NoSchedule")})
				tf.Settle(t, newInstance(), selecting(t, pool, "a:NoSchedule"))
				i, d := tf.Import(t, typeName, "selector/pool="+pool+"/a:NoSchedule")
				if d.Errors() != "" {
					t.Fatal(d.Errors())
				}
				annotate(t, c, other, c.Record(t, pool))
				if tt.later {
					tf.Settle(t, i, acctest.With(selecting(t, pool, "a:NoSchedule"), map[string]any{"on_conflict": "adopt"}))
				}
				if tt.change != nil {
					tt.change(t, c, two)
				}
				tf.Settle(t, i, selecting(t, pool, "b:NoSchedule"))
				wantTaints(t, c, pool, "b:NoSchedule")
				wantTaints(t, c, two, tt.two)
				wantTaints(t, c, other, "a:NoSchedule")
			})
		})
	}
}

// TestNodeTaints_aMovedStateHasTheProvidersOwnerWithoutARefresh: no provider is configured while a
// state is moved, and -refresh=false leaves it to the plan.
func TestNodeTaints_aMovedStateHasTheProvidersOwnerWithoutARefresh(t *testing.T) {
	t.Parallel()
	acctest.OnFake(t, func(t *testing.T, c *acctest.Cluster) {
		name := acctest.Name(t, "node")
		c.Node(t, acctest.Node{Name: name, Taints: acctest.Parse(t, "team=a:NoSchedule foreign:NoSchedule")})
		tf := &acctest.Terraform{Provider: acctest.With(c.Provider(t), map[string]any{"owner": "team-a"})}
		w := tf.Walk(t)
		i, d := w.Move(typeName, "kubernetes_node_taint", `{"metadata":[{"name":"`+name+`"}],"taint":[{"key":"team","value":"a","effect":"NoSchedule"}]}`)
		if d.Errors() != "" {
			t.Fatal(d.Errors())
		}
		config := map[string]any{"node_name": name, "taints": acctest.Objects(t, "team=b:NoSchedule")}
		if d := tf.Carry(t, i, w.Plan(i, config), config); d.Errors() != "" {
			t.Fatal(d.Errors())
		}
		wantTaints(t, c, name, "team=b:NoSchedule, foreign:NoSchedule")
		id, _ := tf.Attributes(t, i)["id"].(string)
		if want := "team-a/node_taints/node/" + name + "/team:NoSchedule"; id != want || !strings.Contains(c.Get(t, name).Annotations[taint.OwnedAnnotation], want) {
			t.Errorf("the id is %s, and the record %s", id, c.Get(t, name).Annotations[taint.OwnedAnnotation])
		}
		tf.Settle(t, i, config)
		tf.Destroy(t, i)
		wantTaints(t, c, name, "foreign:NoSchedule")
	})
}
