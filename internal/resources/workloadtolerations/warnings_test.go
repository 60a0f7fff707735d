// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package workloadtolerations_test

import (
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/messages"
)

func TestWorkloadTolerations_destroySaysWhatRestartsAndWhatStays(t *testing.T) {
	t.Parallel()
	messages.Expect(t, "stays for now")
	inShop(t, func(t *testing.T, s *shop) {
		thing := s.make("Deployment", "web", 3, "foreign*", nil)
		i := s.fresh()
		s.apply(i, s.manage(thing, "team=a:NoExecute spot*", nil))
		title := `Deployment "` + s.namespace + `/web"`
		says(t, "warning", s.tf.Plan(t, i, nil).Diagnostics.Warnings(), "Removing the tolerations of "+title+" restarts 3 pods\n", "removes spot Exists, team=a:NoExecute")
		s.c.Patch(t, s.namespace, `{"spec":{"taints":[{"key":"team","value":"a","effect":"NoExecute"}]}}`)
		d := s.destroy(i)
		says(t, "warning", d.Warnings(), "Removing the tolerations of "+title+" restarts 3 pods in 2 rollouts\n", "removes spot Exists", "keeps team=a:NoExecute while pods need it",
			"1 toleration of "+title+" stays for now: team=a:NoExecute", "kept until no taint needs")
		s.want(thing, "foreign* team=a:NoExecute", 1)
	})
}

func TestWorkloadTolerations_shadowedTolerationsArePointedOut(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ foreign, wanted, shadow string }{
		"by one that ends sooner":    {"team=a:NoExecute@30", "team=a:NoExecute", "team=a:NoExecute for 30s"},
		"by one of any value":        {"team*:NoExecute@30", "team=a:NoExecute", "team Exists:NoExecute for 30s"},
		"by one that ends later":     {"team*:NoExecute", "team=a:NoExecute@30", "team Exists:NoExecute"},
		"not by one of other values": {"team=b:NoExecute@30", "team=a:NoExecute", ""},
		"not by one of other effect": {"team*:NoSchedule", "team=a:NoExecute", ""},
		"not by one that is equal":   {"team*:NoExecute@30", "team=a:NoExecute@30", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inShop(t, func(t *testing.T, s *shop) {
				thing := s.make("Deployment", acctest.Name(t, "web"), 0, tt.foreign, nil)
				d := s.apply(s.fresh(), s.manage(thing, tt.wanted, nil))
				if tt.shadow == "" {
					if d.Warnings() != "" {
						t.Fatalf("the plan warns: %s", d.Warnings())
					}
					return
				}
				says(t, "warning", d.Warnings(), `[AttributeName("tolerations")]`, "is shadowed", thing.Name, tt.shadow+" is before it")
			})
		})
	}
}

func TestWorkloadTolerations_ownerThatRevertsIsNamed(t *testing.T) {
	t.Parallel()
	messages.Expect(t, "… \"…\" is owned by …")
	inShop(t, func(t *testing.T, s *shop) {
		widget := s.c.Look(t, s.widget("gpu", nil))
		thing := s.make("Deployment", "web", 1, "", nil)
		s.c.Change(t, thing, "operator", fmt.Sprintf(`{"metadata":{"ownerReferences":[{"apiVersion":"test.kubetaint.io/v1","kind":"Widget","name":"gpu","uid":%q,"controller":true}]}}`, widget.GetUID()))
		s.warned(s.manage(thing, "team=a:NoExecute", nil), `Deployment "`+s.namespace+`/web" is owned by Widget "gpu"`, "restore its own template", "in its custom resource")

		sets, err := s.c.Admin.AppsV1().ReplicaSets(s.namespace).List(t.Context(), metav1.ListOptions{})
		if err != nil || len(sets.Items) != 1 {
			t.Fatalf("%d ReplicaSets: %v", len(sets.Items), err)
		}
		set := s.thing("ReplicaSet", sets.Items[0].Name)
		s.warned(s.manage(set, "team=a:NoExecute", map[string]any{"wait_for_rollout": false}), `ReplicaSet "`+s.namespace+"/"+set.Name+`" is owned by Deployment "web"`)
	})
}

