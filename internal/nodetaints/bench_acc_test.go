// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package nodetaints_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
)

// BenchmarkAccTwoHundredNodes measures whole runs of the command line: a plan
// that creates, its apply, a plan that changes nothing, and a destroy, over 200
// nodes as one resource with a selector and as 200 by name.
func BenchmarkAccTwoHundredNodes(b *testing.B) {
	c := acctest.Connect(b)
	pool := acctest.Name(b, "bench")
	c.Nodes(b, manyNodes, func(n int) acctest.Node {
		return acctest.Node{Name: fmt.Sprintf("%s-%d", pool, n), Quiet: true, Labels: map[string]string{"pool": pool}}
	})
	for name, head := range map[string]string{
		"selector": "resource \"kubetaint_node_taints\" \"this\" {\n  node_selector = \"pool=" + pool + "\"\n",
		"by_name":  "resource \"kubetaint_node_taints\" \"this\" {\n  for_each = toset([for n in range(200) : \"" + pool + "-${n}\"])\n  node_name = each.key\n",
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				cli := acctest.NewCLI(b)
				cli.Write(c.Provider(b), head+"  taints = [{ key = \"dedicated\", value = \"gpu\", effect = \"NoExecute\" }]\n}\n")
				for _, phase := range []struct {
					unit string
					args []string
				}{
					{"plan-s/op", []string{"plan", "-input=false", "-out=plan"}},
					{"apply-s/op", []string{"apply", "-input=false", "plan"}},
					{"plan-unchanged-s/op", []string{"plan", "-input=false"}},
					{"destroy-s/op", []string{"destroy", "-auto-approve", "-input=false"}},
				} {
					start := time.Now()
					cli.MustRun(phase.args...)
					b.ReportMetric(time.Since(start).Seconds(), phase.unit)
				}
			}
		})
	}
}
