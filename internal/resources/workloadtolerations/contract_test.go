// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package workloadtolerations_test

import (
	"slices"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
)

// TestOrder_oneThatMayNotBeChangedKeepsNoOther leaves tolerations of two workloads
// retiring, and takes the taint away with credentials that may change only one of them:
// the other one gives its toleration up all the same. It does not run beside other
// tests, which would take both away.
func TestOrder_oneThatMayNotBeChangedKeepsNoOther(t *testing.T) {
	t.Parallel()
	inShop(t, func(t *testing.T, s *shop) {
		taints := &acctest.Instance{Type: "kubetaint_node_taints"}
		taint := func(i *acctest.Instance, config map[string]any) acctest.Diagnostics {
			t.Helper()
			d := s.tf.Apply(t, i, config)
			if d.Errors() != "" {
				t.Fatal(d.Errors())
			}
			return d
		}
		first, second := s.make("Deployment", "first", 1, "", nil), s.make("StatefulSet", "second", 1, "", nil)
		var tolerating []*acctest.Instance
		for _, thing := range []acctest.Thing{first, second} {
			i := s.fresh()
			s.apply(i, s.manage(thing, "team=a:NoExecute", nil))
			tolerating = append(tolerating, i)
		}
		taint(taints, map[string]any{"node_name": s.pool, "taints": acctest.Objects(t, "team=a:NoExecute")})
		s.together(append(tolerating, taints)...)
		for _, i := range tolerating {
			s.destroy(i)
		}

		rules := s.c.Rights(t)
		for n := range rules {
			rules[n].Resources = slices.DeleteFunc(slices.Clone(rules[n].Resources), func(r string) bool { return r == "deployments" })
		}
		rules = append(rules, rbacv1.PolicyRule{APIGroups: []string{"apps"}, Resources: []string{"deployments"}, Verbs: []string{"get", "list"}})
		s.tf = &acctest.Terraform{Provider: s.c.ProviderAt(t, s.c.REST.Host, s.c.TokenWith(t, rules...))}
		says(t, "warning", taint(taints, nil).Warnings(), "Unable to remove tolerations", "Deployment/"+s.namespace+"/first")
		s.want(first, "team=a:NoExecute", 1)
		s.want(second, "", 0)
	})
}

// A taint that goes needs no toleration: no pod that cannot follow is waited for.
func TestOrder_taintsGoWithoutAWaitForTheLinkedWorkloads(t *testing.T) {
	t.Parallel()
	inShop(t, func(t *testing.T, s *shop) {
		thing := s.make("Deployment", "web", 1, "", nil)
		tolerations := s.fresh()
		s.apply(tolerations, s.manage(thing, "team=a:NoSchedule spot=b:NoSchedule", nil))
		taints := &acctest.Instance{Type: "kubetaint_node_taints"}
		change := func(wanted string) {
			t.Helper()
			config := map[string]any{
				"node_name": s.pool, "taints": acctest.Objects(t, wanted), "tolerated_by": []any{s.tf.Attributes(t, tolerations)["id"]},
				"timeouts": map[string]any{"create": "5m", "update": "5m"},
			}
			if d := s.tf.Apply(t, taints, config); d.Errors() != "" {
				t.Fatal(d.Errors())
			}
		}
		change("team=a:NoSchedule spot=b:NoSchedule")
		s.c.Closed(t, s.namespace, s.pool, acctest.ParseTolerations(t, "team=a:NoSchedule")...)

		// The pod that is made from the overwritten template finds no node.
		s.replace(thing, "team=a:NoSchedule")
		s.until("a pod waits for a node", func() bool { return len(s.live("web")) == 2 })
		change("team=a:NoSchedule")
		if got := s.c.Taints(t, s.pool); got != "team=a:NoSchedule" {
			t.Fatalf("the node has %s", got)
		}
		s.c.Running(t, s.namespace, "web", 1)
	})
}
