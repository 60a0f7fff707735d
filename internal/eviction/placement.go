// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package eviction

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
)

// home says whether any node would take pods of this scheduling after the
// change: by its taints, cordon, node selector and required node affinity.
func (e *evaluation) home(s *Scheduling) bool {
	found, known := e.homes[s]
	if !known {
		found = e.findHome(s)
		e.homes[s] = found
	}
	return found
}

func (e *evaluation) findHome(s *Scheduling) bool {
	gate := e.comparison == ComparisonOn
	var affinity *corev1.Affinity
	if s.Affinity != nil {
		affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: s.Affinity}}
	}
	required := nodeaffinity.NewRequiredNodeAffinity(s.NodeSelector, affinity)
	cordon := corev1.Taint{Key: corev1.TaintNodeUnschedulable, Effect: corev1.TaintEffectNoSchedule}
	cordonTolerated := taint.FirstMatch(s.Tolerations, cordon, gate) >= 0
	for _, object := range e.nodeObjects() {
		node := e.snapshot.Nodes[object.Name]
		if e.change.Drains[node.Name] || node.Unschedulable && !cordonTolerated {
			continue
		}
		_, after := e.taints(node.Name)
		if keepsAway(s.Tolerations, after, gate) != nil {
			continue
		}
		// An affinity that does not parse matches nothing, as in the scheduler.
		if ok, err := required.Match(object); ok && err == nil {
			return true
		}
	}
	return false
}

// nodeObjects makes the nodes' objects on first need: most changes evict only
// pods that some node takes at the first look.
func (e *evaluation) nodeObjects() []*corev1.Node {
	if e.objects == nil {
		e.objects = make([]*corev1.Node, 0, len(e.snapshot.Nodes))
		for _, n := range e.snapshot.Nodes {
			e.objects = append(e.objects, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: n.Name, Labels: n.Labels}})
		}
	}
	return e.objects
}
