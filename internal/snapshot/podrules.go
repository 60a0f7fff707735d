// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package snapshot

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// PodRules are what a pod requires of the other pods of a node or a domain, or prefers: pod affinity,
// topology spread, host ports and disks. Pods that are equal in it share one value.
type PodRules struct {
	// Affinity and AntiAffinity are the required terms.
	Affinity, AntiAffinity []PodTerm
	// Preferred are the preferred terms of both kinds.
	Preferred []WeightedTerm
	// Spread are the constraints with whenUnsatisfiable DoNotSchedule, SoftSpread those with ScheduleAnyway.
	Spread, SoftSpread []SpreadConstraint
	// Ports are the host ports of containers and sidecars.
	Ports []HostPort
	// Disks are the inline volumes that not every other pod of a node can use beside it.
	Disks []Disk
}

// Requires reports whether a pod with the rules keeps away from a node. Nil requires nothing.
func (r *PodRules) Requires() bool {
	return r != nil && len(r.Affinity)+len(r.AntiAffinity)+len(r.Spread)+len(r.Ports)+len(r.Disks) > 0
}

// Prefers reports whether a pod with the rules prefers nodes by the pods that run there. Nil prefers none.
func (r *PodRules) Prefers() bool { return r != nil && len(r.Preferred)+len(r.SoftSpread) > 0 }

// WeightedTerm is a preferred term of pod affinity. The weight of one of anti-affinity is negative.
type WeightedTerm struct {
	PodTerm

	Weight int32
}

// PodTerm is a term of pod affinity or anti-affinity. The API server has merged
// matchLabelKeys and mismatchLabelKeys into the selector when it created the pod
// (k8s.io/kubernetes v1.37.2 pkg/registry/core/pod/strategy.go, applyMatchLabelKeysAndMismatchLabelKeys).
type PodTerm struct {
	TopologyKey string
	Selector    labels.Selector
	// OwnNamespace is set where the term names no namespace and selects none.
	OwnNamespace bool
	Namespaces   []string
	// NamespaceSelector is nil for none; an empty one selects every namespace.
	NamespaceSelector labels.Selector
}

// Matches reports whether the term of a pod in the namespace owner selects a pod
// (k8s.io/kube-scheduler framework/types.go, AffinityTerm.Matches).
func (t *PodTerm) Matches(owner, namespace string, pod, namespaceLabels labels.Set) bool {
	in := t.OwnNamespace && namespace == owner || slices.Contains(t.Namespaces, namespace) ||
		t.NamespaceSelector != nil && t.NamespaceSelector.Matches(namespaceLabels)
	return in && t.Selector.Matches(pod)
}

// SpreadConstraint is a constraint of topology spread with its defaults filled in
// (k8s.io/kubernetes v1.37.2 pkg/scheduler/framework/plugins/podtopologyspread/common.go,
// filterTopologySpreadConstraints).
type SpreadConstraint struct {
	MaxSkew, MinDomains int32
	TopologyKey         string
	Selector            labels.Selector
	// MatchLabelKeys are labels of the pod whose values the selector requires as well.
	MatchLabelKeys []string
	// HonorAffinity and HonorTaints leave nodes out that the pod's node affinity, or its
	// tolerations, exclude.
	HonorAffinity, HonorTaints bool
}

// OnNodes reports whether its domains are nodes.
func (c *SpreadConstraint) OnNodes() bool { return c.TopologyKey == corev1.LabelHostname }

// HostPort is a port of a node that a pod takes.
type HostPort struct {
	IP       string
	Protocol corev1.Protocol
	Port     int32
}

// Conflicts reports whether two pods cannot have these ports on one node
// (k8s.io/kube-scheduler framework/types.go, HostPortInfo.CheckConflict).
func (p HostPort) Conflicts(other HostPort) bool {
	const every = "0.0.0.0"
	return p.Port == other.Port && p.Protocol == other.Protocol && (p.IP == other.IP || p.IP == every || other.IP == every)
}

