// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package workloadtolerations_test

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/fakeapi"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/messages"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/toleration"
)

// namesakeGroups are groups with a kind DaemonSet: that of Kubernetes, and two others whose
// tolerations are in the same place.
var namesakeGroups = []string{"apps/v1", "apps.kruise.io/v1beta1", "apps.example.com/v1"}

// inNamesakes runs a test in a shop with three DaemonSets "agent", one of each group.
func inNamesakes(t *testing.T, test func(t *testing.T, s *shop, agents []acctest.Thing)) {
	t.Helper()
	var kinds []fakeapi.Kind
	for _, group := range namesakeGroups[1:] {
		kinds = append(kinds, fakeapi.CustomKind(group, "DaemonSet", "daemonsets"))
	}
	acctest.OnFakeWithControllers(t, func(t *testing.T, c *acctest.Cluster) {
		s := openShopOn(t, c)
		s.tf = &acctest.Terraform{Provider: c.ProviderAt(t, c.REST.Host, c.TokenAnd(t, rbacv1.PolicyRule{
			APIGroups: []string{"apps.kruise.io", "apps.example.com"}, Resources: []string{"daemonsets"}, Verbs: []string{"get", "list", "patch"},
		}))}
		agents := []acctest.Thing{s.make("DaemonSet", "agent", 1, "", nil)}
		for _, group := range namesakeGroups[1:] {
			agents = append(agents, s.custom(acctest.Thing{APIVersion: group, Kind: "DaemonSet", Namespace: s.namespace, Name: "agent"}, map[string]any{
				"selector": map[string]any{"matchLabels": map[string]any{"app": "other"}}, "template": s.template("other", ""),
			}))
		}
		test(t, s, agents)
	}, kinds...)
}

// namesakes manages the same toleration of each agent.
func (s *shop) namesakes(agents []acctest.Thing, tolerations string) (instances []*acctest.Instance, configs []map[string]any) {
	s.t.Helper()
	for _, agent := range agents {
		instances = append(instances, s.fresh())
		configs = append(configs, acctest.With(s.manageByPath(agent, tolerations), map[string]any{"wait_for_rollout": false}))
	}
	return instances, configs
}

// Kinds of several groups may have one name: their objects are others, and so are their resources.
func TestWorkloadTolerations_equalNamesInOtherGroupsAreManagedApart(t *testing.T) {
	t.Parallel()
	inNamesakes(t, func(t *testing.T, s *shop, agents []acctest.Thing) {
		instances, configs := s.namesakes(agents, "team=a:NoExecute")
		plans, applies, ids, summaries := s.tf.Walk(t), s.tf.Walk(t), []string{}, map[string]bool{}
		for n, i := range instances {
			planned := plans.Plan(i, configs[n])
			if planned.Diagnostics.Errors() != "" {
				t.Fatalf("%s is refused: %s", namesakeGroups[n], planned.Diagnostics.Errors())
			}
			for _, d := range planned.Diagnostics {
				if summaries[d.Summary] {
					t.Errorf("%s has a warning with the summary of another one: %s", namesakeGroups[n], d.Summary)
				}
				summaries[d.Summary] = true
			}
			ids = append(ids, s.idOf(planned))
			if d := applies.ApplyChange(i, planned, configs[n]); d.Errors() != "" {
				t.Fatalf("%s: %s", namesakeGroups[n], d.Errors())
			}
		}
		if slices.Sort(ids); len(slices.Compact(ids)) != len(agents) {
			t.Fatalf("two of them have one id: %q", ids)
		}
		s.together(instances...)
		for n, i := range instances {
			s.quiet(i, configs[n])
			if record := s.record(agents[n]); len(record) != 1 || record[0].Owner != s.tf.Attributes(t, i)["id"] {
				t.Errorf("%s has the record %v", namesakeGroups[n], record)
			}
		}
		s.destroy(instances[1])
		for n, want := range []int{1, 0, 1} {
			if got := s.standing(agents[n], s.pathOf("DaemonSet")); len(got) != want {
				t.Errorf("one is destroyed, and %s has %s", namesakeGroups[n], formatted(got))
			}
		}
		s.quiet(instances[0], configs[0])
		s.quiet(instances[2], configs[2])
	})
}

// A rename from one kind to its namesake is no rename of the resource.
func TestWorkloadTolerations_aNamesakeMayReplaceTheOther(t *testing.T) {
	t.Parallel()
	inNamesakes(t, func(t *testing.T, s *shop, agents []acctest.Thing) {
		instances, configs := s.namesakes(agents[1:], "team=a:NoExecute")
		if d := s.tf.Apply(t, instances[0], configs[0]); d.Errors() != "" {
			t.Fatal(d.Errors())
		}
		w := s.tf.Walk(t)
		goes, comes := w.Plan(instances[0], nil), w.Plan(instances[1], configs[1])
		if text := goes.Diagnostics.Errors() + comes.Diagnostics.Errors(); text != "" {
			t.Fatalf("it is refused: %s", text)
		}
	})
}

