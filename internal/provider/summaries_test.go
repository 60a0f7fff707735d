// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package provider_test

import (
	"strings"
	"testing"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/fakeapi/controllers"
)

// planned is a resource that a test plans beside another one.
type planned struct {
	typeName string
	config   map[string]any
}

// TestSummaries_ofTwoResourcesDiffer: two resources of one run that warn of the same do not
// warn with the same summary, of which a command line would show the first alone. That no
// other two do is checked by acctest.Walk in each test that plans several resources in one run.
func TestSummaries_ofTwoResourcesDiffer(t *testing.T) {
	t.Parallel()
	nodes := func(target map[string]any, taints string) planned {
		return planned{"kubetaint_node_taints", acctest.With(target, map[string]any{"taints": acctest.Objects(t, taints)})}
	}
	workload := func(target map[string]any, tolerations string) planned {
		return planned{"kubetaint_workload_tolerations", map[string]any{"workload": target, "tolerations": acctest.TolerationObjects(t, tolerations)}}
	}
	sets := map[string]any{"selector": "pool=x", "namespace": "openshift-machine-api", "rollout": map[string]any{"strategy": "in_place"}}
	for name, tt := range map[string]struct {
		// make makes what the two are about, and returns them.
		make func(t *testing.T, c *acctest.Cluster) [2]planned
		want string
	}{
		"taints of a node that does not exist": {func(*testing.T, *acctest.Cluster) [2]planned {
			gone := map[string]any{"node_name": "gone"}
			return [2]planned{nodes(gone, "a:NoSchedule"), nodes(gone, "b:NoSchedule")}
		}, `Node "gone" does not exist yet`},
		"taints for a selector that nothing matches": {func(*testing.T, *acctest.Cluster) [2]planned {
			none := map[string]any{"node_selector": "pool=x"}
			return [2]planned{nodes(none, "a:NoSchedule"), nodes(none, "b:NoSchedule")}
		}, `No node matches "pool=x": nothing is tainted`},
		"taints of control-plane nodes": {func(t *testing.T, c *acctest.Cluster) [2]planned {
			c.Node(t, acctest.Node{Name: "master", Labels: map[string]string{"node-role.kubernetes.io/master": "", "node-role.kubernetes.io/control-plane": ""}})
			master := map[string]any{"node_name": "master"}
			return [2]planned{nodes(master, "a:NoSchedule"), nodes(master, "b:NoSchedule")}
		}, "control-plane taint: master"},
		"tolerations of one workload": {func(t *testing.T, c *acctest.Cluster) [2]planned {
			c.Node(t, acctest.Node{Name: "worker"})
			namespace := c.Namespace(t)
			c.Deployment(t, namespace, "web", 2, nil)
			c.Change(t, acctest.Thing{APIVersion: "apps/v1", Kind: "Deployment", Namespace: namespace, Name: "web"}, "helm", `{"metadata":{"labels":{"app.kubernetes.io/managed-by":"Helm"}},"spec":{"template":{"spec":{"tolerations":[{"key":"z","operator":"Exists"}]}}}}`)
			web := map[string]any{"kind": "Deployment", "namespace": namespace, "name": "web"}
			return [2]planned{workload(web, "a=1:NoSchedule"), workload(web, "b=1:NoSchedule")}
		}, "/web\" is also written by Helm"},
		"tolerations for a selector that nothing matches": {func(t *testing.T, c *acctest.Cluster) [2]planned {
			none := map[string]any{"kind": "Deployment", "namespace": c.Namespace(t), "selector": "app=x"}
			return [2]planned{workload(none, "a=1:NoSchedule"), workload(none, "b=1:NoSchedule")}
		}, "No workload is found"},
		"taints of MachineSets that nothing matches": {func(*testing.T, *acctest.Cluster) [2]planned {
			of := func(taints string) planned {
				return planned{"kubetaint_machine_set_taints", acctest.With(sets, map[string]any{"taints": acctest.Objects(t, taints)})}
			}
			return [2]planned{of("a:NoSchedule"), of("b:NoSchedule")}
		}, `No MachineSet matches "pool=x"`},
		"nodes that two dedicate by the same selector": {func(*testing.T, *acctest.Cluster) [2]planned {
			of := func(taints string) planned {
				return planned{"kubetaint_dedicated_nodes", map[string]any{"node_selector": "pool=x", "taints": acctest.Objects(t, taints)}}
			}
			return [2]planned{of("a:NoSchedule"), of("b:NoSchedule")}
		}, `No node matches "pool=x": no node is dedicated yet`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			acctest.OnFakeWithControllers(t, func(t *testing.T, c *acctest.Cluster) {
				pair := tt.make(t, c)
				run := (&acctest.Terraform{Provider: c.Provider(t)}).Walk(t)
				seen := map[string]int{}
				for i, one := range pair {
					got := run.Plan(&acctest.Instance{Type: one.typeName}, one.config).Diagnostics
					if got.Errors() != "" {
						t.Fatal(got.Errors())
					}
					warns := false
					for _, d := range got {
						warns = warns || strings.Contains(d.Summary, tt.want)
						if first, used := seen[d.Summary]; used && first != i {
							t.Errorf("both warn with the summary: %s", d.Summary)
						}
						seen[d.Summary] = i
					}
					if !warns {
						t.Errorf("the %s does not warn of %q:\n%s", one.typeName, tt.want, got.Warnings())
					}
				}
			}, controllers.MachineAPI...)
		})
	}
}
