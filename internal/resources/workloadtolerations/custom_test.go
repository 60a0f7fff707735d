// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package workloadtolerations_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
)

// widget makes an object of a custom kind.
func (s *shop) widget(name string, spec map[string]any) acctest.Thing {
	s.t.Helper()
	return s.c.Widget(s.t, s.namespace, name, spec)
}

// gadget makes an object of a custom kind without a namespace, named after the
// shop.
func (s *shop) gadget(spec map[string]any) acctest.Thing {
	s.t.Helper()
	return s.c.Gadget(s.t, s.namespace, spec)
}

// managesWidgets gives the provider the rights for objects of custom kinds.
func (s *shop) managesWidgets() {
	s.t.Helper()
	s.tf = &acctest.Terraform{Provider: s.c.WidgetProvider(s.t)}
}

func (s *shop) custom(thing acctest.Thing, spec map[string]any) acctest.Thing {
	s.t.Helper()
	s.c.Make(s.t, thing, map[string]any{"spec": spec})
	return thing
}

// Objects around the list that another writer has made stay, even if empty.
func TestWorkloadTolerations_objectsAroundTheListStayWhereOthersMadeThem(t *testing.T) {
	t.Parallel()
	for name, placement := range map[string]map[string]any{"empty": {}, "with something else": {"zone": "a"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inShop(t, func(t *testing.T, s *shop) {
				object := s.widget(acctest.Name(t, "widget"), map[string]any{"placement": placement})
				s.managesWidgets()
				before := s.c.Look(t, object).Object["spec"]
				i := s.fresh()
				s.apply(i, s.manage(object, "around=a:NoExecute", map[string]any{"path": acctest.WidgetPath}))
				s.destroy(i)
				if diff := cmp.Diff(before, s.c.Look(t, object).Object["spec"]); diff != "" {
					t.Fatalf("the object is not as it was: %s", diff)
				}
			})
		})
	}
	// Entries added beside the owned ones stay as well.
	inShop(t, func(t *testing.T, s *shop) {
		object := s.widget("beside", nil)
		s.managesWidgets()
		i := s.fresh()
		s.apply(i, s.manage(object, "around=a:NoExecute", map[string]any{"path": acctest.WidgetPath}))
		s.c.Change(t, object, "somebody", `{"spec":{"placement":{"zone":"b"}}}`)
		s.destroy(i)
		want := map[string]any{"size": int64(3), "placement": map[string]any{"zone": "b"}}
		if diff := cmp.Diff(any(want), s.c.Look(t, object).Object["spec"]); diff != "" {
			t.Fatalf("what another writer wrote is gone: %s", diff)
		}
	})
}

func TestWorkloadTolerations_podsThatCannotBeFoundAreSaid(t *testing.T) {
	t.Parallel()
	inShop(t, func(t *testing.T, s *shop) {
		object := s.widget("lonely", nil)
		s.managesWidgets()
		config := s.manage(object, "team=a:NoExecute", map[string]any{"path": acctest.WidgetPath})
		s.warned(config, `[AttributeName("wait_for_rollout")] The pods of Widget "`+s.namespace+`/lonely" are not known`, "names this object as its owner", "data.kubetaint_workloads")
		s.apply(s.fresh(), config)
		config["wait_for_rollout"] = false
		if got := s.planned(s.fresh(), config).Diagnostics.Warnings(); strings.Contains(got, "not known") {
			t.Fatalf("nothing waits, and the plan warns: %s", got)
		}
	})
}

// The pods of what a custom resource makes are waited for, and the plan says nothing of unknown ones:
// whatever the kind between, and whether the custom resource has a namespace.
func TestWorkloadTolerations_podsOfOwnersAreKnown(t *testing.T) {
	t.Parallel()
	for _, scope := range []string{"Widget", "Gadget"} {
		for _, kind := range []string{"Deployment", "StatefulSet", "ReplicaSet", "Job"} {
			t.Run(scope+" with a "+kind, func(t *testing.T) {
				t.Parallel()
				inShop(t, func(t *testing.T, s *shop) {
					var object acctest.Thing
					if scope == "Widget" {
						object = s.widget("owner", nil)
					} else {
						object = s.gadget(nil)
					}
					s.c.SetOwner(t, s.make(kind, "web", 1, "", nil), s.c.Look(t, object))
					s.managesWidgets()
					config := s.manage(object, "team=a:NoExecute", map[string]any{"path": acctest.WidgetPath, "timeouts": map[string]any{"create": "25s"}})
					if got := s.planned(s.fresh(), config).Diagnostics.Warnings(); strings.Contains(got, "names this object as its owner") || strings.Contains(got, "are not known") {
						t.Errorf("the plan warns of unknown pods: %s", got)
					}
					// Nothing gives the pod the tolerations.
					says(t, "error", s.tf.Apply(t, s.fresh(), config).Errors(), "the rollout did not finish in time", "1 pod still without the tolerations: web-")
				})
			})
		}
	}
}

