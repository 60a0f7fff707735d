// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package workloadtolerations_test

import (
	"testing"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/messages"
)

func TestWorkloadTolerations_operatorsThatTheProviderBlockRulesOut(t *testing.T) {
	t.Parallel()
	messages.Expect(t, "Unable to use the operator")
	inShop(t, func(t *testing.T, s *shop) {
		thing := s.make("Deployment", "web", 0, "", nil)
		s.tf.Provider["comparison_operators"] = false
		for _, one := range []string{"k<5:NoSchedule", "k>5:NoExecute"} {
			s.refused(s.fresh(), s.manage(thing, one, nil), `AttributeName("tolerations")`, "comparison_operators = false", "Use Equal or Exists")
		}
	})
}

func TestWorkloadTolerations_twoResourcesCannotHaveTheSameToleration(t *testing.T) {
	t.Parallel()
	messages.Expect(t, "is shadowed", "Unable to claim toleration")
	inShop(t, func(t *testing.T, s *shop) {
		thing := s.make("Deployment", "web", 0, "", nil)
		where := map[string]any{"kind": "Deployment", "namespace": s.namespace, "selector": "app=web"}
		seconds := []string{`Unable to claim toleration "team=a:NoExecute" of Deployment "` + s.namespace + `/web" twice`, `AttributeName("tolerations")`, "remove it from one of them"}

		// In one run, whether it changes something or not.
		walk := s.tf.Walk(t)
		if d := walk.Plan(s.fresh(), s.manage(thing, "team=a:NoExecute", nil)).Diagnostics; d.Errors() != "" {
			t.Fatal(d.Errors())
		}
		for _, second := range []map[string]any{
			s.manage(thing, "team=a:NoExecute@30 other*", nil),
			acctest.With(s.manage(thing, "team=a:NoExecute", nil), map[string]any{"workload": where}),
			acctest.With(s.manage(thing, "team=a:NoExecute", nil), map[string]any{"workload": map[string]any{"api_version": "apps/v1", "kind": "Deployment", "namespace": s.namespace, "name": "web"}}),
		} {
			says(t, "error", walk.Plan(s.fresh(), second).Diagnostics.Errors(), seconds...)
		}
		if d := walk.Plan(s.fresh(), s.manage(thing, "team=b:NoExecute team=a:NoSchedule team*:NoExecute", nil)).Diagnostics; d.Errors() != "" {
			t.Fatal(d.Errors())
		}
		i, config := s.fresh(), s.manage(thing, "team=a:NoExecute", nil)
		s.apply(i, config)
		walk = s.tf.Walk(t)
		walk.Refresh(i)
		walk.Plan(i, config)
		says(t, "error", walk.Plan(s.fresh(), s.manage(thing, "team=a:NoExecute@30", nil)).Diagnostics.Errors(), seconds...)

		// In another configuration: its owner is named.
		other := s.on(t)
		other.tf = &acctest.Terraform{Provider: acctest.With(s.tf.Provider, map[string]any{"owner": "team-b"})}
		other.refused(s.fresh(), s.manage(thing, "team=a:NoExecute@30 theirs*", nil), `AttributeName("tolerations")`, "Nothing has been written", `is owned by "terraform/workload_tolerations/Deployment/`+s.namespace+`/web/team=a:NoExecute"`)
		s.want(thing, "team=a:NoExecute", 1)
	})
}

func TestWorkloadTolerations_anotherClusterUnderTheSameState(t *testing.T) {
	t.Parallel()
	inShop(t, func(t *testing.T, s *shop) {
		thing := s.make("Deployment", "web", 0, "foreign*", nil)
		i := s.fresh()
		s.apply(i, s.manage(thing, "team=a:NoExecute", nil))
		s.c.Elsewhere(t, i, s.manage(thing, "team=b:NoExecute", nil))
		s.want(thing, "foreign* team=a:NoExecute", 1)
	})
}

func TestWorkloadTolerations_clusterOutOfReachKeepsTheState(t *testing.T) {
	t.Parallel()
	inShop(t, func(t *testing.T, s *shop) {
		thing := s.make("Deployment", "web", 0, "", nil)
		proxy := s.c.Proxy(t)
		s.tf = &acctest.Terraform{Provider: proxy.Provider(t, s.c)}
		one, two := s.fresh(), s.fresh()
		config, more := s.manage(thing, "team=a:NoExecute", nil), s.manage(thing, "spot*", nil)
		s.apply(one, config)
		s.apply(two, more)
		proxy.OutOfReach(t, s.tf.Provider, []*acctest.Instance{one, two}, []map[string]any{config, more}, s.manage(thing, "team=b:NoExecute", nil))
		s.want(thing, "team=a:NoExecute spot*", 2)
		s.quiet(one, config)
	})
}

func TestWorkloadTolerations_unknownInputsAreNotGuessedAt(t *testing.T) {
	t.Parallel()
	inShop(t, func(t *testing.T, s *shop) {
		thing := s.make("Deployment", "web", 1, "", nil)
		good := s.manage(thing, "team=a:NoExecute", nil)
		for _, changes := range []map[string]any{
			{"workload": acctest.Unknown},
			{"workload": map[string]any{"kind": "Deployment", "namespace": s.namespace, "name": acctest.Unknown}},
			{"workload": map[string]any{"kind": acctest.Unknown, "namespace": s.namespace, "name": "web"}},
			{"workload": map[string]any{"kind": "Deployment", "namespace": s.namespace, "selector": acctest.Unknown}},
			{"workload": map[string]any{"kind": "Deployment", "namespace": acctest.Unknown, "name": "web"}},
			{"path": acctest.Unknown},
			{"tolerations": acctest.Unknown},
			{"tolerations": []any{map[string]any{"key": "team", "value": acctest.Unknown, "effect": "NoExecute"}}},
			{"wait_for_rollout": acctest.Unknown},
			{"retire": acctest.Unknown},
		} {
			planned := s.tf.Plan(t, s.fresh(), acctest.With(good, changes))
			if len(planned.Diagnostics) > 0 {
				t.Fatalf("with %v unknown: %s%s", changes, planned.Diagnostics.Errors(), planned.Diagnostics.Warnings())
			}
		}
		unknown := &acctest.Terraform{Provider: map[string]any{"host": acctest.Unknown, "token": "x"}}
		says(t, "warning", unknown.Plan(t, s.fresh(), good).Diagnostics.Warnings(), "Unable to read the cluster: the provider block is not known yet")
	})
}
