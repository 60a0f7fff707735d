// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package snapshot

import (
	"cmp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	apiresource "k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/component-helpers/resource"
)

// Resources are amounts of what nodes have and pods ask for, in the units that
// the scheduler counts in (k8s.io/kubernetes v1.37.1
// pkg/scheduler/framework/types.go, Resource).
type Resources struct {
	// MilliCPU is in thousandths of a core, Memory and EphemeralStorage in bytes.
	MilliCPU, Memory, EphemeralStorage int64
	// Pods is how many pods a node takes; for pods it is empty and counts as one.
	Pods int64
	// Others are extended resources and huge pages, sorted by name.
	Others []Amount
}

// Amount is an amount of one resource, rounded up to a whole number.
type Amount struct {
	Name  corev1.ResourceName
	Value int64
}

// Demand is what a pod asks of a node, shared by all pods that are equal in it.
type Demand struct {
	// Asks is what must be free for a new pod like this one.
	Asks Resources
	// Holds is what the scheduler counts for this pod on the node that it is on.
	// It differs from Asks while a resize in place is under way.
	Holds Resources
	// Limits are those of the pod.
	Limits Resources
	// ScoredMilliCPU and ScoredMemory are what nodes are scored by: a container without a
	// request counts as 100m CPU or 200 MB (pkg/scheduler/util/pod_resources.go).
	ScoredMilliCPU, ScoredMemory int64
	// Priority decides who may push out whom.
	Priority int32
	// Patient is set for a pod that preempts no pod (preemptionPolicy Never).
	Patient bool
	// Scheduler is the name of the pod's scheduler, "" for the default one.
	Scheduler string
	// Claimed are the extended resources that devices are claimed for: they are part of neither Asks nor
	// Holds, and are requested all the same.
	Claimed []Amount
	// PriorityClass is the name of the pod's, "" for none, and Deadline is set where it has an
	// activeDeadlineSeconds: ResourceQuotas can be about such pods.
	PriorityClass string
	Deadline      bool
	// OtherNamespaces is set where its pod affinity reaches into other namespaces: ResourceQuotas can be about such pods.
	OtherNamespaces bool
	// Devices is set for a pod that claims devices (resourceClaims, or extended resources that a
	// DeviceClass backs).
	Devices bool
	// Template has the requests and limits of the pod's template. It is nil while devices are claimed for
	// extended resources. Defaulted is set where LimitRanges have added others to those of the pod.
	Template  *corev1.PodSpec
	Defaulted bool
	// Resized is set where the pod's spec has changed since it was created, as by a resize in place: its controller creates
	// the next one by a template that may ask for something else.
	Resized bool
}

// The request of a container without one in scores (pkg/scheduler/util/pod_resources.go).
const (
	defaultMilliCPU = 100
	defaultMemory   = 200 << 20
)

// DemandOf works out what a pod asks for, with its init containers, sidecars,
// overhead and requests for the whole pod, as the scheduler does
// (pkg/scheduler/framework/plugins/noderesources/fit.go, computePodResourceRequest,
// and framework/types.go, CalculateResource).
func DemandOf(p *corev1.Pod) *Demand {
	d := &Demand{
		Holds:   requests(p, resource.PodResourcesOptions{UseStatusResources: true, InPlacePodLevelResourcesVerticalScalingEnabled: true}),
		Patient: p.Spec.PreemptionPolicy != nil && *p.Spec.PreemptionPolicy == corev1.PreemptNever,

		PriorityClass: p.Spec.PriorityClassName, Deadline: p.Spec.ActiveDeadlineSeconds != nil && *p.Spec.ActiveDeadlineSeconds >= 0,
		OtherNamespaces: ReachesOtherNamespaces(p.Spec.Affinity),
	}
	if name := p.Spec.SchedulerName; name != corev1.DefaultSchedulerName {
		d.Scheduler = name
	}
	claims := p.Status.ExtendedResourceClaimStatus
	d.Devices = len(p.Spec.ResourceClaims) > 0 || claims != nil
	if p.Spec.Priority != nil {
		d.Priority = *p.Spec.Priority
	}
	d.ask(p)
	all := d.Asks.Others
	if claims == nil {
		d.Template, d.Defaulted = resourcesOf(p)
	}
	d.Resized = Changed(p) && !d.BestEffort()
	// A resource that devices are claimed for is not counted on nodes that do not list it, so
	// that its absence there keeps no pod away (fit.go, shouldDelegateResourceToDRA).
	claimed := func(a Amount) bool {
		return ofDeviceClass(a) || claims != nil && slices.ContainsFunc(claims.RequestMappings, func(m corev1.ContainerExtendedResourceRequest) bool {
			return m.ResourceName == string(a.Name)
		})
	}
	d.Claimed = slices.DeleteFunc(slices.Clone(all), func(a Amount) bool { return !claimed(a) })
	d.Asks.Others, d.Holds.Others = slices.DeleteFunc(all, claimed), slices.DeleteFunc(d.Holds.Others, claimed)
	return d
}

