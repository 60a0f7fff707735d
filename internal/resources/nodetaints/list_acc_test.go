// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package nodetaints_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
)

func query(pool, more string) string {
	return fmt.Sprintf("list \"kubetaint_node_taints\" \"these\" {\n  provider = kubetaint\n  include_resource = true\n  config {\n    selector = \"pool=%s\"\n    %s\n  }\n}\n", pool, more)
}

// TestAccNodeTaints_queryFindsTaintsByOwner with a real command line, which then writes
// the configuration of those that no resource manages: it imports them, and changes nothing.
func TestAccNodeTaints_queryFindsTaintsByOwner(t *testing.T) {
	t.Parallel()
	c := acctest.Connect(t)
	pool := acctest.Name(t, "pool")
	for name, taints := range map[string]string{pool + "-a": "foreign=1:NoSchedule other:PreferNoSchedule", pool + "-b": ""} {
		c.Node(t, acctest.Node{Name: name, Labels: map[string]string{"pool": pool}, Taints: acctest.Parse(t, taints)})
	}
	tf := &acctest.Terraform{Provider: c.Provider(t)}
	for _, name := range []string{pool + "-a", pool + "-b"} {
		i := &acctest.Instance{Type: "kubetaint_node_taints"}
		if d := tf.Apply(t, i, map[string]any{"node_name": name, "taints": acctest.Objects(t, "dedicated=gpu:NoSchedule")}); d.Errors() != "" {
			t.Fatal(d.Errors())
		}
	}
	cli := acctest.NewCLI(t)
	cli.Write(c.Provider(t), "")
	foreign := map[string]any{"target": "node/" + pool + "-a", "taints": []any{"foreign:NoSchedule", "other:PreferNoSchedule"}}
	ours := func(node string) map[string]any {
		return map[string]any{"target": "node/" + pool + "-" + node, "taints": []any{"dedicated:NoSchedule"}}
	}
	for more, want := range map[string][]map[string]any{
		"":                      {foreign, ours("a"), ours("b")},
		"unmanaged_only = true": {foreign},
	} {
		var got []map[string]any
		for _, f := range cli.Query(query(pool, more)) {
			got = append(got, f.Identity)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q: %s", more, diff)
		}
	}
	cli.Query(query(pool, "unmanaged_only = true"), "-generate-config-out=taints.tf")
	acctest.WantAll(t, acctest.Unfold(cli.MustRun("apply", "-auto-approve", "-input=false")), "1 imported, 0 added, 0 changed, 0 destroyed")
	cli.WantEmptyPlan()
	if diff := cmp.Diff("foreign=1:NoSchedule, other:PreferNoSchedule, dedicated=gpu:NoSchedule", c.Taints(t, pool+"-a")); diff != "" {
		t.Errorf("the taints: %s", diff)
	}
}

// TestAccNodeTaints_queryLeavesOutWhatComesWithAMachine: it belongs into the MachineSet,
// and OpenShift would put it back on the node.
func TestAccNodeTaints_queryLeavesOutWhatComesWithAMachine(t *testing.T) {
	t.Parallel()
	c := acctest.Connect(t)
	c.MachineAPI(t)
	name, namespace := acctest.Name(t, "node"), c.Namespace(t)
	c.Node(t, acctest.Node{Name: name, Labels: map[string]string{"pool": name}, Taints: acctest.Parse(t, "dedicated=gpu:NoSchedule spot:NoSchedule")})
	c.Machine(t, namespace, "machine-1", acctest.Parse(t, "dedicated=gpu:NoSchedule"))
	c.Patch(t, name, `{"metadata":{"annotations":{"machine.openshift.io/machine":"`+namespace+`/machine-1"}}}`)
	cli := acctest.NewCLI(t)
	cli.Write(c.Provider(t), "")
	found := cli.Query(query(name, ""))
	if len(found) != 1 || found[0].DisplayName != name+": spot:NoSchedule" {
		t.Errorf("it finds %v", found)
	}
}
