// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package evictionpreview_test

import (
	"context"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
)

// protect gives two of three clusters with pods of two priorities up to four PodDisruptionBudgets: the scheduler preempts
// first where fewer of them are violated. They are made once the cluster has settled, so that the pods before the change
// are the same without them. Those of rivals all have some.
func (p *places) protect() {
	p.t.Helper()
	names := slices.Sorted(maps.Keys(p.workloads))
	if !p.rivals && (p.urgents == 0 || p.urgents == len(names) || p.guards.IntN(3) == 0) {
		return
	}
	p.protected = true
	for i := range p.budgetsOf(1+p.guards.IntN(4), names) {
		budget := &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("b%d", i)}, Spec: p.budget(names)}
		_, err := p.c.Admin.PolicyV1().PodDisruptionBudgets(p.namespace).Create(p.t.Context(), budget, metav1.CreateOptions{})
		p.must(err)
	}
	acctest.Until(p.t, "the status of every PodDisruptionBudget counts all pods", p.counted)
}

// budget draws one for the pods of one workload, of two, or of all: an empty selector has the scheduler protect no pod.
func (p *places) budget(names []string) policyv1.PodDisruptionBudgetSpec {
	one, other := names[p.guards.IntN(len(names))], names[p.guards.IntN(len(names))]
	spec := policyv1.PodDisruptionBudgetSpec{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": one}}}
	switch p.guards.IntN(6) {
	case 0:
		spec.Selector = &metav1.LabelSelector{}
	case 1, 2:
		spec.Selector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "app", Operator: metav1.LabelSelectorOpIn, Values: []string{one, other}}}}
	}
	if p.rivals && p.guards.IntN(2) == 0 {
		spec.MaxUnavailable = new(intstr.FromInt32(0))
		return spec
	}
	share := []string{"0%", "25%", "50%", "100%"}[p.guards.IntN(4)]
	switch p.guards.IntN(4) {
	case 0:
		spec.MinAvailable = new(intstr.FromInt32(p.guards.Int32N(p.workloads[one] + 2)))
	case 1:
		spec.MinAvailable = new(intstr.FromString(share))
	case 2:
		spec.MaxUnavailable = new(intstr.FromInt32(p.guards.Int32N(3)))
	default:
		spec.MaxUnavailable = new(intstr.FromString(share))
	}
	if policy := p.guards.IntN(3); policy > 0 {
		spec.UnhealthyPodEvictionPolicy = new([]policyv1.UnhealthyPodEvictionPolicyType{policyv1.AlwaysAllow, policyv1.IfHealthyBudget}[policy-1])
	}
	return spec
}

// counted reports whether the disruption controller has counted the pods of every PodDisruptionBudget. Of Jobs and DaemonSets it does
// not know how many pods are expected: what counts these allows none
// (k8s.io/kubernetes v1.37.2 pkg/controller/disruption/disruption.go, getExpectedPodCount and failSafe).
func (p *places) counted(ctx context.Context) (bool, error) {
	budgets, err := p.c.Admin.PolicyV1().PodDisruptionBudgets(p.namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return false, err
	}
	for i := range budgets.Items {
		b := &budgets.Items[i]
		selector, err := metav1.LabelSelectorAsSelector(b.Spec.Selector)
		if err != nil {
			return false, err
		}
		pods, err := p.c.Admin.CoreV1().Pods(p.namespace).List(ctx, metav1.ListOptions{LabelSelector: selector.String()})
		if err != nil {
			return false, err
		}
		expected, healthy, ofJobs := p.expected(b, pods.Items)
		if ofJobs {
			failed := apimeta.FindStatusCondition(b.Status.Conditions, policyv1.DisruptionAllowedCondition)
			if failed == nil || failed.Reason != policyv1.SyncFailedReason {
				return false, nil
			}
			continue
		}
		if b.Status.ObservedGeneration != b.Generation || b.Status.ExpectedPods != expected || b.Status.CurrentHealthy != healthy {
			return false, nil
		}
	}
	return true, nil
}

// expected returns how many pods a PodDisruptionBudget expects and how many are ready, and whether it would have to know
// how many pods a Job or a DaemonSet has.
func (p *places) expected(b *policyv1.PodDisruptionBudget, pods []corev1.Pod) (expected, healthy int32, ofJobs bool) {
	of := map[string]bool{}
	for i := range pods {
		name := pods[i].Labels["app"]
		of[name] = true
		ofJobs = ofJobs || p.kindOf[name] == jobs || p.kindOf[name] == daemonSets
		if condition(&pods[i], corev1.PodReady).Status == corev1.ConditionTrue {
			healthy++
		}
	}
	if b.Spec.MinAvailable != nil && b.Spec.MinAvailable.Type == intstr.Int {
		return int32(len(pods)), healthy, false
	}
	for name := range of {
		expected += p.workloads[name]
	}
	return expected, healthy, ofJobs
}
