// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package snapshot

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apiresource "k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/component-helpers/resource"
)

// LimitRanges are those of containers and pods, by namespace; nil where they were not read.
type LimitRanges map[string][]LimitRange

// LimitRange is one, as far as it is about containers and pods. Those of a namespace are sorted by name.
type LimitRange struct {
	Name   string
	Limits []corev1.LimitRangeItem
}

// LimitRangerAnnotation is where the admission plug-in LimitRanger names what it has added to a pod
// (k8s.io/kubernetes v1.37.2 plugin/pkg/admission/limitranger/admission.go, limitRangerAnnotation).
const LimitRangerAnnotation = "kubernetes.io/limit-ranger"

// LimitRangeRefusal is why a LimitRange refuses a pod: one of its limits, such as "min cpu", that a
// container or the pod violates.
type LimitRangeRefusal struct{ Name, Limit string }

// Defaulted is what LimitRanges have added to a container of a pod.
type Defaulted struct {
	Container        string
	Init             bool
	Requests, Limits []corev1.ResourceName
}

// ParseDefaulted reads the LimitRangerAnnotation. What it does not read is left out: users can write it too.
func ParseDefaulted(annotation string) []Defaulted {
	list, written := strings.CutPrefix(annotation, "LimitRanger plugin set: ")
	if !written {
		return nil
	}
	var out []Defaulted
	for entry := range strings.SplitSeq(list, "; ") {
		what, of, found := strings.Cut(entry, " for ")
		if !found {
			continue
		}
		name, init := strings.CutPrefix(of, "init ")
		one := Defaulted{Container: strings.TrimPrefix(name, "container "), Init: init}
		if names, is := strings.CutSuffix(what, " request"); is {
			one.Requests = resourceNames(names)
		} else if names, is := strings.CutSuffix(what, " limit"); is {
			one.Limits = resourceNames(names)
		}
		out = append(out, one)
	}
	return out
}

func resourceNames(list string) (out []corev1.ResourceName) {
	for name := range strings.SplitSeq(list, ", ") {
		out = append(out, corev1.ResourceName(name))
	}
	return out
}

// String returns the entry as LimitRanger writes it.
func (d Defaulted) String() string {
	names, what := d.Requests, "request"
	if len(d.Limits) > 0 {
		names, what = d.Limits, "limit"
	}
	list := make([]string, len(names))
	for i, name := range names {
		list[i] = string(name)
	}
	kind := map[bool]string{true: "init container", false: "container"}[d.Init]
	return fmt.Sprintf("%s %s for %s %s", strings.Join(list, ", "), what, kind, d.Container)
}

// FormatDefaulted returns the annotation of these entries.
func FormatDefaulted(all []Defaulted) string {
	entries := make([]string, len(all))
	for i, one := range all {
		entries[i] = one.String()
	}
	return "LimitRanger plugin set: " + strings.Join(entries, "; ")
}

// resourcesOf returns what a template says of resources: the spec of a pod without what LimitRanges have
// added to it, and without everything else.
func resourcesOf(p *corev1.Pod) (spec *corev1.PodSpec, defaulted bool) {
	added := ParseDefaulted(p.Annotations[LimitRangerAnnotation])
	spec = &corev1.PodSpec{Overhead: p.Spec.Overhead, Resources: wholeOf(p, added)}
	reduce := func(containers []corev1.Container, init bool) []corev1.Container {
		out := make([]corev1.Container, len(containers))
		for i := range containers {
			has := &containers[i].Resources
			out[i] = corev1.Container{RestartPolicy: containers[i].RestartPolicy, Resources: corev1.ResourceRequirements{Requests: has.Requests, Limits: has.Limits}}
			for _, one := range added {
				if one.Init == init && one.Container == containers[i].Name {
					out[i].Resources.Requests = without(out[i].Resources.Requests, one.Requests)
					out[i].Resources.Limits = without(out[i].Resources.Limits, one.Limits)
				}
			}
		}
		return out
	}
	spec.Containers, spec.InitContainers = reduce(p.Spec.Containers, false), reduce(p.Spec.InitContainers, true)
	return spec, len(added) > 0
}

// wholeOf returns what a template says of the resources of the pod as a whole, where LimitRanges have added to its containers.
func wholeOf(p *corev1.Pod, added []Defaulted) *corev1.ResourceRequirements {
	if p.Spec.Resources == nil || len(added) == 0 {
		return p.Spec.Resources
	}
	whole := p.Spec.Resources.DeepCopy()
	sumsOf(p).dropFrom(whole, func(name corev1.ResourceName, limit bool) bool {
		return slices.ContainsFunc(added, func(one Defaulted) bool {
			return limit && slices.Contains(one.Limits, name) || !limit && slices.Contains(one.Requests, name)
		})
	})
	return whole
}

