// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package provider_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/fakeapi/controllers"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/messages"
)

// planned is a resource that a test plans beside another one.
type planned struct {
	typeName string
	config   map[string]any
}

// TestSummaries_ofTwoResourcesDiffer: two resources of one run that warn of the same, or fail for it,
// do not use the same summary. Of warnings a command line would show the first alone. That no
// other two do is checked by acctest.Walk in each test that plans several resources in one run.
func TestSummaries_ofTwoResourcesDiffer(t *testing.T) {
	t.Parallel()
	messages.Expect(t, "No MachineSet matches")
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
		// fails is set where they end with an error.
		fails bool
	}{
		"taints that must be absent from a Machine's node": {make: func(t *testing.T, c *acctest.Cluster) [2]planned {
			namespace, absent := c.Namespace(t), []any{map[string]any{"key": "spot", "effect": "NoSchedule"}}
			c.Machine(t, namespace, "m", acctest.Parse(t, "spot:NoSchedule"))
			c.Node(t, acctest.Node{Name: "worker", Labels: map[string]string{"pool": "x"}, Taints: acctest.Parse(t, "spot:NoSchedule")})
			c.Patch(t, "worker", `{"metadata":{"annotations":{"machine.openshift.io/machine":"`+namespace+`/m"}}}`)
			of := func(target, value string) planned {
				return planned{"kubetaint_node_taints", map[string]any{target: value, "absent_taints": absent}}
			}
			return [2]planned{of("node_name", "worker"), of("node_selector", "pool=x")}
		}, want: `Unable to keep taint "spot:NoSchedule" off node "worker"`, fails: true},
		"taints of a node that does not exist": {make: func(*testing.T, *acctest.Cluster) [2]planned {
			gone := map[string]any{"node_name": "gone"}
			return [2]planned{nodes(gone, "a:NoSchedule"), nodes(gone, "b:NoSchedule")}
		}, want: `Node "gone" does not exist yet`},
		"taints for a selector that nothing matches": {make: func(*testing.T, *acctest.Cluster) [2]planned {
			none := map[string]any{"node_selector": "pool=x"}
			return [2]planned{nodes(none, "a:NoSchedule"), nodes(none, "b:NoSchedule")}
		}, want: `No node matches "pool=x": nothing is tainted`},
		"taints of control-plane nodes": {make: func(t *testing.T, c *acctest.Cluster) [2]planned {
			c.Node(t, acctest.Node{Name: "master", Labels: map[string]string{"node-role.kubernetes.io/master": "", "node-role.kubernetes.io/control-plane": ""}})
			master := map[string]any{"node_name": "master"}
			return [2]planned{nodes(master, "a:NoSchedule"), nodes(master, "b:NoSchedule")}
		}, want: "control-plane taint: master"},
		"tolerations of one workload": {make: func(t *testing.T, c *acctest.Cluster) [2]planned {
			c.Node(t, acctest.Node{Name: "worker"})
			namespace := c.Namespace(t)
			c.Deployment(t, namespace, "web", 2, nil)
			c.Change(t, acctest.Thing{APIVersion: "apps/v1", Kind: "Deployment", Namespace: namespace, Name: "web"}, "helm", `{"metadata":{"labels":{"app.kubernetes.io/managed-by":"Helm"}},"spec":{"template":{"spec":{"tolerations":[{"key":"z","operator":"Exists"}]}}}}`)
			web := map[string]any{"kind": "Deployment", "namespace": namespace, "name": "web"}
			return [2]planned{workload(web, "a=1:NoSchedule"), workload(web, "b=1:NoSchedule")}
		}, want: "/web\" is also written by Helm"},
		"tolerations for a selector that nothing matches": {make: func(t *testing.T, c *acctest.Cluster) [2]planned {
			none := map[string]any{"kind": "Deployment", "namespace": c.Namespace(t), "selector": "app=x"}
			return [2]planned{workload(none, "a=1:NoSchedule"), workload(none, "b=1:NoSchedule")}
		}, want: "No workload is found"},
		"taints of MachineSets that nothing matches": {make: func(*testing.T, *acctest.Cluster) [2]planned {
			of := func(taints string) planned {
				return planned{"kubetaint_machine_set_taints", acctest.With(sets, map[string]any{"taints": acctest.Objects(t, taints)})}
			}
			return [2]planned{of("a:NoSchedule"), of("b:NoSchedule")}
		}, want: `No MachineSet matches "pool=x"`},
		"nodes that two dedicate by the same selector": {make: func(*testing.T, *acctest.Cluster) [2]planned {
			of := func(taints string) planned {
				return planned{"kubetaint_dedicated_nodes", map[string]any{"node_selector": "pool=x", "taints": acctest.Objects(t, taints)}}
			}
			return [2]planned{of("a:NoSchedule"), of("b:NoSchedule")}
		}, want: `No node matches "pool=x": no node is dedicated yet`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			acctest.OnFakeWithControllers(t, func(t *testing.T, c *acctest.Cluster) {
				pair := tt.make(t, c)
				run := (&acctest.Terraform{Provider: c.Provider(t)}).Walk(t)
				seen := map[string]int{}
				for i, one := range pair {
					got := run.Plan(&acctest.Instance{Type: one.typeName}, one.config).Diagnostics
					if (got.Errors() != "") != tt.fails {
						t.Fatal(got.Errors())
					}
					tells := false
					for _, d := range got {
						tells = tells || strings.Contains(d.Summary, tt.want)
						if first, used := seen[d.Summary]; used && first != i {
							t.Errorf("both use the summary: %s", d.Summary)
						}
						seen[d.Summary] = i
					}
					if !tells {
						t.Errorf("the %s does not tell of %q:\n%s%s", one.typeName, tt.want, got.Errors(), got.Warnings())
					}
				}
			}, controllers.MachineAPI...)
		})
	}
}

