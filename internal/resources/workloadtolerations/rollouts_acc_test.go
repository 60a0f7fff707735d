// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package workloadtolerations_test

import (
	"fmt"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
)

const (
	// rolloutPath is where the tolerations of a Rollout stand.
	rolloutPath = "spec.template.spec.tolerations"
	// promoted is what the command to promote a Rollout writes into its status.
	promoted = `{"status":{"pauseConditions":null}}`
)

// openArgo opens a shop on a cluster with the real controller of Argo's Rollouts.
func openArgo(t *testing.T, c *acctest.Cluster) *shop {
	t.Helper()
	s := openShopOn(t, c)
	s.tf = &acctest.Terraform{Provider: c.ProviderAt(t, c.REST.Host, c.TokenAnd(t, rbacv1.PolicyRule{
		APIGroups: []string{"argoproj.io"}, Resources: []string{"rollouts"}, Verbs: []string{"get", "list", "patch"},
	}))}
	return s
}

// rolloutOf makes a Rollout and waits until its first rollout has finished.
func (s *shop) rolloutOf(name string, strategy map[string]any) acctest.Thing {
	s.t.Helper()
	thing := s.custom(acctest.Thing{APIVersion: "argoproj.io/v1alpha1", Kind: "Rollout", Namespace: s.namespace, Name: name}, map[string]any{
		"replicas": 3, "selector": map[string]any{"matchLabels": map[string]any{"app": name}}, "template": s.template(name, ""), "strategy": strategy,
	})
	s.c.Running(s.t, s.namespace, name, 3)
	s.phase(thing, "Healthy")
	return thing
}

// phase waits until the controller says this of the newest form of a Rollout.
func (s *shop) phase(thing acctest.Thing, want string) {
	s.t.Helper()
	s.until("the Rollout is "+want, func() bool {
		object := s.c.Look(s.t, thing)
		phase, _, _ := unstructured.NestedString(object.Object, "status", "phase")
		observed, _, _ := unstructured.NestedString(object.Object, "status", "observedGeneration")
		return phase == want && observed == fmt.Sprint(object.GetGeneration())
	})
}

// manageRollout is the configuration of a Rollout's tolerations.
func (s *shop) manageRollout(thing acctest.Thing, tolerations string, timeouts map[string]any) map[string]any {
	s.t.Helper()
	more := map[string]any{"path": rolloutPath}
	if timeouts != nil {
		more["timeouts"] = timeouts
	}
	return s.manage(thing, tolerations, more)
}

func canary(steps ...any) map[string]any {
	return map[string]any{"canary": map[string]any{"steps": steps}}
}

