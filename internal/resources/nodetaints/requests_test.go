// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package nodetaints_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
)

// TestNodeTaints_fiveResourcesListPodsOnce shows that resources of one
// configuration share what they read: a plan lists pods once. An apply lists them for the
// plan that Terraform makes again, and a second time for the limit, right before the first
// write; five resources do not need more than one.
func TestNodeTaints_fiveResourcesListPodsOnce(t *testing.T) {
	t.Parallel()
	acctest.CountsRequests(t)
	for _, resources := range []int{1, 5} {
		t.Run(fmt.Sprintf("%d resources", resources), func(t *testing.T) {
			t.Parallel()
			acctest.OnFake(t, func(t *testing.T, c *acctest.Cluster) {
				audit, provider := c.Audit(t)
				tf := &acctest.Terraform{Provider: provider}
				all, configs, planned := make([]*acctest.Instance, resources), make([]map[string]any, resources), make([]acctest.Planned, resources)
				for n := range all {
					name := acctest.Name(t, "node")
					c.Node(t, acctest.Node{Name: name, Quiet: true})
					all[n], configs[n] = newInstance(), map[string]any{
						"node_name": name, "taints": acctest.Objects(t, "dedicated=gpu:NoExecute"), "evictions": map[string]any{"max_pods": 0},
					}
				}
				// As Terraform does, one process works on all resources in parallel.
				lists := func(phase string, do func(walk *acctest.Walk, n int) acctest.Diagnostics) int {
					t.Helper()
					audit.Reset()
					walk := tf.Walk(t)
					var wg sync.WaitGroup
					for n := range all {
						wg.Go(func() {
							if d := do(walk, n); d.Errors() != "" {
								t.Errorf("%s: %s", phase, d.Errors())
							}
						})
					}
					wg.Wait()
					return acctest.Counted(t, phase, audit.Requests())["list pods"]
				}
				plan := func(walk *acctest.Walk, n int) acctest.Diagnostics {
					d := walk.Refresh(all[n])
					planned[n] = walk.Plan(all[n], configs[n])
					return append(d, planned[n].Diagnostics...)
				}
				if got := lists("plan", plan); got != 1 {
					t.Errorf("the plan listed pods %d times", got)
				}
				apply := func(walk *acctest.Walk, n int) acctest.Diagnostics {
					return walk.ApplyChange(all[n], planned[n], configs[n])
				}
				if got := lists("apply", apply); got != 2 {
					t.Errorf("the apply listed pods %d times", got)
				}
				if got := lists("plan again", plan); got != 0 {
					t.Errorf("a plan without changes listed pods %d times", got)
				}
				for n := range all {
					if !planned[n].Empty {
						t.Error("the plan after the apply is not empty")
					}
				}
			})
		})
	}
}

// TestNodeTaints_readsProtobuf: a list of all pods is several times smaller and faster to
// decode than as JSON.
func TestNodeTaints_readsProtobuf(t *testing.T) {
	t.Parallel()
	acctest.OnFake(t, func(t *testing.T, c *acctest.Cluster) {
		proxy, name := c.Proxy(t), acctest.Name(t, "node")
		tf, i := &acctest.Terraform{Provider: proxy.Provider(t, c)}, newInstance()
		c.Node(t, acctest.Node{Name: name, Quiet: true})
		tf.Settle(t, i, map[string]any{"node_name": name, "taints": acctest.Objects(t, "dedicated=gpu:NoExecute"), "evictions": map[string]any{"max_pods": 0}})
		types := proxy.Types()
		for _, request := range []string{
			"GET /api/v1/nodes", "GET /api/v1/pods", "PATCH /api/v1/nodes/" + name, "GET /api/v1/persistentvolumes",
			"GET /apis/policy/v1/poddisruptionbudgets", "GET /apis/apps/v1/replicasets", "GET /apis/batch/v1/jobs",
		} {
			if got := types[request]; !strings.HasPrefix(got, "application/vnd.kubernetes.protobuf") {
				t.Errorf("%s was answered with %q: %v", request, got, types)
			}
		}
		tf.Destroy(t, i)
	})
}
