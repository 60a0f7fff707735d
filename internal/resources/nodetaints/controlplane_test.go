// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package nodetaints_test

import (
	"strings"
	"testing"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
)

func TestNodeTaints_controlPlaneNodesWithoutTheirTaintArePointedOut(t *testing.T) {
	t.Parallel()
	acctest.OnFake(t, func(t *testing.T, c *acctest.Cluster) {
		tf, node := terraform(t, c), acctest.Name(t, "node")
		c.Node(t, acctest.Node{Name: node, Labels: map[string]string{"node-role.kubernetes.io/control-plane": ""}})
		config := map[string]any{"node_name": node, "taints": acctest.Objects(t, "team=a:NoSchedule")}
		const lacks = "1 control-plane node gets NoSchedule and lacks the control-plane taint"
		planned := tf.Plan(t, newInstance(), config)
		if said := planned.Diagnostics.Warnings(); !strings.Contains(said, lacks) || !strings.Contains(said, node) {
			t.Fatalf("the plan says %s", said)
		}
		c.Patch(t, node, `{"spec":{"taints":[{"key":"node-role.kubernetes.io/control-plane","effect":"NoSchedule"}]}}`)
		if d := tf.Plan(t, newInstance(), config).Diagnostics; len(d) > 0 {
			t.Fatalf("the plan says %s%s", d.Errors(), d.Warnings())
		}
	})
}

// TestNodeTaints_theControlPlaneTaintMayComeFromAnotherResourceOfTheRun: the resource that is planned second counts what the first
// plans.
func TestNodeTaints_theControlPlaneTaintMayComeFromAnotherResourceOfTheRun(t *testing.T) {
	t.Parallel()
	acctest.OnFake(t, func(t *testing.T, c *acctest.Cluster) {
		tf, node := terraform(t, c), acctest.Name(t, "node")
		c.Node(t, acctest.Node{Name: node, Labels: map[string]string{"node-role.kubernetes.io/control-plane": ""}})
		with := func(taint string) map[string]any {
			return map[string]any{"node_name": node, "taints": acctest.Objects(t, taint)}
		}
		const lacks = "1 control-plane node gets NoSchedule and lacks the control-plane taint"
		for first, want := range map[string]bool{"node-role.kubernetes.io/control-plane:NoSchedule": false, "other:NoSchedule": true} {
			walk := tf.Walk(t)
			if d := walk.Plan(newInstance(), with(first)).Diagnostics; d.Errors() != "" {
				t.Fatal(d.Errors())
			}
			if said := walk.Plan(newInstance(), with("team=a:NoSchedule")).Diagnostics.Warnings(); strings.Contains(said, lacks) != want {
				t.Errorf("after a plan of %s that of the other resource says %q", first, said)
			}
		}
	})
}