// TestAccWorkloadTolerations_theRealControllerOfRollouts runs Argo's own controller.
func TestAccWorkloadTolerations_theRealControllerOfRollouts(t *testing.T) {
	t.Parallel()
	c := acctest.ArgoRollouts(t)
	short := map[string]any{"create": "15s", "update": "15s"}
	for name, test := range map[string]func(s *shop){
		"pods are counted at plan, and waited for": func(s *shop) {
			web := s.rolloutOf("web", canary())
			s.wantFollowed(web)
		},
		"a linked taint evicts none of its pods": (*shop).wantNoEvictions,
		"a canary with a pause that ends is waited for": func(s *shop) {
			web := s.rolloutOf("web", canary(map[string]any{"setWeight": 34}, map[string]any{"pause": map[string]any{"duration": "3s"}}))
			s.wantFollowed(web)
		},
		"a canary that pauses without an end is said": func(s *shop) {
			web := s.rolloutOf("web", canary(map[string]any{"setWeight": 34}, map[string]any{"pause": map[string]any{}}))
			promote := "kubectl argo rollouts promote web -n " + s.namespace
			config := s.manageRollout(web, "team=a:NoExecute", short)
			s.warned(config, "stops before its end: step 2 of 2 of its canary is a pause without a duration", promote)
			i := s.fresh()
			says(s.t, "error", s.tf.Apply(s.t, i, config).Errors(), "the rollout did not finish in time", "2 pods still without the tolerations", "is stuck: it is paused (CanaryPauseStep)", promote)
			// The template is written: what stands still is the present rollout.
			s.warned(config, "stops before its end: it is paused (CanaryPauseStep)", promote)
			done := make(chan acctest.Diagnostics, 1)
			go func() { done <- s.tf.Apply(s.t, i, s.manageRollout(web, "team=a:NoExecute", nil)) }()
			s.c.ChangeStatus(s.t, web, promoted)
			if d := <-done; d.Errors() != "" {
				s.t.Fatal(d.Errors())
			}
			s.wantPods("web", 3, "team=a:NoExecute", "Rollout")
			s.quiet(i, s.manageRollout(web, "team=a:NoExecute", nil))
		},
		"a canary that was aborted is said": func(s *shop) {
			web := s.rolloutOf("web", canary(map[string]any{"setWeight": 34}, map[string]any{"pause": map[string]any{}}))
			config := s.manageRollout(web, "team=a:NoExecute", map[string]any{"create": "30s"})
			done := make(chan acctest.Diagnostics, 1)
			go func() { done <- s.tf.Apply(s.t, s.fresh(), config) }()
			s.phase(web, "Paused")
			s.c.ChangeStatus(s.t, web, `{"status":{"abort":true}}`)
			s.phase(web, "Degraded")
			says(s.t, "error", (<-done).Errors(), "is stuck: it was aborted", "kubectl argo rollouts retry rollout web -n "+s.namespace)
			s.warned(config, "stops before its end: it was aborted", "kubectl argo rollouts retry rollout web -n "+s.namespace)
		},
		"a blue-green rollout that waits to be promoted is said": func(s *shop) {
			// Services whose selectors the controller changes.
			for _, name := range []string{"active", "preview"} {
				s.c.Make(s.t, acctest.Thing{APIVersion: "v1", Kind: "Service", Namespace: s.namespace, Name: name},
					map[string]any{"spec": map[string]any{"selector": map[string]any{"app": "web"}, "ports": []any{map[string]any{"port": 80}}}})
			}
			web := s.rolloutOf("web", map[string]any{"blueGreen": map[string]any{"activeService": "active", "previewService": "preview", "autoPromotionEnabled": false, "scaleDownDelaySeconds": 1}})
			config := s.manageRollout(web, "team=a:NoExecute", nil)
			s.warned(config, "stops before its end: its blue-green strategy has autoPromotionEnabled = false", "kubectl argo rollouts promote web -n "+s.namespace)
			i, done := s.fresh(), make(chan acctest.Diagnostics, 1)
			go func() { done <- s.tf.Apply(s.t, i, config) }()
			s.phase(web, "Paused")
			s.c.ChangeStatus(s.t, web, promoted)
			if d := <-done; d.Errors() != "" {
				s.t.Fatal(d.Errors())
			}
			s.wantPods("web", 3, "team=a:NoExecute", "Rollout")
			s.quiet(i, config)
		},
		"one that a user has paused is refused": func(s *shop) {
			web := s.rolloutOf("web", canary())
			s.c.Change(s.t, web, "somebody", `{"spec":{"paused":true}}`)
			config := s.manageRollout(web, "team=a:NoExecute", nil)
			s.refused(s.fresh(), config, "its pods would not be replaced", "it is paused", "3 pods would stay without them", "kubectl argo rollouts promote web -n "+s.namespace)
			// As it is: the real controller makes no pod of a new template.
			i := s.fresh()
			noWait := acctest.With(config, map[string]any{"wait_for_rollout": false})
			if d := s.tf.Apply(s.t, i, noWait); d.Errors() != "" {
				s.t.Fatal(d.Errors())
			}
			s.phase(web, "Paused")
			for _, p := range s.live("web") {
				if tolerates(p, "team") {
					s.t.Errorf("%s is of the new template", p.Name)
				}
			}
			s.c.Change(s.t, web, "somebody", `{"spec":{"paused":false}}`)
			s.apply(i, config)
			s.wantPods("web", 3, "team=a:NoExecute", "Rollout")
		},
		"one without a template of its own is an error": func(s *shop) {
			base := s.make("Deployment", "base", 1, "", nil)
			web := s.custom(acctest.Thing{APIVersion: "argoproj.io/v1alpha1", Kind: "Rollout", Namespace: s.namespace, Name: "web"}, map[string]any{
				"replicas": 2, "selector": map[string]any{"matchLabels": map[string]any{"app": "base"}}, "strategy": canary(),
				"workloadRef": map[string]any{"apiVersion": "apps/v1", "kind": "Deployment", "name": "base", "scaleDown": "onsuccess"},
			})
			s.phase(web, "Healthy")
			s.refused(s.fresh(), s.manageRollout(web, "team=a:NoExecute", nil), "Rollout has no pod template of its own", `Deployment "base"`, "no taint waits for them: apply the tolerations first")
			// The way out is one: the controller adopts them.
			s.until("the pods are the Rollout's alone", func() bool { return len(s.live("base")) == 2 })
			i := s.fresh()
			s.apply(i, s.manage(base, "team=a:NoExecute", nil))
			s.until("the Rollout's pods follow", func() bool {
				pods := s.live("base")
				return len(pods) == 2 && tolerates(pods[0], "team") && tolerates(pods[1], "team")
			})
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(openArgo(t, c))
		})
	}
}

