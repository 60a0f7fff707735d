// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package kube

import (
	"encoding/binary"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
)

// allocatable reads what pods can have of a node, nil where its kubelet has not
// told yet.
func allocatable(list corev1.ResourceList) *snapshot.Resources {
	if len(list) == 0 {
		return nil
	}
	r := snapshot.ResourcesOf(list)
	return &r
}

// demandOf finds or makes the shared value for what this pod asks for. To work it
// out takes many times as long as to write a key of what it is worked out from.
// Pods whose status says something else than their spec, as during a resize in
// place, are rare: they are worked out first and shared by the outcome.
func (s *slimmer) demandOf(p *corev1.Pod) *snapshot.Demand {
	s.writeDemandKey(p)
	var d *snapshot.Demand
	if !plain(p) {
		d = snapshot.DemandOf(p)
		outcome := *d
		outcome.Template = nil
		s.key = fmt.Appendf(append(s.key, 'd'), "%+v", outcome)
	}
	if kept, ok := s.demands[string(s.key)]; ok {
		return kept
	}
	if d == nil {
		d = snapshot.DemandOf(p)
	}
	s.demands[string(s.key)] = d
	return d
}

// writeDemandKey writes what a pod's spec and LimitRanges say of its demand.
func (s *slimmer) writeDemandKey(p *corev1.Pod) {
	s.key = append(s.key[:0], 'k')
	if p.Spec.PreemptionPolicy != nil && *p.Spec.PreemptionPolicy == corev1.PreemptNever {
		s.key[0] = 'n'
	}
	deadline := byte(0)
	if p.Spec.ActiveDeadlineSeconds != nil && *p.Spec.ActiveDeadlineSeconds >= 0 {
		deadline = 1
	}
	elsewhere := byte(0)
	if snapshot.ReachesOtherNamespaces(p.Spec.Affinity) {
		elsewhere = 1
	}
	s.key = append(append(s.key, p.Spec.SchedulerName...), 0, byte(min(len(p.Spec.ResourceClaims), 1)), deadline, elsewhere, changedByte(p))
	s.key = append(append(s.key, p.Spec.PriorityClassName...), 0)
	priority := int64(0)
	if p.Spec.Priority != nil {
		priority = int64(*p.Spec.Priority)
	}
	s.key = binary.AppendVarint(s.key, priority)
	s.appendResources(p.Spec.Overhead)
	if p.Spec.Resources != nil {
		s.key = append(s.key, 'r')
	}
	s.appendRequirements(p.Spec.Resources)
	s.appendRequirements(p.Status.Resources)
	s.appendResources(p.Status.AllocatedResources)
	for i := range p.Spec.InitContainers {
		c := &p.Spec.InitContainers[i]
		kind := byte('i')
		if c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways {
			kind = 's'
		}
		s.key = append(s.key, kind)
		s.appendRequirements(&c.Resources)
	}
	for i := range p.Spec.Containers {
		s.key = append(s.key, 'c')
		s.appendRequirements(&p.Spec.Containers[i].Resources)
	}
	if defaulted := p.Annotations[snapshot.LimitRangerAnnotation]; defaulted != "" {
		s.key = append(append(s.key, 'l'), defaulted...)
		for _, list := range [][]corev1.Container{p.Spec.InitContainers, p.Spec.Containers} {
			for i := range list {
				s.key = append(append(s.key, 0), list[i].Name...)
			}
		}
	}
}

// changedByte is 1 for a pod whose spec has changed.
func changedByte(p *corev1.Pod) byte {
	if snapshot.Changed(p) {
		return 1
	}
	return 0
}

// plain reports that nothing in a pod's status raises or lowers what its spec asks
// for, container by container. Where all is below, the spec decides
// (k8s.io/component-helpers resource/helpers.go, AggregateContainerRequests).
func plain(p *corev1.Pod) bool {
	if p.Status.ExtendedResourceClaimStatus != nil {
		return false
	}
	for i := range p.Status.Conditions {
		if p.Status.Conditions[i].Type == corev1.PodResizePending {
			return false
		}
	}
	return statusesWithin(p.Status.ContainerStatuses, p.Spec.Containers) && statusesWithin(p.Status.InitContainerStatuses, p.Spec.InitContainers)
}

func statusesWithin(statuses []corev1.ContainerStatus, containers []corev1.Container) bool {
	for i := range statuses {
		status := &statuses[i]
		if status.AllocatedResources == nil && status.Resources == nil {
			continue
		}
		at := slices.IndexFunc(containers, func(c corev1.Container) bool { return c.Name == status.Name })
		if at < 0 {
			return false
		}
		requests := containers[at].Resources.Requests
		if !within(status.AllocatedResources, requests) || status.Resources != nil && !within(status.Resources.Requests, requests) {
			return false
		}
	}
	return true
}

// within reports that no amount is above the bound. An amount that the bound does
// not list is above it.
func within(list, bound corev1.ResourceList) bool {
	for name, q := range list {
		most, listed := bound[name]
		if !listed || q.Cmp(most) > 0 {
			return false
		}
	}
	return true
}

// appendRequirements writes requests and limits into the key.
func (s *slimmer) appendRequirements(r *corev1.ResourceRequirements) {
	if r == nil {
		r = &corev1.ResourceRequirements{}
	}
	s.appendResources(r.Requests)
	s.appendResources(r.Limits)
}

// appendResources writes a list into the key: how many there are, then each with
// its name and its amount in canonical form.
func (s *slimmer) appendResources(list corev1.ResourceList) {
	s.key = binary.AppendUvarint(s.key, uint64(len(list)))
	if len(list) == 0 {
		return
	}
	s.resources = s.resources[:0]
	for name := range list {
		s.resources = append(s.resources, name)
	}
	slices.Sort(s.resources)
	for _, name := range s.resources {
		q := list[name]
		s.key = binary.AppendUvarint(s.key, uint64(len(name)))
		s.key = append(s.key, name...)
		number, suffix := q.CanonicalizeBytes(s.number[:0])
		s.key = binary.AppendUvarint(s.key, uint64(len(number)+len(suffix)))
		s.key = append(append(s.key, number...), suffix...)
	}
}

// claimsOf returns the claims that a new pod in the place of this one would use.
// Claims of generic ephemeral volumes are not among them: they go with their pod,
// and the new one gets new ones.
func (s *slimmer) claimsOf(volumes []corev1.Volume) []string {
	var out []string
	for i := range volumes {
		if claim := volumes[i].PersistentVolumeClaim; claim != nil {
			out = append(out, s.intern(claim.ClaimName))
		}
	}
	return out
}