// sums are what the containers of a pod request together, and their limits. From Kubernetes 1.37 on, the API server gives
// them to the pod as a whole that has resources of its own, once LimitRanges have added their defaults
// (k8s.io/kubernetes v1.37.2 pkg/api/pod/util.go, DefaultPodLevelResources).
type sums struct{ requests, limits corev1.ResourceList }

func sumsOf(p *corev1.Pod) sums {
	own := unshared(p)
	return sums{resource.AggregateContainerRequests(own, resource.PodResourcesOptions{}), resource.AggregateContainerLimits(own, resource.PodResourcesOptions{})}
}

// dropFrom takes those out of the resources of the whole pod that are such sums. A template that says the same itself cannot be
// told from it.
func (s sums) dropFrom(whole *corev1.ResourceRequirements, which func(name corev1.ResourceName, limit bool) bool) {
	requests := maps.Clone(whole.Requests)
	maps.DeleteFunc(whole.Requests, func(name corev1.ResourceName, amount apiresource.Quantity) bool {
		sum, has := s.requests[name]
		return has && amount.Cmp(sum) == 0 && which(name, false)
	})
	maps.DeleteFunc(whole.Limits, func(name corev1.ResourceName, amount apiresource.Quantity) bool {
		sum, has := s.limits[name]
		if request := requests[name]; request.Cmp(sum) > 0 {
			sum = request
		}
		return has && amount.Cmp(sum) == 0 && which(name, true)
	})
}

func without(list corev1.ResourceList, names []corev1.ResourceName) corev1.ResourceList {
	list = maps.Clone(list)
	for _, name := range names {
		delete(list, name)
	}
	return list
}

// Admit returns what a new pod of this demand asks for once the LimitRanges of its namespace have added
// their defaults, which LimitRange refuses it, nil for none, and those whose defaults differ: which of them
// counts is a matter of chance (admission.go, PodMutateLimitFunc and PodValidateLimitFunc). Without
// LimitRanges, the pod loses the defaults that earlier ones have added.
func (d *Demand) Admit(ranges []LimitRange) (admitted *Demand, refusal *LimitRangeRefusal, differing []string) {
	if d.Template == nil || len(ranges) == 0 && !d.Defaulted {
		return d, nil, nil
	}
	pod := &corev1.Pod{Spec: *d.Template}
	pod.Spec.Containers, pod.Spec.InitContainers = slices.Clone(d.Template.Containers), slices.Clone(d.Template.InitContainers)
	before := sumsOf(pod)
	for i, r := range ranges {
		if slices.ContainsFunc(ranges[:i], func(other LimitRange) bool { return other.differs(r) }) {
			differing = append(differing, r.Name)
		}
		for at := range pod.Spec.Containers {
			refusal = cmp.Or(refusal, r.setDefaults(&pod.Spec.Containers[at]))
		}
		for at := range pod.Spec.InitContainers {
			refusal = cmp.Or(refusal, r.setDefaults(&pod.Spec.InitContainers[at]))
		}
	}
	deriveAnew(pod, before)
	for _, r := range ranges {
		refusal = cmp.Or(refusal, r.refuses(pod))
	}
	refusal = cmp.Or(refusal, brokenDefault(pod, ranges))
	one := *d
	one.Template, one.Defaulted = &pod.Spec, false
	one.ask(pod)
	one.Asks.Others = slices.DeleteFunc(one.Asks.Others, ofDeviceClass)
	return &one, refusal, differing
}

// deriveAnew drops the sums of before from the resources of the whole pod that defaults have changed.
func deriveAnew(p *corev1.Pod, before sums) {
	if p.Spec.Resources == nil {
		return
	}
	now := sumsOf(p)
	p.Spec.Resources = p.Spec.Resources.DeepCopy()
	before.dropFrom(p.Spec.Resources, func(name corev1.ResourceName, limit bool) bool {
		was, is := before.requests[name], now.requests[name]
		if limit {
			was, is = before.limits[name], now.limits[name]
		}
		return was.Cmp(is) != 0
	})
}

// brokenDefault returns the LimitRange whose defaults make a pod invalid that has requests or limits as a
// whole: those of containers must fit into them
// (k8s.io/kubernetes v1.37.2 pkg/apis/core/validation/validation.go, validatePodResourceConsistency).
func brokenDefault(p *corev1.Pod, ranges []LimitRange) *LimitRangeRefusal {
	if p.Spec.Resources == nil {
		return nil
	}
	sums := resource.AggregateContainerRequests(unshared(p), resource.PodResourcesOptions{})
	for _, r := range ranges {
		requests, limits := r.defaults()
		for _, name := range slices.Sorted(maps.Keys(requests)) {
			if whole, set := p.Spec.Resources.Requests[name]; set && whole.Cmp(sums[name]) < 0 {
				return &LimitRangeRefusal{r.Name, "defaultRequest " + string(name)}
			}
		}
		for _, name := range slices.Sorted(maps.Keys(limits)) {
			whole, set := p.Spec.Resources.Limits[name]
			if set && slices.ContainsFunc(p.Spec.Containers, func(c corev1.Container) bool { return whole.Cmp(c.Resources.Limits[name]) < 0 }) {
				return &LimitRangeRefusal{r.Name, "default " + string(name)}
			}
		}
	}
	return nil
}