// wantFollowed applies tolerations to a Rollout and expects that its plan counts its pods, and
// that apply ends once the real controller has replaced them.
func (s *shop) wantFollowed(web acctest.Thing) {
	s.t.Helper()
	i, config := s.fresh(), s.manageRollout(web, "team=a:NoExecute", nil)
	s.warned(config, "restarts 3 pods")
	if warnings := s.planned(i, config).Diagnostics.Warnings(); strings.Contains(warnings, "are not known") || strings.Contains(warnings, "stops before its end") {
		s.t.Fatalf("the plan says: %s", warnings)
	}
	s.apply(i, config)
	s.wantPods("web", 3, "team=a:NoExecute", "Rollout")
	if d := s.destroy(i); d.Errors() != "" {
		s.t.Fatal(d.Errors())
	}
	if left := s.standing(web, strings.Split(rolloutPath, ".")); len(left) > 0 {
		s.t.Errorf("it is left with %s", formatted(left))
	}
}

// wantNoEvictions changes a taint that is linked to the tolerations of a Rollout, and watches
// whom the real taint-eviction controller deletes.
func (s *shop) wantNoEvictions() {
	s.t.Helper()
	t, c := s.t, s.c
	web := s.rolloutOf("web", canary(map[string]any{"setWeight": 34}, map[string]any{"pause": map[string]any{"duration": "3s"}}))
	evicted := c.Evictions(t, s.namespace)
	cli := acctest.NewCLI(t)
	for _, value := range []string{"a", "b"} {
		cli.Write(s.tf.Provider, fmt.Sprintf(`
resource "kubetaint_workload_tolerations" "web" {
  workload    = { api_version = "argoproj.io/v1alpha1", kind = "Rollout", namespace = %[1]q, name = "web" }
  path        = %[2]q
  tolerations = [{ key = "team", value = %[3]q, effect = "NoExecute" }]
}
resource "kubetaint_node_taints" "pool" {
  node_selector = "shop=%[4]s"
  taints        = [{ key = "team", value = %[3]q, effect = "NoExecute" }]
  tolerated_by  = [kubetaint_workload_tolerations.web.id]
}
`, s.namespace, rolloutPath, value, s.pool))
		for _, w := range cli.PlanWarnings() {
			if strings.Contains(w.Summary, "evict") {
				t.Errorf("the plan says: %s", w.Summary)
			}
		}
		cli.MustRun("apply", "-auto-approve", "-input=false")
		s.wantPods("web", 3, "team="+value+":NoExecute", "Rollout")
		if got := c.Taints(t, s.pool); got != "team="+value+":NoExecute" {
			t.Errorf("the node has %s", got)
		}
		cli.WantEmptyPlan()
		s.phase(web, "Healthy")
	}
	if names := evicted(); len(names) > 0 {
		t.Fatalf("the taint-eviction controller deleted %v", names)
	}
	cli.Write(s.tf.Provider, "")
	cli.MustRun("apply", "-auto-approve", "-input=false")
}