// Changed reports whether the spec of a pod has changed since it was created. Binding it to a node does not count
// (k8s.io/kubernetes v1.37.2 pkg/registry/core/pod/strategy.go, updatePodGeneration).
func Changed(p *corev1.Pod) bool { return p.Generation > 1 }

func ofDeviceClass(a Amount) bool {
	return strings.HasPrefix(string(a.Name), resourcev1.ResourceDeviceClassPrefix)
}

// ask sets what a new pod of this spec asks for, its limits, and what nodes are scored by.
func (d *Demand) ask(p *corev1.Pod) {
	d.Asks, d.Limits = requests(p, resource.PodResourcesOptions{}), ResourcesOf(resource.PodLimits(unshared(p), resource.PodResourcesOptions{}))
	scored := requests(p, resource.PodResourcesOptions{NonMissingContainerRequests: corev1.ResourceList{
		corev1.ResourceCPU:    *apiresource.NewMilliQuantity(defaultMilliCPU, apiresource.DecimalSI),
		corev1.ResourceMemory: *apiresource.NewQuantity(defaultMemory, apiresource.DecimalSI),
	}})
	d.ScoredMilliCPU, d.ScoredMemory = scored.MilliCPU, scored.Memory
}

func requests(p *corev1.Pod, options resource.PodResourcesOptions) Resources {
	return ResourcesOf(resource.PodRequests(unshared(p), options))
}

// unshared keeps PodRequests and PodLimits from adding the overhead to the pod itself: they do that where
// amounts for the whole pod are no whole numbers.
func unshared(p *corev1.Pod) *corev1.Pod {
	if p.Spec.Resources != nil {
		copied := *p
		copied.Spec.Resources = p.Spec.Resources.DeepCopy()
		p = &copied
	}
	return p
}

// ResourcesOf reads a list as the scheduler does: what it does not schedule by
// is left out (framework/types.go, Resource.Add).
func ResourcesOf(list corev1.ResourceList) Resources {
	var r Resources
	for name, q := range list {
		switch name {
		case corev1.ResourceCPU:
			r.MilliCPU = Thousandths(q)
		case corev1.ResourceMemory:
			r.Memory = Whole(q)
		case corev1.ResourceEphemeralStorage:
			r.EphemeralStorage = Whole(q)
		case corev1.ResourcePods:
			r.Pods = Whole(q)
		default:
			if scalar(name) && !q.IsZero() {
				r.Others = append(r.Others, Amount{Name: name, Value: Whole(q)})
			}
		}
	}
	slices.SortFunc(r.Others, func(a, b Amount) int { return cmp.Compare(a.Name, b.Name) })
	return r
}

// scalar reports whether the scheduler counts a resource beside those that it knows
// by name (pkg/scheduler/util/utils.go, IsScalarResourceName).
func scalar(name corev1.ResourceName) bool {
	n := string(name)
	return strings.Contains(n, "/") && !strings.HasPrefix(n, corev1.DefaultResourceRequestsPrefix) ||
		strings.HasPrefix(n, corev1.ResourceHugePagesPrefix) || strings.HasPrefix(n, corev1.ResourceAttachableVolumesPrefix)
}

// Requests reports whether a container asks for an extended resource, also where devices are claimed for it.
func (d *Demand) Requests(name corev1.ResourceName) bool {
	return d.Asks.Other(name) > 0 || slices.ContainsFunc(d.Claimed, func(a Amount) bool { return a.Name == name })
}

// nothing is the demand of pods of which none is known.
var nothing Demand

// Requests returns the demand of a pod, the empty one where none is known.
func (p *Pod) Requests() *Demand {
	if p.Demand == nil {
		return &nothing
	}
	return p.Demand
}
