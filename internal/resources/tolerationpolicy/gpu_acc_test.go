// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package tolerationpolicy_test

import (
	"context"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/admission"
)

// TestAccTolerationPolicy_specialHardwareTheWholeWay is the example of the documents: nodes
// with GPUs are tainted with the name of the resource, a policy lets pods that request it
// onto them, and the plan says beforehand which pods are evicted and which recreated.
func TestAccTolerationPolicy_specialHardwareTheWholeWay(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	pool := acctest.Name(t, "pool")
	gpu, plain, hardware := pool+"-gpu", pool+"-plain", pool+".example.com/gpu"
	much := corev1.ResourceList{"cpu": resource.MustParse("8"), "memory": resource.MustParse("8Gi"), "pods": resource.MustParse("50")}
	with := much.DeepCopy()
	with[corev1.ResourceName(hardware)] = resource.MustParse("4")
	s.c.Node(t, acctest.Node{Name: gpu, Labels: map[string]string{"pool": pool, "gpu": pool}, Allocatable: with})
	in := func(change func(*corev1.PodSpec)) func(*corev1.PodSpec) {
		return func(spec *corev1.PodSpec) {
			grace := int64(0)
			spec.NodeSelector, spec.TerminationGracePeriodSeconds = map[string]string{"pool": pool}, &grace
			if change != nil {
				change(spec)
			}
		}
	}
	requests := in(func(spec *corev1.PodSpec) {
		spec.Containers[0].Resources.Limits = corev1.ResourceList{corev1.ResourceName(hardware): resource.MustParse("1")}
	})
	s.c.Deployment(t, s.namespace, "train", 2, requests)
	s.c.Deployment(t, s.namespace, "web", 2, in(nil))
	s.c.Node(t, acctest.Node{Name: plain, Labels: map[string]string{"pool": pool}, Allocatable: much})
	evicted, still := s.c.Evictions(t, s.namespace), s.c.Still(t, s.namespace)

	name := acctest.Name(t, "gpu")
	policy, taints := fresh(), &acctest.Instance{Type: "kubetaint_node_taints"}
	policyConfig := map[string]any{"name": name, "match": map[string]any{"requests": []any{hardware}}, "tolerations": acctest.TolerationObjects(t, hardware+"*")}
	taintConfig := map[string]any{"node_selector": "gpu=" + pool, "taints": []any{map[string]any{"key": hardware, "value": "present", "effect": "NoExecute"}}}
	linked := acctest.With(taintConfig, map[string]any{"tolerated_by": []any{admission.NewID("terraform", name)}})
	t.Cleanup(func() { s.remove(name) })

	alone := s.tf.Plan(t, taints, taintConfig).Diagnostics.Warnings()
	acctest.WantAll(s.t, alone, "evicts 4 pods: 2 pending")
	// The plan of both, in which the policy is not there yet.
	walk := s.tf.Walk(t)
	plannedPolicy := walk.Plan(policy, policyConfig)
	planned := walk.Plan(taints, linked)
	if d := plannedPolicy.Diagnostics.Errors() + planned.Diagnostics.Errors(); d != "" {
		t.Fatal(d)
	}
	acctest.WantAll(s.t, planned.Diagnostics.Warnings(), "evicts 4 pods")
	if said := planned.Diagnostics.Warnings(); strings.Contains(said, "pending") {
		t.Fatalf("the plan does not know what the policy will give: %s", said)
	}

	s.apply(policy, policyConfig)
	// So says a preview of the taints alone, now that the policy is there.
	preview, d := s.tf.Data(t, "kubetaint_eviction_preview", map[string]any{"node_name": gpu, "taints": taintConfig["taints"]})
	if summary, _ := preview["summary"].(map[string]any); d.Errors() != "" || summary["evicted_now"] != int64(4) || summary["not_reschedulable"] != int64(0) {
		t.Fatalf("the preview says %v: %s", preview["summary"], d.Errors())
	}
	// Evicted pods are recreated only once.
	s.becomes("tolerations of what requests it", func() string {
		return own(s.try(func(p *corev1.Pod) { requests(&p.Spec) }).Spec.Tolerations)
	}, hardware+" Exists")
	if d := s.tf.Apply(t, taints, linked); d.Errors() != "" {
		t.Fatal(d.Errors())
	}
	acctest.Until(t, "all have left", func(context.Context) (bool, error) { return len(still()) == 0, nil })
	if names := evicted(); len(names) != 4 {
		t.Fatalf("%v were evicted", names)
	}
	s.c.Running(t, s.namespace, "train", 2)
	s.c.Running(t, s.namespace, "web", 2)
	s.on(t).placed("train", gpu)
	s.on(t).placed("web", plain)

	// A pod that comes later and asks for nothing is kept away; one that asks is not.
	s.c.Deployment(t, s.namespace, "infer", 1, requests)
	s.placed("infer", gpu)
	s.c.Pod(t, s.namespace, "stray", "", func(p *corev1.Pod) { p.Spec.NodeSelector = map[string]string{"gpu": pool} })
	acctest.Until(t, "the scheduler refuses the stray pod", func(ctx context.Context) (bool, error) {
		p, err := s.c.Admin.CoreV1().Pods(s.namespace).Get(ctx, "stray", metav1.GetOptions{})
		if err != nil || p.Spec.NodeName != "" {
			t.Fatalf("the stray pod runs on %s: %v", p.Spec.NodeName, err)
		}
		for _, c := range p.Status.Conditions {
			if c.Type == corev1.PodScheduled && c.Reason == corev1.PodReasonUnschedulable {
				return true, nil
			}
		}
		return false, nil
	})
	if d := s.tf.Apply(t, taints, nil); d.Errors() != "" {
		t.Fatal(d.Errors())
	}
	s.tf.Destroy(s.t, policy)
}

// placed expects that all pods of an app run on this node.
func (s *stage) placed(app, node string) {
	s.t.Helper()
	pods, err := s.c.Admin.CoreV1().Pods(s.namespace).List(s.t.Context(), metav1.ListOptions{LabelSelector: "app=" + app})
	if err != nil || len(pods.Items) == 0 {
		s.t.Fatalf("%s has %d pods: %v", app, len(pods.Items), err)
	}
	for _, p := range pods.Items {
		if p.DeletionTimestamp == nil && p.Spec.NodeName != node {
			s.t.Fatalf("pod %s of %s runs on %s, want %s", p.Name, app, p.Spec.NodeName, node)
		}
	}
}
