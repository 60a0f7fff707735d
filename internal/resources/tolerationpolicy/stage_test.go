// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package tolerationpolicy_test

import (
	"context"
	"strings"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
)

// stage is a namespace, and policies for pods in it.
type stage struct {
	t         *testing.T
	c         *acctest.Cluster
	tf        *acctest.Terraform
	namespace string
}

func newStage(t *testing.T) *stage {
	t.Helper()
	return stageOn(t, acctest.Connect(t))
}

func stageOn(t *testing.T, c *acctest.Cluster) *stage {
	t.Helper()
	return &stage{t: t, c: c, tf: &acctest.Terraform{Provider: c.Provider(t)}, namespace: c.Namespace(t)}
}

// onFake runs a test on an in-memory API server, where no policy gives anything. See
// acctest.OnFake.
func onFake(t *testing.T, test func(t *testing.T, s *stage)) {
	t.Helper()
	acctest.OnFake(t, func(t *testing.T, c *acctest.Cluster) { test(t, stageOn(t, c)) })
}

// on is the same stage for a subtest.
func (s *stage) on(t *testing.T) *stage {
	t.Helper()
	out := *s
	out.t = t
	return &out
}

func fresh() *acctest.Instance { return &acctest.Instance{Type: "kubetaint_toleration_policy"} }

// config is a policy for the pods of the namespace.
func (s *stage) config(name, tolerations string, more map[string]any) map[string]any {
	s.t.Helper()
	return acctest.With(map[string]any{
		"name": name, "match": map[string]any{"namespaces": []any{s.namespace}}, "tolerations": acctest.TolerationObjects(s.t, tolerations),
	}, more)
}

// apply applies a configuration and then expects that a plan is empty. Whatever ends the
// test, the policy is taken away.
func (s *stage) apply(i *acctest.Instance, config map[string]any) acctest.Diagnostics {
	s.t.Helper()
	if !i.Exists() {
		name, _ := config["name"].(string)
		s.t.Cleanup(func() { s.remove(name) })
	}
	return s.tf.Settle(s.t, i, config)
}

func (s *stage) remove(name string) {
	ctx, all := context.Background(), s.c.Admin.AdmissionregistrationV1()
	_ = all.MutatingAdmissionPolicyBindings().Delete(ctx, name, metav1.DeleteOptions{})
	_ = all.MutatingAdmissionPolicies().Delete(ctx, name, metav1.DeleteOptions{})
}

func (s *stage) policy(name string) *admissionregistrationv1.MutatingAdmissionPolicy {
	s.t.Helper()
	p, err := s.c.Admin.AdmissionregistrationV1().MutatingAdmissionPolicies().Get(s.t.Context(), name, metav1.GetOptions{})
	if err != nil {
		s.t.Fatal(err)
	}
	return p
}

func (s *stage) binding(name string) *admissionregistrationv1.MutatingAdmissionPolicyBinding {
	s.t.Helper()
	b, err := s.c.Admin.AdmissionregistrationV1().MutatingAdmissionPolicyBindings().Get(s.t.Context(), name, metav1.GetOptions{})
	if err != nil {
		s.t.Fatal(err)
	}
	return b
}

// gone expects that neither the policy nor its binding is there.
func (s *stage) gone(name string) {
	s.t.Helper()
	all := s.c.Admin.AdmissionregistrationV1()
	if _, err := all.MutatingAdmissionPolicies().Get(s.t.Context(), name, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		s.t.Fatalf("policy %s is still there: %v", name, err)
	}
	if _, err := all.MutatingAdmissionPolicyBindings().Get(s.t.Context(), name, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		s.t.Fatalf("binding %s is still there: %v", name, err)
	}
}

func (s *stage) patchPolicy(name, patch string) {
	s.t.Helper()
	if _, err := s.c.Admin.AdmissionregistrationV1().MutatingAdmissionPolicies().Patch(s.t.Context(), name, types.MergePatchType, []byte(patch), metav1.PatchOptions{}); err != nil {
		s.t.Fatal(err)
	}
}

// try returns the pod that the API server would make.
func (s *stage) try(change func(*corev1.Pod)) *corev1.Pod {
	s.t.Helper()
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: acctest.Name(s.t, "try")},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "registry.k8s.io/pause:3.10.2"}}},
	}
	if change != nil {
		change(p)
	}
	made, err := s.c.Admin.CoreV1().Pods(p.Namespace).Create(s.t.Context(), p, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	if err != nil {
		s.t.Fatal(err)
	}
	return made
}

// shared begins the keys of tolerations that a test gives to pods of other tests too.
const shared = "shared"

// own are the tolerations of a pod but for those that every pod gets.
func own(tolerations []corev1.Toleration) string {
	var out []string
	for _, t := range tolerations {
		if !strings.HasPrefix(t.Key, "node.kubernetes.io/") && !strings.HasPrefix(t.Key, shared+"-") {
			out = append(out, taint.FormatToleration(t))
		}
	}
	return strings.Join(out, ", ")
}

// becomes waits for it: an API server that is busy may look for changes of policies later
// than an apply waits.
func (s *stage) becomes(what string, got func() string, want string) {
	s.t.Helper()
	last := ""
	acctest.Until(s.t, what+" are "+want, func(context.Context) (bool, error) {
		if now := got(); now != last {
			s.t.Logf("%s: %q", what, now)
			last = now
		}
		return last == want, nil
	})
}

// given are the tolerations that a plain pod gets.
func (s *stage) given() string {
	s.t.Helper()
	return own(s.try(nil).Spec.Tolerations)
}

func (s *stage) want(what, got, want string) {
	s.t.Helper()
	if got != want {
		s.t.Fatalf("%s: got %q, want %q", what, got, want)
	}
}
