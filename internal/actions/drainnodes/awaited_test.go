// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package drainnodes_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
)

// TestDrainNodes_aDamagedRecordIsNamedAtPlanAndAtApply with its node, and removed by a drain that ends.
func TestDrainNodes_aDamagedRecordIsNamedAtPlanAndAtApply(t *testing.T) {
	t.Parallel()
	acctest.OnFake(t, func(t *testing.T, c *acctest.Cluster) {
		const annotation = "kubetaint.io/awaited-replacements"
		name, tf := acctest.Name(t, "node"), &acctest.Terraform{Provider: c.Provider(t)}
		c.Node(t, acctest.Node{Name: name})
		damage := func(value string) {
			c.Patch(t, name, fmt.Sprintf(`{"metadata":{"annotations":{%q:%q}},"spec":{"unschedulable":true}}`, annotation, value))
		}
		drain := func(more map[string]any) string {
			config := map[string]any{"node_name": name}
			for key, value := range more {
				config[key] = value
			}
			d := tf.Invoke(t, "kubetaint_drain_nodes", config)
			if d.Errors() != "" {
				t.Fatal(d.Errors())
			}
			if left := c.Get(t, name).Annotations[annotation]; left != "" {
				t.Errorf("left is %s", left)
			}
			return d.Warnings()
		}
		damage(`[{"kind":`)
		said := drain(nil)
		summary := `Pods that an earlier drain evicted from node "` + name + `" may not run elsewhere: the annotation ` + annotation + ` is damaged`
		acctest.WantAll(t, said, summary, name+": it is no JSON list of workloads", "removes that when it has ended without an error")
		if n := strings.Count(said, summary); n != 2 {
			t.Errorf("plan and apply name it %d times:\n%s", n, said)
		}
		if said := drain(nil); strings.Contains(said, "damaged") {
			t.Errorf("once it is removed, it says %s", said)
		}
		damage(`[{"kind":`)
		if said := drain(map[string]any{"wait_for_replacements": false}); strings.Contains(said, "damaged") {
			t.Errorf("without a wait it says %s", said)
		}
	})
}
