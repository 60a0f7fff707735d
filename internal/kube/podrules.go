// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package kube

import (
	"encoding/binary"
	"strconv"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
)

// rulesOf finds or makes the shared value for what a pod requires of other pods, or prefers. Most pods
// do neither, and cost nothing here.
func (s *slimmer) rulesOf(spec *corev1.PodSpec) *snapshot.PodRules {
	s.key = s.key[:0]
	if a := spec.Affinity; a != nil && a.PodAffinity != nil {
		s.appendTerms('a', a.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution)
		s.appendWeighted('b', a.PodAffinity.PreferredDuringSchedulingIgnoredDuringExecution)
	}
	if a := spec.Affinity; a != nil && a.PodAntiAffinity != nil {
		s.appendTerms('n', a.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution)
		s.appendWeighted('m', a.PodAntiAffinity.PreferredDuringSchedulingIgnoredDuringExecution)
	}
	for i := range spec.TopologySpreadConstraints {
		s.key = append(s.key, 's')
		s.append(&spec.TopologySpreadConstraints[i])
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

func (s *slimmer) appendWeighted(kind byte, terms []corev1.WeightedPodAffinityTerm) {
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
