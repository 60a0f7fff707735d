// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package snapshot

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// Quotas are ResourceQuotas by namespace: only those that limit something of pods.
type Quotas map[string][]Quota

// Quota is a ResourceQuota, as far as it limits pods.
type Quota struct {
	Name string
	// Scopes are those of spec.scopes, as selectors, and spec.scopeSelector. A pod counts only if
	// it matches each of them.
	Scopes []corev1.ScopedResourceSelectorRequirement
	// Limits are sorted by resource.
	Limits []QuotaLimit
}

// QuotaLimit is status.hard and status.used of one resource, CPU in thousandths of a core. Terminating
// pods are part of Used until they are gone, completed ones are not, but for count/pods
// (k8s.io/kubernetes v1.37.2 pkg/quota/v1/evaluator/core/pods.go, PodUsageFunc).
type QuotaLimit struct {
	Resource   corev1.ResourceName
	Hard, Used int64
}

// Exceeded reports whether more is used than the ResourceQuota allows: since it was lowered.
func (l QuotaLimit) Exceeded() bool { return l.Used > l.Hard }

// countPods is the object count of pods, completed ones included.
const countPods corev1.ResourceName = "count/pods"

const limitsPrefix = "limits."

// LimitsPods reports whether a ResourceQuota limits pods by this resource (pods.go, MatchingResources).
func LimitsPods(name corev1.ResourceName) bool {
	switch name {
	case corev1.ResourcePods, countPods, corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourceEphemeralStorage,
		corev1.ResourceRequestsCPU, corev1.ResourceRequestsMemory, corev1.ResourceRequestsEphemeralStorage,
		corev1.ResourceLimitsCPU, corev1.ResourceLimitsMemory, corev1.ResourceLimitsEphemeralStorage:
		return true
	}
	request, prefixed := strings.CutPrefix(string(name), corev1.DefaultResourceRequestsPrefix)
	return strings.HasPrefix(request, corev1.ResourceHugePagesPrefix) || prefixed && strings.Contains(request, "/")
}

// Charge returns how much of a ResourceQuota's resource a pod with these requests uses. It is not
// known of limits.
func (r *Resources) Charge(name corev1.ResourceName) (amount int64, known bool) {
	if strings.HasPrefix(string(name), limitsPrefix) {
		return 0, false
	}
	switch name {
	case corev1.ResourcePods, countPods:
		return 1, true
	case corev1.ResourceCPU, corev1.ResourceRequestsCPU:
		return r.MilliCPU, true
	case corev1.ResourceMemory, corev1.ResourceRequestsMemory:
		return r.Memory, true
	case corev1.ResourceEphemeralStorage, corev1.ResourceRequestsEphemeralStorage:
		return r.EphemeralStorage, true
	}
	return r.Other(corev1.ResourceName(strings.TrimPrefix(string(name), corev1.DefaultResourceRequestsPrefix))), true
}

// Counts reports whether a ResourceQuota counts a pod, and whether what is known of the pod decides
// that: its deadline, its PriorityClass and its preferred affinity do not (pods.go, podMatchesScopeFunc).
func (q *Quota) Counts(pod *Pod) (counts, known bool) {
	counts, known = true, true
	asks := &pod.Requests().Asks
	// A limit without a request is one of a request as well.
	bestEffort := asks.MilliCPU == 0 && asks.Memory == 0
	for _, scope := range q.Scopes {
		switch {
		case scope.ScopeName == corev1.ResourceQuotaScopeBestEffort && !bestEffort,
			scope.ScopeName == corev1.ResourceQuotaScopeNotBestEffort && bestEffort:
			return false, true
		case scope.ScopeName != corev1.ResourceQuotaScopeBestEffort && scope.ScopeName != corev1.ResourceQuotaScopeNotBestEffort:
			known = false
		}
	}
	return counts, known
}
