// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package snapshot

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/component-helpers/resource"
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

// QuotaLimit is status.hard and status.used of one resource, CPU in thousandths of a core. Completed pods are
// no part of Used, and terminating ones until they are gone or overdue; CountPods counts all of them
// (k8s.io/kubernetes v1.37.2 pkg/quota/v1/evaluator/core/pods.go, PodUsageFunc and QuotaV1Pod).
type QuotaLimit struct {
	Resource   corev1.ResourceName
	Hard, Used int64
}

// Exceeded reports whether more is used than the ResourceQuota allows: since it was lowered.
func (l QuotaLimit) Exceeded() bool { return l.Used > l.Hard }

// CountPods is the object count of pods, completed ones included.
const CountPods corev1.ResourceName = "count/pods"

// LimitsPods reports whether a ResourceQuota limits pods by this resource (pods.go, MatchingResources).
func LimitsPods(name corev1.ResourceName) bool {
	switch name {
	case corev1.ResourcePods, CountPods, corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourceEphemeralStorage,
		corev1.ResourceRequestsCPU, corev1.ResourceRequestsMemory, corev1.ResourceRequestsEphemeralStorage,
		corev1.ResourceLimitsCPU, corev1.ResourceLimitsMemory, corev1.ResourceLimitsEphemeralStorage:
		return true
	}
	request, prefixed := strings.CutPrefix(string(name), corev1.DefaultResourceRequestsPrefix)
	return strings.HasPrefix(request, corev1.ResourceHugePagesPrefix) || prefixed && strings.Contains(request, "/")
}

// Charges returns how much of a ResourceQuota's resource a new pod of this demand uses, and how much one
// that runs (pods.go, podComputeUsageHelper).
func (d *Demand) Charges(name corev1.ResourceName) (asks, holds int64) {
	switch name {
	case corev1.ResourceLimitsCPU:
		return d.Limits.MilliCPU, d.Limits.MilliCPU
	case corev1.ResourceLimitsMemory:
		return d.Limits.Memory, d.Limits.Memory
	case corev1.ResourceLimitsEphemeralStorage:
		return d.Limits.EphemeralStorage, d.Limits.EphemeralStorage
	}
	for _, one := range d.Claimed {
		if string(one.Name) == strings.TrimPrefix(string(name), corev1.DefaultResourceRequestsPrefix) {
			return one.Value, one.Value
		}
	}
	return d.Asks.charge(name), d.Holds.charge(name)
}

// charge is the same for what is requested.
func (r *Resources) charge(name corev1.ResourceName) int64 {
	switch name {
	case corev1.ResourcePods, CountPods:
		return 1
	case corev1.ResourceCPU, corev1.ResourceRequestsCPU:
		return r.MilliCPU
	case corev1.ResourceMemory, corev1.ResourceRequestsMemory:
		return r.Memory
	case corev1.ResourceEphemeralStorage, corev1.ResourceRequestsEphemeralStorage:
		return r.EphemeralStorage
	}
	return r.Other(corev1.ResourceName(strings.TrimPrefix(string(name), corev1.DefaultResourceRequestsPrefix)))
}

// Lacks reports whether a ResourceQuota of this resource refuses a new pod of this demand because a
// container sets none of it. Requests or limits for the whole pod make up for that (pods.go, Constraints).
func (d *Demand) Lacks(name corev1.ResourceName) bool {
	if d.Template == nil || resource.IsPodLevelResourcesSet(&corev1.Pod{Spec: *d.Template}) {
		return false
	}
	var of func(*corev1.ResourceRequirements) corev1.ResourceList
	switch name {
	case corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourceRequestsCPU, corev1.ResourceRequestsMemory:
		of = func(r *corev1.ResourceRequirements) corev1.ResourceList { return r.Requests }
	case corev1.ResourceLimitsCPU, corev1.ResourceLimitsMemory:
		of = func(r *corev1.ResourceRequirements) corev1.ResourceList { return r.Limits }
	default:
		return false
	}
	plain := corev1.ResourceName(strings.TrimPrefix(strings.TrimPrefix(string(name), corev1.DefaultResourceRequestsPrefix), limitsPrefix))
	return slices.ContainsFunc(slices.Concat(d.Template.Containers, d.Template.InitContainers), func(c corev1.Container) bool {
		_, set := of(&c.Resources)[plain]
		return !set
	})
}

