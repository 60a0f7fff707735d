// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package tolerationpolicy_test

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
)

func TestAccTolerationPolicy_lifecycle(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	name, i := acctest.Name(t, "policy"), fresh()
	// A taint of another test's node would have the first one retire.
	first := "team=" + name + ":NoSchedule"
	s.apply(i, s.config(name, first, nil))
	s.becomes("tolerations", s.given, first)
	made := s.policy(name)
	for key, want := range map[string]string{"app.kubernetes.io/managed-by": "terraform-provider-kubetaint", "app.kubernetes.io/component": "toleration-policy"} {
		s.want("label "+key+" of the policy", made.Labels[key], want)
		s.want("label "+key+" of the binding", s.binding(name).Labels[key], want)
	}
	// Changes by other writers stay.
	s.patchPolicy(name, `{"metadata":{"labels":{"theirs":"1"},"annotations":{"theirs":"1"}}}`)
	s.apply(i, s.config(name, "team=b:NoExecute@5", map[string]any{"failure_policy": "Fail", "pin": map[string]any{"pool": "b"}}))
	s.becomes("tolerations after the update", s.given, "team=b:NoExecute for 5s")
	s.want("affinity after the update", affinity(s.try(nil)), "pool In b")
	if now := s.policy(name); now.UID != made.UID || now.Labels["theirs"] != "1" || now.Annotations["theirs"] != "1" {
		t.Fatalf("the policy was not changed in place: %v", now.ObjectMeta)
	}
	s.tf.Destroy(s.t, i)
	s.gone(name)
	s.becomes("tolerations after the destroy", s.given, "")
}

func TestAccTolerationPolicy_driftIsMended(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		spoil func(*stage, string)
		want  map[string]any
	}{
		"the policy was changed": {func(s *stage, name string) {
			s.patchPolicy(name, `{"spec":{"failurePolicy":"Fail","reinvocationPolicy":"Never"}}`)
		}, map[string]any{"MutatingAdmissionPolicy": "different"}},
		"a label was taken off": {func(s *stage, name string) {
			s.patchPolicy(name, `{"metadata":{"labels":{"app.kubernetes.io/managed-by":null}}}`)
		}, map[string]any{"MutatingAdmissionPolicy": "different"}},
		"the binding is gone": {func(s *stage, name string) {
			if err := s.c.Admin.AdmissionregistrationV1().MutatingAdmissionPolicyBindings().Delete(s.t.Context(), name, metav1.DeleteOptions{}); err != nil {
				s.t.Fatal(err)
			}
		}, map[string]any{"MutatingAdmissionPolicyBinding": "missing"}},
		"the policy is gone, and its binding is not": {func(s *stage, name string) {
			if err := s.c.Admin.AdmissionregistrationV1().MutatingAdmissionPolicies().Delete(s.t.Context(), name, metav1.DeleteOptions{}); err != nil {
				s.t.Fatal(err)
			}
		}, map[string]any{"MutatingAdmissionPolicy": "missing"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
			name, i := acctest.Name(t, "policy"), fresh()
			config := s.config(name, "team=a:NoSchedule", nil)
			s.apply(i, config)
			tt.spoil(s, name)
			walk := s.tf.Walk(t)
			if d := walk.Refresh(i); d.Errors() != "" {
				t.Fatal(d.Errors())
			}
			for kind, want := range tt.want {
				objects, _ := s.tf.Attributes(t, i)["objects"].(map[string]any)
				if objects[kind] != want {
					t.Fatalf("objects are %v, want %v", objects, tt.want)
				}
			}
			s.apply(i, config)
			s.becomes("tolerations", s.given, "team=a:NoSchedule")
		})
	}
	t.Run("both are gone", func(t *testing.T) {
		t.Parallel()
		s := newStage(t)
		name, i := acctest.Name(t, "policy"), fresh()
		s.apply(i, s.config(name, "team=a:NoSchedule", nil))
		s.remove(name)
		if d := s.tf.Walk(t).Refresh(i); d.Errors() != "" || i.Exists() {
			t.Fatalf("the state keeps a policy that is gone: %s", d.Errors())
		}
	})
}

// TestAccTolerationPolicy_createBeforeDestroy: the old object leaves alone what the new one
// has adopted.
func TestAccTolerationPolicy_createBeforeDestroy(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	name, older, newer := acctest.Name(t, "policy"), fresh(), fresh()
	config := s.config(name, "team=a:NoSchedule", nil)
	s.apply(older, config)
	acctest.WantAll(s.t, s.apply(newer, config).Warnings(), `Creating adopts toleration policy "`+name+`"`)
	s.tf.Destroy(s.t, older)
	s.becomes("tolerations", s.given, "team=a:NoSchedule")
	s.tf.Destroy(s.t, newer)
	s.gone(name)
}

// TestAccTolerationPolicy_whatRetiresGoesWithTheTaint: in one run the policy comes to give
// something else and the node gets another taint. Pods are given both meanwhile, and the
// apply of the taint takes out what nothing needs any more.
func TestAccTolerationPolicy_whatRetiresGoesWithTheTaint(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	name, node, policy, taints := acctest.Name(t, "policy"), acctest.Name(t, "node"), fresh(), &acctest.Instance{Type: "kubetaint_node_taints"}
	s.c.Node(t, acctest.Node{Name: node})
	// Taints of other tests' nodes would have it stay as well.
	older, newer := "team=old-"+node+":NoSchedule", "team=new-"+node+":NoSchedule"
	tainted := func(taint string) map[string]any {
		return map[string]any{"node_name": node, "taints": acctest.Objects(t, taint)}
	}
	s.apply(policy, s.config(name, older, nil))
	if d := s.tf.Apply(t, taints, tainted(older)); d.Errors() != "" {
		t.Fatal(d.Errors())
	}
	walk := s.tf.Walk(t)
	plannedPolicy, plannedTaints := walk.Plan(policy, s.config(name, newer, nil)), walk.Plan(taints, tainted(newer))
	if d := plannedPolicy.Diagnostics.Errors() + plannedTaints.Diagnostics.Errors(); d != "" {
		t.Fatal(d)
	}
	if d := s.tf.Carry(t, policy, plannedPolicy, s.config(name, newer, nil)); d.Errors() != "" {
		t.Fatal(d.Errors())
	}
	s.becomes("tolerations between", s.given, newer+", "+older)
	if d := s.tf.Carry(t, taints, plannedTaints, tainted(newer)); len(d) > 0 {
		t.Fatalf("%s%s", d.Errors(), d.Warnings())
	}
	s.becomes("tolerations after", s.given, newer)
	if again := s.tf.Plan(t, policy, s.config(name, newer, nil)); !again.Empty || len(again.Diagnostics) > 0 {
		t.Fatalf("a plan right after is not empty or not silent: %s%s", again.Diagnostics.Errors(), again.Diagnostics.Warnings())
	}
	s.tf.Destroy(s.t, policy)
}