// TestSummaries_ofTwoConfigurationsDiffer: validation knows no ids.
func TestSummaries_ofTwoConfigurationsDiffer(t *testing.T) {
	t.Parallel()
	messages.Expect(t, "Toleration … tolerates only taints with an empty value", "evictions… sets no limit", "timeouts… sets no time")
	taints := acctest.Objects(t, "a:NoSchedule")
	nodes := func(target, value string) map[string]any {
		return map[string]any{target: value, "taints": taints, "evictions": map[string]any{}}
	}
	timed := func(target, value string) map[string]any {
		return map[string]any{target: value, "taints": taints, "timeouts": map[string]any{}}
	}
	workload := func(name string) map[string]any {
		return map[string]any{"workload": map[string]any{"kind": "Deployment", "namespace": "shop", "name": name}, "tolerations": []any{map[string]any{"key": "team"}}}
	}
	keyed := []any{map[string]any{"key": "team"}}
	dedicated := func(target string, value any) map[string]any {
		return map[string]any{target: value, "taints": taints, "evictions": map[string]any{}}
	}
	sets := func(name string) map[string]any {
		return map[string]any{"name": name, "rollout": map[string]any{"strategy": "in_place"}}
	}
	for name, tt := range map[string]struct {
		typeName string
		configs  [2]map[string]any
		want     [2]string
	}{
		"limits that limit nothing": {
			"kubetaint_node_taints", [2]map[string]any{nodes("node_name", "one"), nodes("node_selector", "pool=two")},
			[2]string{`evictions of "one/a:NoSchedule" sets no limit`, `evictions of "pool=two/a:NoSchedule" sets no limit`},
		},
		"limits that limit nothing, of the same nodes": {
			"kubetaint_node_taints", [2]map[string]any{nodes("node_name", "one"), acctest.With(nodes("node_name", "one"), map[string]any{"taints": acctest.Objects(t, "a:NoExecute")})},
			[2]string{`evictions of "one/a:NoSchedule" sets no limit`, `evictions of "one/a:NoExecute" sets no limit`},
		},
		"timeouts that set nothing": {
			"kubetaint_node_taints", [2]map[string]any{timed("node_name", "one"), timed("node_selector", "pool=two")},
			[2]string{`timeouts of "one/a:NoSchedule" sets no time`, `timeouts of "pool=two/a:NoSchedule" sets no time`},
		},
		"limits that limit nothing, of nodes by name": {
			"kubetaint_dedicated_nodes", [2]map[string]any{dedicated("node_names", []any{"a"}), dedicated("node_names", []any{"b"})},
			[2]string{`evictions of "a/a:NoSchedule" sets no limit`, `evictions of "b/a:NoSchedule" sets no limit`},
		},
		"limits that limit nothing, of MachineSets": {
			"kubetaint_dedicated_nodes", [2]map[string]any{dedicated("machine_sets", sets("a")), dedicated("machine_sets", sets("b"))},
			[2]string{`evictions of "a/a:NoSchedule" sets no limit`, `evictions of "b/a:NoSchedule" sets no limit`},
		},
		"tolerations without a value, of two lists of a custom resource": {
			"kubetaint_workload_tolerations", [2]map[string]any{acctest.With(workload("web"), map[string]any{"path": "spec.a"}), acctest.With(workload("web"), map[string]any{"path": "spec.b"})},
			[2]string{`Toleration "team" of "Deployment/shop/web/spec.a" tolerates only taints with an empty value`, `Toleration "team" of "Deployment/shop/web/spec.b" tolerates only taints with an empty value`},
		},
		"tolerations without a value, of the lists of a namespace": {
			"kubetaint_namespace_tolerations", [2]map[string]any{{"namespace": "shop", "default": keyed}, {"namespace": "shop", "allowed": keyed}},
			[2]string{`Toleration "team" in default of "shop" tolerates only taints with an empty value`, `Toleration "team" in allowed of "shop" tolerates only taints with an empty value`},
		},
		"tolerations without a value": {
			"kubetaint_workload_tolerations", [2]map[string]any{workload("web"), workload("api")},
			[2]string{`Toleration "team" of "Deployment/shop/web" tolerates only taints with an empty value`, `Toleration "team" of "Deployment/shop/api" tolerates only taints with an empty value`},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			acctest.OnFake(t, func(t *testing.T, c *acctest.Cluster) {
				run := (&acctest.Terraform{Provider: c.Provider(t)}).Walk(t)
				for i, config := range tt.configs {
					got := run.Validate(&acctest.Instance{Type: tt.typeName}, config)
					if len(got) != 1 || got[0].Summary != tt.want[i] {
						t.Errorf("%s%s, want the warning %q", got.Errors(), got.Warnings(), tt.want[i])
					}
				}
			})
		})
	}
}

