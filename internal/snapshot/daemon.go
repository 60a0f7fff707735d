// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package snapshot

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Daemon is what a DaemonSet's template says of nodes. The DaemonSet controller asks
// the template, not the pods that run, which nodes should have a pod and which pods may
// go on: the two differ while pods are older than the template, and where admission
// gives pods what the template does not have (k8s.io/kubernetes v1.37.1
// pkg/controller/daemon/daemon_controller.go, podsShouldBeOnNode and
// nodeShouldRunDaemonPod).
type Daemon struct {
	Scheduling
	HostNetwork bool
}

// DaemonOf takes from the spec of a DaemonSet's template what its controller judges by.
func DaemonOf(spec *corev1.PodSpec) *Daemon {
	d := &Daemon{Scheduling: Scheduling{Tolerations: spec.Tolerations, NodeSelector: spec.NodeSelector}, HostNetwork: spec.HostNetwork}
	if spec.Affinity != nil && spec.Affinity.NodeAffinity != nil {
		d.Affinity = spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution
	}
	if spec.NodeName != "" {
		d.Affinity = OnNode(d.Affinity, spec.NodeName)
	}
	return d
}

// OnNode narrows a required affinity to one node; nil requires nothing else.
func OnNode(affinity *corev1.NodeSelector, name string) *corev1.NodeSelector {
	terms := []corev1.NodeSelectorTerm{{}}
	if affinity != nil {
		terms = slices.Clone(affinity.NodeSelectorTerms)
	}
	for i := range terms {
		terms[i].MatchFields = append(slices.Clone(terms[i].MatchFields), corev1.NodeSelectorRequirement{
			Key: metav1.ObjectNameField, Operator: corev1.NodeSelectorOpIn, Values: []string{name},
		})
	}
	return &corev1.NodeSelector{NodeSelectorTerms: terms}
}
