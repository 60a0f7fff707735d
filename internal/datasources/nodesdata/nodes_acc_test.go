// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package nodesdata_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
)

func TestAccNodes_showTaintsWithTheirOwners(t *testing.T) {
	t.Parallel()
	c := acctest.Connect(t)
	tf := &acctest.Terraform{Provider: c.Provider(t)}
	pool := acctest.Name(t, "pool")
	c.Node(t, acctest.Node{Name: pool + "-a", Labels: map[string]string{"pool": pool}, Taints: acctest.Parse(t, "foreign=1:NoSchedule")})
	c.Node(t, acctest.Node{Name: pool + "-b", Labels: map[string]string{"pool": pool}})
	i := &acctest.Instance{Type: "kubetaint_node_taints"}
	if d := tf.Apply(t, i, map[string]any{"node_name": pool + "-a", "taints": acctest.Objects(t, "dedicated=gpu:NoExecute")}); d.Errors() != "" {
		t.Fatal(d.Errors())
	}
	for name, tt := range map[string]struct {
		config map[string]any
		want   map[string]map[string]any
	}{
		"by selector": {map[string]any{"selector": "pool=" + pool}, map[string]map[string]any{
			pool + "-a": {"foreign:NoSchedule": nil, "dedicated:NoExecute": "terraform/node_taints/node/" + pool + "-a/dedicated:NoExecute"},
			pool + "-b": {},
		}},
		"that carry a taint": {map[string]any{"selector": "pool=" + pool, "taint": map[string]any{"key": "dedicated"}}, map[string]map[string]any{
			pool + "-a": {"foreign:NoSchedule": nil, "dedicated:NoExecute": "terraform/node_taints/node/" + pool + "-a/dedicated:NoExecute"},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			found, d := tf.Data(t, "kubetaint_nodes", tt.config)
			if d.Errors() != "" {
				t.Fatal(d.Errors())
			}
			got := map[string]map[string]any{}
			for _, one := range found["nodes"].([]any) {
				node := one.(map[string]any)
				owners := map[string]any{}
				for _, entry := range node["taints"].([]any) {
					taint := entry.(map[string]any)
					owners[taint["key"].(string)+":"+taint["effect"].(string)] = taint["owner"]
				}
				got[node["name"].(string)] = owners
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestAccNodes_readAfterAnApplySeeWhatItDid: a data source that depends on a
// resource is read in the middle of the apply, by a process that has read the
// nodes before.
func TestAccNodes_readAfterAnApplySeeWhatItDid(t *testing.T) {
	t.Parallel()
	c := acctest.Connect(t)
	cli := acctest.NewCLI(t)
	node := acctest.Name(t, "node")
	c.Node(t, acctest.Node{Name: node, Labels: map[string]string{"pool": node}})
	cli.Write(c.Provider(t), `
resource "kubetaint_node_taints" "this" {
  node_name = "`+node+`"
  taints    = [{ key = "dedicated", value = "gpu", effect = "NoSchedule" }]
}

data "kubetaint_nodes" "this" {
  selector   = "pool=`+node+`"
  depends_on = [kubetaint_node_taints.this]
}

output "owners" {
  value = join(",", [for t in data.kubetaint_nodes.this.nodes[0].taints : t.owner])
}
`)
	cli.MustRun("apply", "-auto-approve", "-input=false")
	want := "terraform/node_taints/node/" + node + "/dedicated:NoSchedule"
	if diff := cmp.Diff(want, cli.MustRun("output", "-raw", "owners")); diff != "" {
		t.Error(diff)
	}
}