// defaults are what it gives to containers that have no request or no limit of their own.
func (r LimitRange) defaults() (requests, limits corev1.ResourceList) {
	requests, limits = corev1.ResourceList{}, corev1.ResourceList{}
	for _, item := range r.Limits {
		if item.Type == corev1.LimitTypeContainer {
			maps.Copy(requests, item.DefaultRequest)
			maps.Copy(limits, item.Default)
		}
	}
	return requests, limits
}

// differs reports whether another one of the namespace has another default for the same resource.
func (r LimitRange) differs(other LimitRange) bool {
	requests, limits := r.defaults()
	otherRequests, otherLimits := other.defaults()
	for _, pair := range [][2]corev1.ResourceList{{requests, otherRequests}, {limits, otherLimits}} {
		for name, amount := range pair[0] {
			if same, both := pair[1][name]; both && amount.Cmp(same) != 0 {
				return true
			}
		}
	}
	return false
}

// setDefaults adds what a container lacks. The API server refuses a request above the limit that comes so.
func (r LimitRange) setDefaults(c *corev1.Container) *LimitRangeRefusal {
	requests, limits := r.defaults()
	c.Resources.Requests = merged(c.Resources.Requests, requests)
	c.Resources.Limits = merged(c.Resources.Limits, limits)
	for _, name := range slices.Sorted(maps.Keys(limits)) {
		limit, request := c.Resources.Limits[name], c.Resources.Requests[name]
		if request.Cmp(limit) > 0 {
			return &LimitRangeRefusal{r.Name, "default " + string(name)}
		}
	}
	return nil
}

func merged(list, defaults corev1.ResourceList) corev1.ResourceList {
	out := maps.Clone(defaults)
	maps.Copy(out, list)
	return out
}

// refuses returns the first limit that a pod violates.
func (r LimitRange) refuses(p *corev1.Pod) *LimitRangeRefusal {
	for i := range r.Limits {
		for _, held := range limited(r.Limits[i].Type, p) {
			if limit := violated(&r.Limits[i], held); limit != "" {
				return &LimitRangeRefusal{r.Name, limit}
			}
		}
	}
	return nil
}

// limited returns what limits of a type are about: each container, or the sums of the pod, its overhead not
// included (admission.go, podRequests and podLimits).
func limited(kind corev1.LimitType, p *corev1.Pod) (out []corev1.ResourceRequirements) {
	switch kind {
	case corev1.LimitTypeContainer:
		for _, c := range slices.Concat(p.Spec.Containers, p.Spec.InitContainers) {
			out = append(out, c.Resources)
		}
	case corev1.LimitTypePod:
		whole := resource.PodResourcesOptions{ExcludeOverhead: true}
		out = append(out, corev1.ResourceRequirements{Requests: resource.PodRequests(p, whole), Limits: resource.PodLimits(p, whole)})
	}
	return out
}

// violated returns the first limit of an item that these amounts violate, such as "min cpu", "" for none
// (admission.go, minConstraint, maxConstraint and limitRequestRatioConstraint).
func violated(item *corev1.LimitRangeItem, held corev1.ResourceRequirements) string {
	for _, name := range slices.Sorted(maps.Keys(item.Min)) {
		least := item.Min[name]
		if request, asks := held.Requests[name]; !asks || request.Cmp(least) < 0 {
			return "min " + string(name)
		}
		if limit, limits := held.Limits[name]; limits && limit.Cmp(least) < 0 {
			return "min " + string(name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(item.Max)) {
		most, request := item.Max[name], held.Requests[name]
		if limit, limits := held.Limits[name]; !limits || limit.Cmp(most) > 0 || request.Cmp(most) > 0 {
			return "max " + string(name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(item.MaxLimitRequestRatio)) {
		ratio, request, limit := item.MaxLimitRequestRatio[name], held.Requests[name], held.Limits[name]
		if request.IsZero() || limit.IsZero() || thousandths(limit)/thousandths(request)*1000 > thousandths(ratio) {
			return "maxLimitRequestRatio " + string(name)
		}
	}
	return ""
}

// thousandths returns an amount in thousandths: exactly, where an int64 holds them.
func thousandths(q apiresource.Quantity) float64 {
	if q.CmpInt64(apiresource.MaxMilliValue) > 0 {
		return q.AsApproximateFloat64() * 1000
	}
	return float64(q.MilliValue())
}