const limitsPrefix = "limits."

// Counts reports whether a ResourceQuota counts a pod of this demand, and whether that is known: a later version of
// Kubernetes may have other scopes (pods.go, podMatchesScopeFunc).
func (q *Quota) Counts(d *Demand) (counts, known bool) {
	known = true
	for _, scope := range q.Scopes {
		switch matches, certain := d.matches(scope); {
		case !certain:
			known = false
		case !matches:
			return false, true
		}
	}
	return true, known
}

func (d *Demand) matches(scope corev1.ScopedResourceSelectorRequirement) (matches, known bool) {
	switch scope.ScopeName {
	case corev1.ResourceQuotaScopeBestEffort:
		return d.BestEffort(), true
	case corev1.ResourceQuotaScopeNotBestEffort:
		return !d.BestEffort(), true
	case corev1.ResourceQuotaScopeTerminating:
		return d.Deadline, true
	case corev1.ResourceQuotaScopeNotTerminating:
		return !d.Deadline, true
	case corev1.ResourceQuotaScopeCrossNamespacePodAffinity:
		return d.OtherNamespaces, true
	case corev1.ResourceQuotaScopePriorityClass:
		named := d.PriorityClass != "" && slices.Contains(scope.Values, d.PriorityClass)
		switch scope.Operator {
		case corev1.ScopeSelectorOpExists:
			return d.PriorityClass != "", true
		case corev1.ScopeSelectorOpDoesNotExist:
			return d.PriorityClass == "", true
		case corev1.ScopeSelectorOpIn:
			return named, true
		case corev1.ScopeSelectorOpNotIn:
			return !named, true
		}
	}
	return false, false
}

// ReachesOtherNamespaces reports whether a term of pod affinity, required or preferred, lists or selects namespaces:
// also its own one, or none (pods.go, usesCrossNamespacePodAffinity).
func ReachesOtherNamespaces(a *corev1.Affinity) bool {
	if a == nil {
		return false
	}
	reaches := func(t *corev1.PodAffinityTerm) bool { return len(t.Namespaces) > 0 || t.NamespaceSelector != nil }
	some := func(required []corev1.PodAffinityTerm, preferred []corev1.WeightedPodAffinityTerm) bool {
		return slices.ContainsFunc(required, func(t corev1.PodAffinityTerm) bool { return reaches(&t) }) ||
			slices.ContainsFunc(preferred, func(t corev1.WeightedPodAffinityTerm) bool { return reaches(&t.PodAffinityTerm) })
	}
	to, apart := a.PodAffinity, a.PodAntiAffinity
	return to != nil && some(to.RequiredDuringSchedulingIgnoredDuringExecution, to.PreferredDuringSchedulingIgnoredDuringExecution) ||
		apart != nil && some(apart.RequiredDuringSchedulingIgnoredDuringExecution, apart.PreferredDuringSchedulingIgnoredDuringExecution)
}

// BestEffort reports whether a new pod has no requests and no limits of cpu and memory; the overhead of a
// RuntimeClass is none (k8s.io/kubernetes v1.37.2 pkg/apis/core/v1/helper/qos/qos.go, ComputePodQOS). Where no
// template shows what the pod itself sets, the sums decide.
func (d *Demand) BestEffort() bool {
	if d.Template == nil || d.Defaulted {
		return d.Asks.MilliCPU == 0 && d.Asks.Memory == 0 && d.Limits.MilliCPU == 0 && d.Limits.Memory == 0
	}
	if resource.IsPodLevelResourcesSet(&corev1.Pod{Spec: *d.Template}) {
		return setsNone(d.Template.Resources)
	}
	return !slices.ContainsFunc(slices.Concat(d.Template.Containers, d.Template.InitContainers), func(c corev1.Container) bool {
		return !setsNone(&c.Resources)
	})
}

// setsNone reports whether requests and limits of cpu and memory are all zero.
func setsNone(r *corev1.ResourceRequirements) bool {
	for _, list := range []corev1.ResourceList{r.Requests, r.Limits} {
		if !list.Cpu().IsZero() || !list.Memory().IsZero() {
			return false
		}
	}
	return true
}
