// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package dedicatednodes_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
)

// TestDedicatedNodes_whatIsLostWithoutARight takes single rights away from the
// documented role, and expects of plan and apply what the guide "Permissions" says.
func TestDedicatedNodes_whatIsLostWithoutARight(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		resource string
		verbs    []string
		// planned is what the plan says, and failed what the apply reports where it
		// fails.
		planned, failed string
	}{
		"list of pods":               {"pods", []string{"list", "watch"}, "Unable to preview what happens on nodes", "no permission"},
		"watch of pods":              {"pods", []string{"watch"}, "", ""},
		"patch of nodes":             {"nodes", []string{"patch"}, "", "no permission"},
		"watch of nodes":             {"nodes", []string{"watch"}, "", ""},
		"get of the workload":        {"deployments", []string{"get"}, "Unable to preview what happens on nodes", "no permission"},
		"patch of the workload":      {"deployments", []string{"patch"}, "", "no permission"},
		"list of workloads":          {"deployments", []string{"list"}, "", ""},
		"list of another kind":       {"cronjobs", []string{"list"}, "", ""},
		"list of budgets for drains": {"poddisruptionbudgets", []string{"list"}, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onFake(t, func(t *testing.T, c *acctest.Cluster) {
				p := newPool(t, c, "Deployment")
				w := wish{taints: "team=a:NoExecute", labels: "dedicated=gpu", workloads: map[string]string{"Deployment": pinned}}
				config := acctest.With(p.config(w), map[string]any{"timeouts": map[string]any{"create": "5m", "update": "5m"}})
				tf := &acctest.Terraform{Provider: c.ProviderAt(t, c.REST.Host, c.TokenWith(t, acctest.Without(c.Rights(t), tt.resource, tt.verbs...)...))}
				i := newInstance()
				planned := tf.Plan(t, i, config)
				if planned.Diagnostics.Errors() != "" {
					t.Fatal(planned.Diagnostics.Errors())
				}
				if tt.planned != "" {
					acctest.WantAll(t, planned.Diagnostics.Warnings(), tt.planned, `The guide "Permissions" of the provider's documentation lists it`)
				}
				d := tf.Carry(t, i, planned, config)
				if tt.failed == "" {
					if d.Errors() != "" {
						t.Fatal(d.Errors())
					}
					p.want(w, "Deployment")
					changed := wish{taints: "team=b:NoExecute", labels: "reserved=gpu", workloads: w.workloads}
					tf.Settle(t, i, p.config(changed))
					p.want(changed, "Deployment")
				} else {
					acctest.WantAll(t, d.Errors(), tt.failed, `"Permissions"`)
					p.wantOwned("Deployment")
					for _, node := range p.nodes {
						if taints := c.Taints(t, node); taints != foreignTaint {
							t.Fatalf("node %s has the taints %s", node, taints)
						}
					}
					// With all rights it goes on.
					tf = terraform(t, c)
					tf.Settle(t, i, config)
					p.want(w, "Deployment")
				}
				tf.Destroy(t, i)
				p.want(wish{}, "Deployment")
			})
		})
	}
}

// TestDedicatedNodes_plansWithTheRoleForPlans: with the role that is documented for
// plans alone, a plan says and plans what it does with all rights, and nothing can be
// written.
func TestDedicatedNodes_plansWithTheRoleForPlans(t *testing.T) {
	t.Parallel()
	onFake(t, func(t *testing.T, c *acctest.Cluster) {
		rules := acctest.RightsToPlan(t)
		for _, rule := range rules {
			for _, verb := range rule.Verbs {
				if verb != "get" && verb != "list" {
					t.Errorf("%v may be used to %s", rule.Resources, verb)
				}
			}
		}
		all, alone := terraform(t, c), &acctest.Terraform{Provider: c.ProviderAt(t, c.REST.Host, c.TokenWith(t, rules...))}
		p, i := newPool(t, c, "Deployment"), newInstance()
		same := func(w wish) acctest.Planned {
			t.Helper()
			with, without := all.Plan(t, i, p.config(w)), alone.Plan(t, i, p.config(w))
			// Both plans may differ in the restarts of other tests' workloads: their retained
			// tolerations are removed with any taint. Several workloads have no names in the summary.
			for _, planned := range []*acctest.Planned{&with, &without} {
				planned.Diagnostics = slices.DeleteFunc(planned.Diagnostics, func(d *tfprotov6.Diagnostic) bool {
					return strings.HasPrefix(d.Summary, "Removing ") && strings.Contains(d.Summary, " restarts ")
				})
			}
			if diff := cmp.Diff(with, without); diff != "" {
				t.Fatalf("without the right to write the plan differs:\n%s", diff)
			}
			return without
		}
		// Tolerations that retire on workloads of other tests are reported too if their taint goes: the key
		// is this test's own.
		w := wish{taints: "planned=a:NoExecute", labels: "dedicated=gpu", workloads: map[string]string{"Deployment": pinned}}
		planned := same(w)
		acctest.WantAll(t, planned.Diagnostics.Warnings(), "restarts 4 pods")
		acctest.WantAll(t, alone.Carry(t, i, planned, p.config(w)).Errors(), "no permission", `"Permissions"`)
		p.want(wish{}, "Deployment")
		all.Settle(t, i, p.config(w))
		if !same(w).Empty {
			t.Fatal("a plan that changes nothing is not empty")
		}
		same(wish{taints: "planned=b:NoExecute", labels: "reserved=gpu", workloads: w.workloads})
		all.Destroy(t, i)
		p.want(wish{}, "Deployment")
	})
}

// TestDedicatedNodes_budgetWithoutPermissionForPodsFailsAtPlan: a limit
// cannot be checked without pods.
func TestDedicatedNodes_budgetWithoutPermissionForPodsFailsAtPlan(t *testing.T) {
	t.Parallel()
	onFake(t, func(t *testing.T, c *acctest.Cluster) {
		p := newPool(t, c, "Deployment")
		tf := &acctest.Terraform{Provider: c.ProviderAt(t, c.REST.Host, c.TokenWith(t, acctest.Without(c.Rights(t), "pods", "list", "watch")...))}
		config := acctest.With(p.config(wish{taints: "team=a:NoExecute"}), map[string]any{"evictions": map[string]any{"max_pods": 0}})
		acctest.WantAll(t, tf.Plan(t, newInstance(), config).Diagnostics.Errors(), `[AttributeName("evictions")] Unable to check the eviction limits for what happens on nodes`, "cannot be checked", "no permission")
	})
}
