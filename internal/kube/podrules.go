// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package kube

import (
	"encoding/binary"
	"strconv"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
)

// rulesOf finds or makes the shared value for what a pod requires of other pods. Most pods
// require nothing, and cost nothing here.
func (s *slimmer) rulesOf(spec *corev1.PodSpec) *snapshot.PodRules {
	s.key = s.key[:0]
	if a := spec.Affinity; a != nil && a.PodAffinity != nil {
		s.appendTerms('a', a.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution)
	}
	if a := spec.Affinity; a != nil && a.PodAntiAffinity != nil {
		s.appendTerms('n', a.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution)
	}
	for i := range spec.TopologySpreadConstraints {
		if c := &spec.TopologySpreadConstraints[i]; c.WhenUnsatisfiable == corev1.DoNotSchedule {
			s.key = append(s.key, 's')
			s.append(c)
		}
	}
	for i := range spec.InitContainers {
		if c := &spec.InitContainers[i]; c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways {
			s.appendPorts(c.Ports)
		}
	}
	for i := range spec.Containers {
		s.appendPorts(spec.Containers[i].Ports)
	}
	for _, disk := range snapshot.DisksOf(spec) {
		s.key = append(s.key, 'd')
		s.appendPair(strconv.FormatBool(disk.ReadOnly), disk.Name)
	}
	if len(s.key) == 0 {
		return nil
	}
	kept, ok := s.rules[string(s.key)]
	if !ok {
		kept = snapshot.PodRulesOf(spec)
		s.rules[string(s.key)] = kept
	}
	return kept
}

func (s *slimmer) appendTerms(kind byte, terms []corev1.PodAffinityTerm) {
	for i := range terms {
		s.key = append(s.key, kind)
		s.append(&terms[i])
	}
}

// appendPorts writes the host ports of a container into the key.
func (s *slimmer) appendPorts(ports []corev1.ContainerPort) {
	for i := range ports {
		p := &ports[i]
		if p.HostPort <= 0 {
			continue
		}
		s.key = binary.AppendVarint(append(s.key, 'p'), int64(p.HostPort))
		s.appendPair(string(p.Protocol), p.HostIP)
	}
}

// prefersPods reports whether a pod prefers nodes by the pods that run there.
func prefersPods(a *corev1.Affinity) bool {
	return a != nil && (a.PodAffinity != nil && len(a.PodAffinity.PreferredDuringSchedulingIgnoredDuringExecution) > 0 ||
		a.PodAntiAffinity != nil && len(a.PodAntiAffinity.PreferredDuringSchedulingIgnoredDuringExecution) > 0)
}

// isPreference reports whether a constraint keeps the pod away from no node.
func isPreference(c corev1.TopologySpreadConstraint) bool {
	return c.WhenUnsatisfiable == corev1.ScheduleAnyway
}

// since is when a pod was started, or created while it has not been.
func since(p *corev1.Pod) int64 {
	switch {
	case p.Status.StartTime != nil:
		return p.Status.StartTime.Unix()
	case p.CreationTimestamp.IsZero():
		return 0
	default:
		return p.CreationTimestamp.Unix()
	}
}