// Workloads whose pods are unknown may need an old entry while any node has its taint:
// it stays, and the plan after the taint has gone takes it away.
func TestWorkloadTolerations_whatUnknownPodsMayNeedStays(t *testing.T) {
	t.Parallel()
	inShop(t, func(t *testing.T, s *shop) {
		object, path := s.widget("lonely", nil), strings.Split(acctest.WidgetPath, ".")
		s.managesWidgets()
		tolerating := func(tolerations string) map[string]any {
			return s.manage(object, tolerations, map[string]any{"path": acctest.WidgetPath})
		}
		s.c.Patch(t, s.namespace, `{"spec":{"taints":[{"key":"lonely","value":"a","effect":"NoExecute"}]}}`)
		i := s.fresh()
		s.apply(i, tolerating("lonely=a:NoExecute"))
		says(t, "warning", s.apply(i, tolerating("lonely=b:NoExecute")).Warnings(), `Changing the tolerations of Widget "`+s.namespace+`/lonely" keeps 1 toleration for now`,
			"keeps lonely=a:NoExecute as long as any node has such a taint, because its pods are not known")
		if got := formatted(s.standing(object, path)); got != "lonely=a:NoExecute, lonely=b:NoExecute" {
			t.Fatalf("the object has %s", got)
		}
		s.quiet(i, tolerating("lonely=b:NoExecute"))
		s.c.Patch(t, s.namespace, `{"spec":{"taints":[]}}`)
		s.apply(i, tolerating("lonely=b:NoExecute"))
		if got := formatted(s.standing(object, path)); got != "lonely=b:NoExecute" {
			t.Fatalf("the taint has gone, and the object has %s", got)
		}
		s.quiet(i, tolerating("lonely=b:NoExecute"))
	})
}

// Without the rights for a custom kind the error names them.
func TestWorkloadTolerations_customKindWithoutRightsSaysSo(t *testing.T) {
	t.Parallel()
	inShop(t, func(t *testing.T, s *shop) {
		object := s.widget("secret", nil)
		got := s.tf.Plan(t, s.fresh(), s.manage(object, "team=a:NoExecute", map[string]any{"path": acctest.WidgetPath})).Diagnostics
		says(t, "diagnostic", got.Errors()+got.Warnings(), "no permission", "widgets", `guide "Permissions"`)
	})
}

// Between the end of the old and the beginning of the new pods of what an operator
// makes there is none that lacks anything: the wait must not end there, unless the operator has
// written the template that the new ones are created from.
func TestWorkloadTolerations_waitCoversOldAndNewPodsOfAnOperator(t *testing.T) {
	t.Parallel()
	for name, keepOff := range map[string]func(*testing.T, *shop, acctest.Thing) (allow func()){
		"a quota refuses new pods": func(t *testing.T, s *shop, _ acctest.Thing) func() {
			allow := s.c.ForbidPods(t, s.namespace)
			if err := s.c.Admin.CoreV1().Pods(s.namespace).Delete(t.Context(), s.live("operand")[0].Name, metav1.DeleteOptions{}); err != nil {
				t.Fatal(err)
			}
			return allow
		},
		"the old pod stays terminating": func(t *testing.T, s *shop, operand acctest.Thing) func() {
			pods, name := s.c.Admin.CoreV1().Pods(s.namespace), s.live("operand")[0].Name
			hold := func(finalizers string) {
				if _, err := pods.Patch(t.Context(), name, types.MergePatchType, []byte(`{"metadata":{"finalizers":`+finalizers+`}}`), metav1.PatchOptions{}); err != nil {
					t.Fatal(err)
				}
			}
			hold(`["example.com/held"]`)
			s.c.Change(t, operand, "operator", `{"spec":{"template":{"metadata":{"annotations":{"changed":"yes"}}}}}`)
			s.until("the old pod terminates", func() bool { return len(s.live("operand")) == 0 })
			return func() { hold("null") }
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inShop(t, func(t *testing.T, s *shop) {
				object := s.widget("widget", nil)
				operand := s.make("Deployment", "operand", 1, "", map[string]any{"strategy": map[string]any{"type": "Recreate"}})
				s.c.SetOwner(t, operand, s.c.Look(t, object))
				s.managesWidgets()
				operate := s.c.Operate(t, object, strings.Split(acctest.WidgetPath, "."), operand, s.pathOf("Deployment"))

				allow := keepOff(t, s, operand)
				config := s.manage(object, "team=a:NoExecute", map[string]any{"path": acctest.WidgetPath, "timeouts": map[string]any{"create": "25s"}})
				i := s.fresh()
				says(t, "error", s.tf.Apply(t, i, config).Errors(), "the rollout did not finish in time", "1 of 1 pods not created yet", "apply again: it continues")
				operate()
				s.apply(i, config)
				if pods := s.live("operand"); len(pods) > 0 {
					t.Fatalf("%d pods are there, none is allowed", len(pods))
				}
				allow()
				// After that many refusals its controller takes its time for the next try.
				s.wantPods("operand", 1, "team=a:NoExecute", "Deployment")
			})
		})
	}
}

// The first entry takes the place of what the operator uses by itself.
func TestWorkloadTolerations_operatorsOwnTolerationsThatGoAreSaid(t *testing.T) {
	t.Parallel()
	inShop(t, func(t *testing.T, s *shop) {
		o := operators["DNS"](s)
		says(t, "warning", s.planned(s.fresh(), s.manage(o.object, "team=a:NoExecute", nil)).Diagnostics.Warnings(),
			`[AttributeName("tolerations")] The first toleration of DNS "`+o.object.Name+`" replaces its operator's own: node-role.kubernetes.io/master`)
		if got := s.planned(s.fresh(), s.manage(o.object, "team=a:NoExecute node-role.kubernetes.io/master*", nil)).Diagnostics.Warnings(); strings.Contains(got, "operator's own") {
			t.Fatalf("the operator's own is among them, and the plan warns: %s", got)
		}
	})
}
