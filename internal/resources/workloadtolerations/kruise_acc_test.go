// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package workloadtolerations_test

import (
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
)

// openKruise opens a shop on a cluster with the real controllers of OpenKruise.
func openKruise(t *testing.T, c *acctest.Cluster) *shop {
	t.Helper()
	s := openShopOn(t, c)
	s.tf = &acctest.Terraform{Provider: c.ProviderAt(t, c.REST.Host, c.TokenAnd(t, rbacv1.PolicyRule{
		APIGroups: []string{"apps.kruise.io"}, Resources: []string{"clonesets", "daemonsets"}, Verbs: []string{"get", "list", "patch"},
	}))}
	return s
}

// cloneSet makes a CloneSet of three pods, with what OpenKruise's webhook fills in.
func (s *shop) cloneSet(strategy map[string]any) acctest.Thing {
	s.t.Helper()
	thing := s.custom(acctest.Thing{APIVersion: "apps.kruise.io/v1alpha1", Kind: "CloneSet", Namespace: s.namespace, Name: "web"}, map[string]any{
		"replicas": 3, "revisionHistoryLimit": 10, "selector": map[string]any{"matchLabels": map[string]any{"app": "web"}}, "template": s.template("web", ""),
		"updateStrategy": acctest.With(map[string]any{"type": "ReCreate", "partition": 0, "maxUnavailable": "20%", "maxSurge": 0}, strategy),
	})
	s.c.Running(s.t, s.namespace, "web", 3)
	return thing
}

// daemonSet makes a DaemonSet of OpenKruise of one pod.
func (s *shop) daemonSet() acctest.Thing {
	s.t.Helper()
	thing := s.custom(acctest.Thing{APIVersion: "apps.kruise.io/v1beta1", Kind: "DaemonSet", Namespace: s.namespace, Name: "agent"}, map[string]any{
		"selector": map[string]any{"matchLabels": map[string]any{"app": "agent"}}, "template": s.template("agent", ""), "burstReplicas": 250, "revisionHistoryLimit": 10,
		"updateStrategy": map[string]any{"type": "RollingUpdate", "rollingUpdate": map[string]any{"rollingUpdateType": "Standard", "partition": 0, "maxUnavailable": 1, "maxSurge": 0}},
	})
	s.c.Running(s.t, s.namespace, "agent", 1)
	return thing
}

// loses deletes a pod that is not created again, so that so many are left.
func (s *shop) loses(app string, left int) {
	s.t.Helper()
	pods := s.c.Admin.CoreV1().Pods(s.namespace)
	if err := pods.Delete(s.t.Context(), s.live(app)[0].Name, metav1.DeleteOptions{GracePeriodSeconds: new(int64(0))}); err != nil {
		s.t.Fatal(err)
	}
	s.until("a pod is missing", func() bool { return len(s.live(app)) == left })
}

// taintsInTime expects that an apply taints the node, and another one takes the taint back.
func (s *shop) taintsInTime(taints *acctest.Instance, config map[string]any) {
	s.t.Helper()
	before := s.c.Taints(s.t, s.pool)
	if d := s.tf.Apply(s.t, taints, config); d.Errors() != "" {
		s.t.Fatal(d.Errors())
	}
	if got := s.c.Taints(s.t, s.pool); before != "" || got != "team=a:NoExecute" {
		s.t.Errorf("the node has the taints %q, and had %q", got, before)
	}
	if d := s.tf.Apply(s.t, taints, nil); d.Errors() != "" {
		s.t.Fatal(d.Errors())
	}
}

// manageByPath is the configuration of the tolerations of an object of a custom kind, whose
// name may be that of a known one.
func (s *shop) manageByPath(thing acctest.Thing, tolerations string) map[string]any {
	s.t.Helper()
	return s.manage(thing, tolerations, map[string]any{
		"path":     rolloutPath,
		"workload": map[string]any{"api_version": thing.APIVersion, "kind": thing.Kind, "namespace": thing.Namespace, "name": thing.Name},
	})
}