func TestWorkloadTolerations_namespaceThatDoesNotAllowThem(t *testing.T) {
	t.Parallel()
	messages.Expect(t, "does not allow … to tolerate …")
	inShop(t, func(t *testing.T, s *shop) {
		thing := s.make("Deployment", "web", 0, "", nil)
		allow := func(annotation string) {
			t.Helper()
			s.c.Allow(t, s.namespace, annotation)
		}
		const gives = `{"key":"node.kubernetes.io/not-ready","operator":"Exists"},{"key":"node.kubernetes.io/unreachable","operator":"Exists"},{"key":"node.kubernetes.io/memory-pressure","operator":"Exists"}`
		config := s.manage(thing, "team=a:NoExecute spot*:NoSchedule", nil)
		not := `[AttributeName("tolerations")] Namespace "` + s.namespace + `" does not allow Deployment "` + s.namespace + `/web" to tolerate `
		allow(`[{"key":"team","operator":"Exists"},` + gives + `]`)
		s.warned(config, not+"spot Exists:NoSchedule", "tolerationsWhitelist", "PodTolerationRestriction", "Add the toleration to the annotation first")
		// The plug-in compares other seconds than a scheduler: with an effect alone.
		allow(`[{"key":"team","operator":"Exists","tolerationSeconds":5},{"key":"spot","operator":"Exists"},` + gives + `]`)
		if got := s.planned(s.fresh(), config).Diagnostics.Warnings(); got != "" {
			t.Fatalf("the plug-in allows both, and the plan warns: %s", got)
		}
		allow(`[{"key":"team","operator":"Exists","effect":"NoExecute","tolerationSeconds":5},{"key":"spot","operator":"Exists"},` + gives + `]`)
		s.warned(config, not+"team=a:NoExecute")
		for _, annotation := range []string{`[{"operator":"Exists"}]`, `[{"key":"team","operator":"Exists"},{"key":"spot","operator":"Exists"},` + gives + `]`, "[]", "garbage"} {
			allow(annotation)
			if got := s.planned(s.fresh(), config).Diagnostics.Warnings(); got != "" {
				t.Fatalf("with %s the plan warns: %s", annotation, got)
			}
		}
		// There is no warning of existing entries.
		allow(`[{"key":"other","operator":"Exists"}]`)
		s.apply(s.fresh(), config)
	})
}

// A restart loses all pods where the namespace rejects what admission itself adds to them.
func TestWorkloadTolerations_namespaceThatRejectsEveryPod(t *testing.T) {
	t.Parallel()
	messages.Expect(t, "rejects every new pod of …", "rejects new pods of … with requests or limits")
	inShop(t, func(t *testing.T, s *shop) {
		thing := s.make("Deployment", "web", 1, "", nil)
		config := s.manage(thing, "team=a:NoExecute", nil)
		web := `Deployment "` + s.namespace + `/web"`
		every, requesting := `[AttributeName("workload")] Namespace "`+s.namespace+`" rejects every new pod of `+web, `[AttributeName("workload")] Namespace "`+s.namespace+`" rejects new pods of `+web+" with requests or limits"
		const notReady, unreachable, pressure = "node.kubernetes.io/not-ready Exists:NoExecute for 300s", "node.kubernetes.io/unreachable Exists:NoExecute for 300s", "node.kubernetes.io/memory-pressure Exists:NoSchedule"
		for _, tt := range []struct{ allowed, want, first, second string }{
			{`{"key":"node.kubernetes.io/unreachable","operator":"Exists"},{"key":"node.kubernetes.io/memory-pressure","operator":"Exists"}`, every, notReady, ""},
			{`{"key":"node.kubernetes.io/not-ready","operator":"Exists"}`, every, unreachable, pressure},
			{`{"key":"node.kubernetes.io/not-ready","operator":"Exists"},{"key":"node.kubernetes.io/unreachable","operator":"Exists"}`, requesting, pressure, ""},
			{`{"key":"node.kubernetes.io/not-ready","operator":"Exists"},{"key":"node.kubernetes.io/unreachable","operator":"Exists","effect":"NoExecute","tolerationSeconds":60},{"key":"node.kubernetes.io/memory-pressure","operator":"Exists"}`, every, unreachable, ""},
		} {
			s.c.Allow(t, s.namespace, `[{"key":"team","operator":"Exists"},`+tt.allowed+`]`)
			s.warned(config, tt.want, tt.first, tt.second, "PodTolerationRestriction", "tolerationsWhitelist")
		}
		// Giving them up restarts the pods as well.
		i := s.fresh()
		s.apply(i, config)
		says(t, "warning", s.tf.Plan(t, i, nil).Diagnostics.Warnings(), every)
		s.quiet(i, config)
	})
}

// A create that adopts what an earlier one has left says so.
func TestWorkloadTolerations_takingOverIsSaid(t *testing.T) {
	t.Parallel()
	inShop(t, func(t *testing.T, s *shop) {
		thing := s.make("Deployment", "web", 0, "", nil)
		config := s.manage(thing, "team=a:NoExecute spot*", nil)
		s.apply(s.fresh(), config)
		i := s.fresh()
		d := s.apply(i, config)
		says(t, "warning", d.Warnings(), "adopts tolerations of", `Deployment "`+s.namespace+`/web"`, "team=a:NoExecute", "spot Exists", "terraform/workload_tolerations/Deployment/"+s.namespace+"/web/")
		s.destroy(i)
		s.want(thing, "", 0)
	})
}

// Without permission to look at pods the change is planned all the same. Applying
// it would wait for pods that it cannot see.
func TestWorkloadTolerations_previewThatCannotBeMadeSaysSo(t *testing.T) {
	t.Parallel()
	inShop(t, func(t *testing.T, s *shop) {
		thing := s.make("Deployment", "web", 1, "", nil)
		s.tf = &acctest.Terraform{Provider: s.c.ProviderAt(t, s.c.REST.Host, s.c.TokenWith(t, noPods...))}
		i, config := s.fresh(), s.manage(thing, "team=a:NoExecute", nil)
		planned := s.planned(i, config)
		says(t, "warning", planned.Diagnostics.Warnings(), `Unable to preview the change of Deployment "`+s.namespace+`/web"`, "no permission", "list pods", `guide "Permissions"`)
		says(t, "error", s.tf.Carry(t, i, planned, config).Errors(), "no permission", "list pods", `guide "Permissions"`)
		s.want(thing, "", 0)
	})
}