// A mark that is copied to a namesake is not believed there.
func TestWorkloadTolerations_aMarkCopiedToANamesakeCountsForNothing(t *testing.T) {
	t.Parallel()
	inNamesakes(t, func(t *testing.T, s *shop, agents []acctest.Thing) {
		instances, configs := s.namesakes(agents, "team=a:NoExecute")
		for n, agent := range agents {
			other := agents[(n+1)%len(agents)]
			if d := s.tf.Apply(t, instances[n], configs[n]); d.Errors() != "" {
				t.Fatal(d.Errors())
			}
			mark := s.c.Look(t, agent).GetAnnotations()[toleration.OwnedAnnotation]
			s.replace(other, "team=a:NoExecute")
			s.annotate(other, mark)
			s.destroy(instances[n])
			if got := formatted(s.standing(other, s.pathOf("DaemonSet"))); got != "team=a:NoExecute" {
				t.Errorf("%s is destroyed, and %s has %q", namesakeGroups[n], other.APIVersion, got)
			}
			s.replace(other, "")
			s.annotate(other, "")
		}
	})
}

// Builds before there were groups in ids wrote none, also for kinds that are not known.
func TestWorkloadTolerations_idsWithoutAGroupStay(t *testing.T) {
	t.Parallel()
	inNamesakes(t, func(t *testing.T, s *shop, agents []acctest.Thing) {
		instances, configs := s.namesakes(agents[1:2], "team=a:NoExecute")
		if d := s.tf.Apply(t, instances[0], configs[0]); d.Errors() != "" {
			t.Fatal(d.Errors())
		}
		record := s.c.Look(t, agents[1]).GetAnnotations()[toleration.OwnedAnnotation]
		s.annotate(agents[1], strings.Replace(record, "DaemonSet.apps.kruise.io/", "DaemonSet/", 1))
		again, d := s.tf.ImportAgain(t, instances[0])
		if d.Errors() != "" {
			t.Fatal(d.Errors())
		}
		if id, want := s.tf.Attributes(t, again)["id"], "terraform/workload_tolerations/DaemonSet/"+s.namespace+"/agent#"+rolloutPath+"/team=a:NoExecute"; id != want {
			t.Errorf("the id is %q, want %q", id, want)
		}
		if d := s.tf.Apply(t, again, configs[0]); d.Errors() != "" {
			t.Fatal(d.Errors())
		}
		s.quiet(again, configs[0])
		s.destroy(again)
		if got := s.standing(agents[1], s.pathOf("DaemonSet")); len(got) > 0 || len(s.record(agents[1])) > 0 {
			t.Errorf("it is destroyed, and there is %s", formatted(got))
		}
	})
}

// annotate writes the record of owned tolerations, as another writer may.
func (s *shop) annotate(thing acctest.Thing, record string) {
	s.t.Helper()
	s.c.Change(s.t, thing, "somebody", `{"metadata":{"annotations":{"`+toleration.OwnedAnnotation+`":`+jsonString(record)+`}}}`)
}

// jsonString is null for nothing, which removes an annotation.
func jsonString(s string) string {
	if s == "" {
		return "null"
	}
	return strconv.Quote(s)
}

// A taint that is linked to one of the namesakes waits for that one alone: the pod of Kubernetes' own
// does not follow its template.
func TestWorkloadTolerations_linksToNamesakesAreToldApart(t *testing.T) {
	t.Parallel()
	messages.Expect(t, "Unable to rely on the tolerations of")
	inNamesakes(t, func(t *testing.T, s *shop, agents []acctest.Thing) {
		s.c.Change(t, agents[0], "somebody", `{"spec":{"updateStrategy":{"type":"OnDelete","rollingUpdate":null}}}`)
		instances, configs := s.namesakes(agents, "team=a:NoExecute")
		for n, i := range instances {
			if d := s.tf.Apply(t, i, configs[n]); d.Errors() != "" {
				t.Fatal(d.Errors())
			}
		}
		for n, i := range instances {
			w, taints := s.tf.Walk(t), &acctest.Instance{Type: "kubetaint_node_taints"}
			for n, i := range instances {
				if planned := w.Plan(i, configs[n]); !planned.Empty || planned.Diagnostics.Errors() != "" {
					t.Fatalf("%s is not in sync: %s", namesakeGroups[n], planned.Diagnostics.Errors())
				}
			}
			refused := w.Plan(taints, map[string]any{
				"node_name": s.pool, "taints": acctest.Objects(t, "team=a:NoExecute"), "tolerated_by": []any{s.tf.Attributes(t, i)["id"]},
			}).Diagnostics.Errors()
			if (refused != "") != (n == 0) || n == 0 && !strings.Contains(refused, `the tolerations of DaemonSet "`+s.namespace+`/agent"`) {
				t.Errorf("linked to %s, it is refused: %q", namesakeGroups[n], refused)
			}
		}
	})
}