// TestAccWorkloadTolerations_theRealControllersOfOpenKruise runs OpenKruise's own controllers.
func TestAccWorkloadTolerations_theRealControllersOfOpenKruise(t *testing.T) {
	t.Parallel()
	c := acctest.Kruise(t)
	for name, test := range map[string]func(s *shop){
		"pods of a CloneSet are counted at plan, and waited for": func(s *shop) {
			web := s.cloneSet(nil)
			i, config := s.fresh(), s.manageByPath(web, "team=a:NoExecute")
			s.warned(config, "restarts 3 pods")
			s.apply(i, config)
			s.wantPods("web", 3, "team=a:NoExecute", "CloneSet")
		},
		"pods of its DaemonSet are counted at plan, and waited for": func(s *shop) {
			agent := s.daemonSet()
			i, config := s.fresh(), s.manageByPath(agent, "team=a:NoExecute")
			s.warned(config, "restarts 1 pod")
			s.apply(i, config)
			s.wantPods("agent", 1, "team=a:NoExecute", "DaemonSet")
		},
		"a missing pod of a CloneSet holds up no taint, unless it may be of an older template": func(s *shop) {
			web := s.cloneSet(nil)
			i := s.fresh()
			s.apply(i, s.manageByPath(web, "team=a:NoExecute"))
			s.wantPods("web", 3, "team=a:NoExecute", "CloneSet")
			// Two pods of the older revision stay, which tolerate the taint as well.
			s.c.Change(s.t, web, "somebody", `{"spec":{"updateStrategy":{"partition":2},"template":{"metadata":{"annotations":{"changed":"yes"}}}}}`)
			s.until("a pod is of the newest revision", func() bool {
				updated, _, _ := unstructured.NestedInt64(s.c.Look(s.t, web).Object, "status", "updatedReadyReplicas")
				return updated == 1
			})
			s.c.ForbidPods(s.t, s.namespace)
			s.loses("web", 2)
			taints, config := &acctest.Instance{Type: "kubetaint_node_taints"}, map[string]any{
				"node_name": s.pool, "taints": acctest.Objects(s.t, "team=a:NoExecute"), "tolerated_by": []any{s.tf.Attributes(s.t, i)["id"]}, "timeouts": map[string]any{"create": "20s"},
			}
			says(s.t, "error", s.tf.Apply(s.t, taints, config).Errors(), "1 of 3 pods not created yet; a new pod may be created from an older template")
			if got := s.c.Taints(s.t, s.pool); got != "" {
				s.t.Errorf("the node has the taints %q", got)
			}
			s.c.Change(s.t, web, "somebody", `{"spec":{"updateStrategy":{"partition":0}}}`)
			s.c.Observed(s.t, web)
			s.taintsInTime(taints, config)
		},
		"a missing pod of its DaemonSet holds up no taint": func(s *shop) {
			agent := s.daemonSet()
			i := s.fresh()
			s.apply(i, s.manageByPath(agent, "team=a:NoExecute"))
			s.wantPods("agent", 1, "team=a:NoExecute", "DaemonSet")
			s.c.ForbidPods(s.t, s.namespace)
			s.loses("agent", 0)
			s.taintsInTime(&acctest.Instance{Type: "kubetaint_node_taints"}, map[string]any{
				"node_name": s.pool, "taints": acctest.Objects(s.t, "team=a:NoExecute"), "tolerated_by": []any{s.tf.Attributes(s.t, i)["id"]}, "timeouts": map[string]any{"create": "1m"},
			})
		},
		"a CloneSet with a partition is refused":         func(s *shop) { s.wantHeld(map[string]any{"partition": 2}, "partition 2", 1) },
		"a CloneSet that is paused is refused":           func(s *shop) { s.wantHeld(map[string]any{"paused": true}, "it is paused", 0) },
		"a CloneSet that updates in place is refused":    func(s *shop) { s.wantHeld(map[string]any{"type": "InPlaceOnly"}, "InPlaceOnly", 0) },
		"a CloneSet of strategy OnDelete is refused too": func(s *shop) { s.wantHeld(map[string]any{"type": "OnDelete"}, "OnDelete", 0) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(openKruise(t, c))
		})
	}
}

// wantHeld expects that a change of a CloneSet is refused for a reason, and that its real
// controller replaces so many pods and no more once the template has changed all the same.
func (s *shop) wantHeld(strategy map[string]any, why string, replaced int) {
	s.t.Helper()
	web := s.cloneSet(strategy)
	config := s.manageByPath(web, "team=a:NoExecute")
	s.refused(s.fresh(), config, "its pods would not be replaced", why)
	if d := s.tf.Apply(s.t, s.fresh(), acctest.With(config, map[string]any{"wait_for_rollout": false})); d.Errors() != "" {
		s.t.Fatal(d.Errors())
	}
	s.c.Observed(s.t, web)
	followed := func() (count int) {
		for _, p := range s.live("web") {
			if tolerates(p, "team") {
				count++
			}
		}
		return count
	}
	// It writes what it has seen after it has acted on that.
	if replaced > 0 {
		s.until("the controller has replaced pods", func() bool { return followed() == replaced })
		s.c.Running(s.t, s.namespace, "web", 3)
	}
	if got := followed(); got != replaced {
		s.t.Errorf("%d pods have followed, want %d", got, replaced)
	}
}
