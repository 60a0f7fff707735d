// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package workloadtolerations_test

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
)

// TestOrder_customObjectsGiveUpWhatRetiresInALaterRun does the same with a kind that
// is unknown: it is found where the rights of the credentials name it, with or without
// a namespace, by an apply that knows nothing of the object.
func TestOrder_customObjectsGiveUpWhatRetiresInALaterRun(t *testing.T) {
	t.Parallel()
	inShop(t, func(t *testing.T, s *shop) {
		s.managesWidgets()
		path := strings.Split(acctest.WidgetPath, ".")
		objects := []acctest.Thing{s.widget("lonely", nil), s.gadget(nil)}
		taints := &acctest.Instance{Type: "kubetaint_node_taints"}
		config := map[string]any{"node_name": s.pool, "taints": acctest.Objects(t, "team=a:NoExecute")}
		for _, object := range objects {
			tolerations := s.fresh()
			s.apply(tolerations, s.manage(object, "team=a:NoExecute", map[string]any{"path": acctest.WidgetPath}))
			if !taints.Exists() {
				if d := s.tf.Apply(t, taints, config); d.Errors() != "" {
					t.Fatal(d.Errors())
				}
			}
			s.together(tolerations, taints)
			says(t, "warning", s.destroy(tolerations).Warnings(), "stays for now: team=a:NoExecute", "The apply of a kubetaint resource of the same configuration that removes taints of the same key removes it too.")
			if got := formatted(s.standing(object, path)); got != "team=a:NoExecute" {
				t.Fatalf("%s has %s", object.Kind, got)
			}
		}

		s.managesWidgets()
		if d := s.tf.Apply(t, taints, nil); d.Errors() != "" {
			t.Fatal(d.Errors())
		}
		for _, object := range objects {
			if got, record := s.standing(object, path), s.record(object); len(got)+len(record) > 0 {
				t.Fatalf("the taint is gone, and %s has %s and the record %v", object.Kind, formatted(got), record)
			}
		}
	})
}

// Rights to everything name no kind: what retires in an object of a custom kind is not
// looked for with them, and the destroy reports what becomes of it.
func TestWorkloadTolerations_customObjectsThatNoRightsNameKeepWhatRetires(t *testing.T) {
	t.Parallel()
	inShop(t, func(t *testing.T, s *shop) {
		object := s.widget("lonely", nil)
		s.tf = &acctest.Terraform{Provider: s.c.ProviderAt(t, s.c.REST.Host, s.c.TokenWith(t, rbacv1.PolicyRule{APIGroups: []string{"*"}, Resources: []string{"*"}, Verbs: []string{"*"}}))}
		s.c.Patch(t, s.pool, `{"spec":{"taints":[{"key":"custom","value":"a","effect":"NoExecute"}]}}`)
		manage := func(tolerations string) map[string]any {
			return s.manage(object, tolerations, map[string]any{"path": acctest.WidgetPath})
		}
		i := s.fresh()
		s.apply(i, manage("custom=a:NoExecute"))
		says(t, "warning", s.destroy(i).Warnings(), "stays for now: custom=a:NoExecute", "No apply looks for it there",
			"the credentials have no permission for this kind", "remove the entry by hand")

		s.c.Patch(t, s.pool, `{"spec":{"taints":[]}}`)
		standing := func() string { return formatted(s.standing(object, strings.Split(acctest.WidgetPath, "."))) }
		other := s.fresh()
		s.apply(other, manage("other=a:NoExecute"))
		if got := standing(); got != "custom=a:NoExecute, other=a:NoExecute" {
			t.Fatalf("a resource for other tolerations takes none away: the object has %s", got)
		}
		s.destroy(other)
		again := s.fresh()
		s.apply(again, manage("custom=a:NoExecute"))
		s.destroy(again)
		if got := standing(); got != "" {
			t.Fatalf("managed again and destroyed, it goes: the object has %s", got)
		}
	})
}

// TestOrder_operatorsObjectsGiveUpWhatRetiresInALaterRun leaves a toleration of an
// IngressController retiring, for good since its resource is gone, and takes the taint
// away in another run: on OpenShift it is found there, and its restart announced. It
// does not run beside other tests, which would ask for OpenShift's objects as well.
func TestOrder_operatorsObjectsGiveUpWhatRetiresInALaterRun(t *testing.T) {
	t.Parallel()
	inShop(t, func(t *testing.T, s *shop) {
		s.onOpenShift()
		o := operators["IngressController"](s)
		path := s.pathOf("IngressController")
		s.c.Operate(t, o.object, path, o.operand, s.pathOf(o.operand.Kind))()
		tolerations := s.fresh()
		s.apply(tolerations, s.manage(o.object, "team=a:NoExecute", nil))

		taints := &acctest.Instance{Type: "kubetaint_node_taints"}
		config := map[string]any{"node_name": s.pool, "taints": acctest.Objects(t, "team=a:NoExecute")}
		if d := s.tf.Apply(t, taints, config); d.Errors() != "" {
			t.Fatal(d.Errors())
		}
		s.together(tolerations, taints)
		says(t, "warning", s.destroy(tolerations).Warnings(), "stays for now: team=a:NoExecute", "The apply of a kubetaint resource of the same configuration that removes taints of the same key removes it too.")
		if got := formatted(s.standing(o.object, path)); got != "team=a:NoExecute" {
			t.Fatalf("the object has %s", got)
		}

		// As many runs later as there may be.
		s.tf = &acctest.Terraform{Provider: s.c.Provider(t)}
		planned := s.tf.Plan(t, taints, nil)
		says(t, "warning", planned.Diagnostics.Warnings(), `restarts 2 pods of IngressController "`+s.namespace+`/`+o.object.Name+`" in 1 rollout`)
		if d := s.tf.Carry(t, taints, planned, nil); d.Errors() != "" {
			t.Fatal(d.Errors())
		}
		if got, record := s.standing(o.object, path), s.record(o.object); len(got)+len(record) > 0 {
			t.Fatalf("the taint is gone, and the object has %s and the record %v", formatted(got), record)
		}
	})
}

// onOpenShift makes the cluster one of OpenShift's, by the label of a node and a Deployment of an operator.
func (s *shop) onOpenShift() {
	s.t.Helper()
	s.c.Patch(s.t, s.pool, `{"metadata":{"labels":{"node.openshift.io/os_id":"rhcos"}}}`)
	const namespace = "openshift-ingress-operator"
	if _, err := s.c.Admin.CoreV1().Namespaces().Create(s.t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}, metav1.CreateOptions{}); err != nil {
		s.t.Fatal(err)
	}
	s.c.Deployment(s.t, namespace, "ingress-operator", 0, nil)
}