// TestSummaries_ofTwoAttributesDiffer: a number tells places apart that no object's name does. The same place keeps
// its own, however often Terraform validates it.
func TestSummaries_ofTwoAttributesDiffer(t *testing.T) {
	t.Parallel()
	acctest.OnFake(t, func(t *testing.T, c *acctest.Cluster) {
		c.Node(t, acctest.Node{Name: "one"})
		added := func(name string) map[string]any {
			return map[string]any{"kind": "Deployment", "namespace": "shop", "name": name, "tolerations": []any{map[string]any{"key": "team"}}}
		}
		config := map[string]any{"node_name": "one", "taints": acctest.Objects(t, "a:NoSchedule"), "added_tolerations": []any{added("web"), added("api")}}
		run := (&acctest.Terraform{Provider: c.Provider(t)}).Walk(t)
		const summary = `Toleration "team" in added_tolerations of "one" tolerates only taints with an empty value`
		for range 2 {
			_, got := run.Data("kubetaint_eviction_preview", config)
			if len(got) < 2 || got[0].Summary != summary || got[1].Summary != summary+" (2)" {
				t.Errorf("%s%s, want %q twice, the second numbered", got.Errors(), got.Warnings(), summary)
			}
		}
	})
}

// TestServer_warnsOnlyOfAConfiguredBlock: before a plan, Terraform validates in a process without one, too. Its
// warnings would be those of every block.
func TestServer_warnsOnlyOfAConfiguredBlock(t *testing.T) {
	t.Parallel()
	acctest.OnFake(t, func(t *testing.T, c *acctest.Cluster) {
		c.Node(t, acctest.Node{Name: "one"})
		const nothing = "sets no limit"
		drain := map[string]any{"node_name": "one", "evictions": map[string]any{}}
		tf := &acctest.Terraform{Provider: acctest.With(c.Provider(t), map[string]any{"evictions": map[string]any{}})}
		run, got := tf.Start(t)
		if len(got) != 1 || !strings.Contains(got[0].Summary, nothing) {
			t.Errorf("%s%s, want the warning that the block %s", got.Errors(), got.Warnings(), nothing)
		}
		if got := run.PlanAction("kubetaint_drain_nodes", drain); strings.Count(got.Warnings(), nothing) != 1 {
			t.Errorf("%s%s, want one warning that the action %s", got.Errors(), got.Warnings(), nothing)
		}
	})
}

// TestSummaries_ofTwoProviderBlocksDiffer: each block with an alias is a process of its own, and the same
// change of two clusters would have the same summary.
func TestSummaries_ofTwoProviderBlocksDiffer(t *testing.T) {
	t.Parallel()
	acctest.OnFakeWithControllers(t, func(t *testing.T, c *acctest.Cluster) {
		c.Node(t, acctest.Node{Name: "worker", Labels: map[string]string{"pool": "gpu"}})
		c.Pod(t, c.Namespace(t), "lost", "worker", nil)
		config := map[string]any{"node_selector": "pool=gpu", "taints": acctest.Objects(t, "team:NoExecute")}
		host := strings.TrimPrefix(c.REST.Host, "https://")
		for label, block := range map[string]map[string]any{
			" (owner east, host " + host + ")": acctest.With(c.Provider(t), map[string]any{"owner": "east"}),
			" (owner west, host " + host + ")": acctest.With(c.Provider(t), map[string]any{"owner": "west"}),
			" (host " + host + ")":             c.Provider(t),
			" (host west.test)":                acctest.With(c.Provider(t), map[string]any{"host": "https://west.test"}),
		} {
			want := `Applying team:NoExecute to 1 node matching "pool=gpu" evicts 1 pod: 1 lost` + label
			tf := &acctest.Terraform{Provider: block, Labels: true, Transport: func() http.RoundTripper { return c.REST.Transport }}
			got := tf.Walk(t).Plan(&acctest.Instance{Type: "kubetaint_node_taints"}, config).Diagnostics
			if len(got) != 1 || got[0].Summary != want {
				t.Errorf("%s%s, want the warning %q", got.Errors(), got.Warnings(), want)
			}
		}
	})
}
