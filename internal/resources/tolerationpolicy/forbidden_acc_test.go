// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package tolerationpolicy_test

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/admission"
)

// allow limits what pods of the namespace may tolerate, beside what every pod gets.
func (s *stage) allow(key string) {
	s.t.Helper()
	list := `[{\"operator\":\"Exists\",\"key\":\"` + key + `\"}`
	for _, every := range []string{corev1.TaintNodeNotReady, corev1.TaintNodeUnreachable, corev1.TaintNodeMemoryPressure} {
		list += `,{\"operator\":\"Exists\",\"key\":\"` + every + `\"}`
	}
	patch := `{"metadata":{"annotations":{"` + admission.WhitelistAnnotation + `":"` + list + `]"}}}`
	if _, err := s.c.Admin.CoreV1().Namespaces().Patch(s.t.Context(), s.namespace, types.MergePatchType, []byte(patch), metav1.PatchOptions{}); err != nil {
		s.t.Fatal(err)
	}
}

// isWarnedOfNamespacesThatForbidIt: the plug-in checks pods after policies, and so refuses
// what the plan warns of.
func (s *stage) isWarnedOfNamespacesThatForbidIt() {
	name, node := acctest.Name(s.t, "policy"), acctest.Name(s.t, "node")
	s.allow("team")
	config := s.config(name, "team=a:NoSchedule spot*", nil)
	// The outcome is visible beforehand, and in the preview of a taint afterwards.
	s.c.Node(s.t, acctest.Node{Name: node, Labels: map[string]string{"pool": node}})
	s.c.Deployment(s.t, s.namespace, "web", 1, func(spec *corev1.PodSpec) {
		spec.NodeSelector = map[string]string{"pool": node}
		spec.Containers[0].Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1m")}
	})
	i := fresh()
	planned := s.tf.Plan(s.t, i, config)
	acctest.WantAll(s.t, planned.Diagnostics.Warnings(), `[AttributeName("tolerations")]`, `Policy "`+name+`" gives tolerations that 1 namespace does not allow`, s.namespace+" (spot Exists)", "PodTolerationRestriction is on: new pods there that match the policy are rejected")
	if planned.Diagnostics.Errors() != "" {
		s.t.Fatal(planned.Diagnostics.Errors())
	}
	s.t.Cleanup(func() { s.remove(name) })
	if d := s.tf.Apply(s.t, i, config); d.Errors() != "" {
		s.t.Fatal(d.Errors())
	}
	pod := func() error {
		_, err := s.c.Admin.CoreV1().Pods(s.namespace).Create(s.t.Context(), &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: acctest.Name(s.t, "try")},
			Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "registry.k8s.io/pause:3.10.2"}}},
		}, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		return err
	}
	s.becomes("pods", func() string {
		if err := pod(); err != nil {
			return err.Error()
		}
		return "made"
	}, "pod tolerations (possibly merged with namespace default tolerations) conflict with its namespace whitelist")
	preview, d := s.tf.Data(s.t, "kubetaint_eviction_preview", map[string]any{"node_name": node, "taints": []any{map[string]any{"key": "x", "effect": "NoExecute"}}})
	if d.Errors() != "" {
		s.t.Fatal(d.Errors())
	}
	markdown, _ := preview["markdown"].(string)
	acctest.WantAll(s.t, markdown, `not recreated: namespace "`+s.namespace+`" does not allow spot Exists`)

	// There is no warning of tolerations that the namespace allows.
	s.allow("spot")
	if said := s.tf.Plan(s.t, fresh(), s.config(acctest.Name(s.t, "other"), "spot*:NoSchedule", nil)).Diagnostics.Warnings(); strings.Contains(said, "allow") {
		s.t.Fatalf("it is warned of what is allowed: %s", said)
	}
}

// TestAccTolerationPolicy_namespacesForbidNothingWithoutThePlugIn: a plan says nothing of
// what is not enforced, and what it does not know where it may not try a pod.
func TestAccTolerationPolicy_namespacesForbidNothingWithoutThePlugIn(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.allow("team")
	config := s.config(acctest.Name(t, "policy"), "spot*", nil)
	if said := s.tf.Plan(t, fresh(), config).Diagnostics.Warnings(); said != "" {
		t.Fatalf("the plan warns: %s", said)
	}
	blind := &acctest.Terraform{Provider: acctest.With(s.c.Provider(t), map[string]any{"token": s.c.TokenWith(t, acctest.Without(s.c.Rights(t), "pods", "create")...)})}
	acctest.WantAll(s.t, blind.Plan(t, fresh(), config).Diagnostics.Warnings(), "1 namespace does not allow", "Where the admission plug-in PodTolerationRestriction is on, as it is in OpenShift")
}