// PodRulesOf reads the rules of a pod's spec, nil where it has none.
func PodRulesOf(spec *corev1.PodSpec) *PodRules {
	r := &PodRules{Ports: hostPorts(spec), Disks: DisksOf(spec)}
	if a := spec.Affinity; a != nil && a.PodAffinity != nil {
		r.Affinity = podTerms(a.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution)
		r.prefer(a.PodAffinity.PreferredDuringSchedulingIgnoredDuringExecution, 1)
	}
	if a := spec.Affinity; a != nil && a.PodAntiAffinity != nil {
		r.AntiAffinity = podTerms(a.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution)
		r.prefer(a.PodAntiAffinity.PreferredDuringSchedulingIgnoredDuringExecution, -1)
	}
	for i := range spec.TopologySpreadConstraints {
		switch c := &spec.TopologySpreadConstraints[i]; c.WhenUnsatisfiable {
		case corev1.DoNotSchedule:
			r.Spread = append(r.Spread, spreadConstraint(c))
		case corev1.ScheduleAnyway:
			r.SoftSpread = append(r.SoftSpread, spreadConstraint(c))
		}
	}
	if len(r.Affinity)+len(r.AntiAffinity)+len(r.Preferred)+len(r.Spread)+len(r.SoftSpread)+len(r.Ports)+len(r.Disks) == 0 {
		return nil
	}
	return r
}

func podTerms(terms []corev1.PodAffinityTerm) []PodTerm {
	var out []PodTerm
	for i := range terms {
		out = append(out, podTerm(&terms[i]))
	}
	return out
}

// prefer adds preferred terms. The sign is that of their weights.
func (r *PodRules) prefer(terms []corev1.WeightedPodAffinityTerm, sign int32) {
	for i := range terms {
		r.Preferred = append(r.Preferred, WeightedTerm{podTerm(&terms[i].PodAffinityTerm), sign * terms[i].Weight})
	}
}

func podTerm(t *corev1.PodAffinityTerm) PodTerm {
	term := PodTerm{
		TopologyKey: t.TopologyKey, Selector: selectorOf(t.LabelSelector), Namespaces: t.Namespaces,
		OwnNamespace: len(t.Namespaces) == 0 && t.NamespaceSelector == nil,
	}
	if t.NamespaceSelector != nil {
		term.NamespaceSelector = selectorOf(t.NamespaceSelector)
	}
	return term
}

func spreadConstraint(c *corev1.TopologySpreadConstraint) SpreadConstraint {
	out := SpreadConstraint{
		MaxSkew: c.MaxSkew, MinDomains: 1, TopologyKey: c.TopologyKey, Selector: selectorOf(c.LabelSelector), MatchLabelKeys: c.MatchLabelKeys,
		HonorAffinity: c.NodeAffinityPolicy == nil || *c.NodeAffinityPolicy == corev1.NodeInclusionPolicyHonor,
		HonorTaints:   c.NodeTaintsPolicy != nil && *c.NodeTaintsPolicy == corev1.NodeInclusionPolicyHonor,
	}
	if c.MinDomains != nil {
		out.MinDomains = *c.MinDomains
	}
	return out
}

// selectorOf matches nothing where the selector does not parse: the API server validates it.
func selectorOf(s *metav1.LabelSelector) labels.Selector {
	selector, err := metav1.LabelSelectorAsSelector(s)
	if err != nil {
		return labels.Nothing()
	}
	return selector
}

// hostPorts reads the ports of containers that run as long as the pod does
// (k8s.io/kubernetes v1.37.2 pkg/scheduler/util/utils.go, GetHostPorts).
func hostPorts(spec *corev1.PodSpec) []HostPort {
	var out []HostPort
	add := func(ports []corev1.ContainerPort) {
		for _, p := range ports {
			if p.HostPort <= 0 {
				continue
			}
			port := HostPort{IP: p.HostIP, Protocol: p.Protocol, Port: p.HostPort}
			if port.IP == "" {
				port.IP = "0.0.0.0"
			}
			if port.Protocol == "" {
				port.Protocol = corev1.ProtocolTCP
			}
			out = append(out, port)
		}
	}
	for i := range spec.InitContainers {
		if c := &spec.InitContainers[i]; c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways {
			add(c.Ports)
		}
	}
	for i := range spec.Containers {
		add(spec.Containers[i].Ports)
	}
	return out
}
