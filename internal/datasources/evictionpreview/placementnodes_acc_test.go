// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package evictionpreview_test

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
)

// Features of nodes, and of pods that concern a ResourceQuota or a Job.
const (
	cordonedNodes   = "cordoned node"
	zonedNodes      = "nodes with zones"
	cordonTolerated = "toleration of a cordon"
	bestEffort      = "pods without requests"
	deadlines       = "activeDeadlineSeconds"
	failurePolicies = "podFailurePolicy with Count or FailJob"
	podScopes       = "ResourceQuota with the scope BestEffort or Terminating"
	preferredPods   = "preferred pod affinity or anti-affinity"
	softSpread      = "topology spread with ScheduleAnyway"
)

// zones gives the nodes of half of the clusters zones.
func (p *places) zones(labels map[string]string, node int) map[string]string {
	if p.nodesOf == nil {
		return labels
	}
	if node == 0 {
		p.zoned = p.nodesOf.IntN(2) == 0
	}
	if p.zoned {
		labels[corev1.LabelTopologyZone] = p.zone(node % 2)
	}
	return labels
}

// zone is the name of one of two zones.
func (p *places) zone(n int) string { return fmt.Sprintf("%s-%d", p.pool, n) }

// further gives some pods a toleration of a cordon, no requests, or a deadline.
func (p *places) further(name string, spec *corev1.PodSpec) {
	if p.nodesOf == nil {
		return
	}
	switch p.nodesOf.IntN(6) {
	case 0:
		p.have(name, cordonTolerated)
		spec.Tolerations = append(spec.Tolerations, corev1.Toleration{Key: corev1.TaintNodeUnschedulable, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoSchedule})
	case 1:
		if p.limited {
			return // They get requests by default.
		}
		p.have(name, bestEffort)
		spec.Containers[0].Resources.Requests = corev1.ResourceList{}
	}
}

// neighbours has some pods prefer nodes by the pods of their workload, or of another one, that run there.
func (p *places) neighbours(name string, spec *corev1.PodSpec) {
	r := p.near
	if r == nil {
		return
	}
	key, app := []string{corev1.LabelHostname, "zone"}[r.IntN(2)], []string{name, fmt.Sprintf("w%d", r.IntN(5))}[r.IntN(2)]
	selector := &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}}
	terms := []corev1.WeightedPodAffinityTerm{{Weight: 1 + r.Int32N(100), PodAffinityTerm: corev1.PodAffinityTerm{TopologyKey: key, LabelSelector: selector}}}
	skew, all := 1+r.Int32N(3), cmp.Or(spec.Affinity, &corev1.Affinity{})
	switch r.IntN(6) {
	case 0:
		p.have(name, preferredPods)
		all.PodAffinity = cmp.Or(all.PodAffinity, &corev1.PodAffinity{})
		all.PodAffinity.PreferredDuringSchedulingIgnoredDuringExecution, spec.Affinity = terms, all
	case 1:
		p.have(name, preferredPods)
		all.PodAntiAffinity = cmp.Or(all.PodAntiAffinity, &corev1.PodAntiAffinity{})
		all.PodAntiAffinity.PreferredDuringSchedulingIgnoredDuringExecution, spec.Affinity = terms, all
	case 2:
		p.have(name, softSpread)
		spec.TopologySpreadConstraints = append(spec.TopologySpreadConstraints, corev1.TopologySpreadConstraint{
			MaxSkew: skew, TopologyKey: key, WhenUnsatisfiable: corev1.ScheduleAnyway, LabelSelector: selector,
		})
	}
}

// deadline gives half of the Jobs' pods a deadline, which the scopes Terminating and NotTerminating are about.
func (p *places) deadline(name string, spec *corev1.PodSpec) {
	if p.nodesOf != nil && p.nodesOf.IntN(2) == 0 {
		p.have(name, deadlines)
		spec.ActiveDeadlineSeconds = new(int64(3600))
	}
}

// countFailures has evictions of some Jobs' pods count, or fail the Job with the first of them.
func (p *places) countFailures(name string, spec *batchv1.JobSpec) {
	if p.nodesOf == nil || spec.PodFailurePolicy != nil || p.nodesOf.IntN(2) == 0 {
		return
	}
	p.have(name, failurePolicies)
	spec.PodFailurePolicy = &batchv1.PodFailurePolicy{Rules: []batchv1.PodFailurePolicyRule{{
		Action:          []batchv1.PodFailurePolicyAction{batchv1.PodFailurePolicyActionCount, batchv1.PodFailurePolicyActionFailJob}[p.nodesOf.IntN(2)],
		OnPodConditions: []batchv1.PodFailurePolicyOnPodConditionsPattern{{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue}},
	}}}
}

// scopeOfPods has half of the ResourceQuotas with a scope limit the pods without requests alone, where that is allowed, or those with
// a deadline.
func (p *places) scopeOfPods(quota *corev1.ResourceQuotaSpec) {
	if p.nodesOf == nil || p.nodesOf.IntN(2) == 0 {
		return
	}
	scope := corev1.ResourceQuotaScopeTerminating
	if _, pods := quota.Hard[corev1.ResourcePods]; pods && p.nodesOf.IntN(2) == 0 {
		scope = corev1.ResourceQuotaScopeBestEffort
	}
	p.ofPods, quota.Scopes, quota.ScopeSelector = true, []corev1.ResourceQuotaScope{scope}, nil
}

// cordon cordons one of the nodes that are not tainted in one of three clusters, and waits until it has the taint of a cordon and
// the cluster has settled: the node may no longer be a domain of a topology spread that keeps pods Pending.
func (p *places) cordon(tainted []string) {
	p.t.Helper()
	rest := p.nodes[len(tainted):]
	if p.nodesOf == nil || len(rest) < 2 || p.nodesOf.IntN(3) > 0 {
		return
	}
	p.cordoned = rest[p.nodesOf.IntN(len(rest))]
	p.c.Patch(p.t, p.cordoned, `{"spec":{"unschedulable":true}}`)
	acctest.Until(p.t, "the node has the taint of a cordon", func(ctx context.Context) (bool, error) {
		node, err := p.c.Admin.CoreV1().Nodes().Get(ctx, p.cordoned, metav1.GetOptions{})
		return err == nil && slices.ContainsFunc(node.Spec.Taints, func(t corev1.Taint) bool { return t.Key == corev1.TaintNodeUnschedulable }), err
	})
	p.settle(nil)
}
