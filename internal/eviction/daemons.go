// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package eviction

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
)

// DaemonTolerations adds to the tolerations of a DaemonSet's template those that its
// pods get beside them (k8s.io/kubernetes v1.37.1
// pkg/controller/daemon/util/daemonset_util.go, AddOrUpdateDaemonPodTolerations).
func DaemonTolerations(own []corev1.Toleration, hostNetwork bool) []corev1.Toleration {
	out := slices.Clone(own)
	add := func(key string, effect corev1.TaintEffect) {
		builtin := corev1.Toleration{Key: key, Operator: corev1.TolerationOpExists, Effect: effect}
		there := false
		for i := range out {
			if builtin.MatchToleration(&out[i]) {
				out[i], there = builtin, true
			}
		}
		if !there {
			out = append(out, builtin)
		}
	}
	add(corev1.TaintNodeNotReady, corev1.TaintEffectNoExecute)
	add(corev1.TaintNodeUnreachable, corev1.TaintEffectNoExecute)
	add(corev1.TaintNodeDiskPressure, corev1.TaintEffectNoSchedule)
	add(corev1.TaintNodeMemoryPressure, corev1.TaintEffectNoSchedule)
	add(corev1.TaintNodePIDPressure, corev1.TaintEffectNoSchedule)
	add(corev1.TaintNodeUnschedulable, corev1.TaintEffectNoSchedule)
	if hostNetwork {
		add(corev1.TaintNodeNetworkUnavailable, corev1.TaintEffectNoSchedule)
	}
	return out
}

// daemons remembers what was worked out from templates.
type daemons struct {
	templates  map[daemonKey]*snapshot.Scheduling
	next       map[nextKey]*snapshot.Scheduling
	dismissals map[judgeKey]judgement
}

type daemonKey struct {
	daemon *snapshot.Daemon
	// planned is set where the change of its tolerations counts.
	planned bool
}

type nextKey struct {
	template *snapshot.Scheduling
	node     string
}

func newDaemons() daemons {
	return daemons{
		templates: map[daemonKey]*snapshot.Scheduling{}, next: map[nextKey]*snapshot.Scheduling{}, dismissals: map[judgeKey]judgement{},
	}
}

// daemon returns the template of a pod's DaemonSet, nil where the pod has none or it is
// not known. The change of its tolerations is nil where none counts.
func (e *evaluation) daemon(pod *snapshot.Pod, change *Planned) *snapshot.Scheduling {
	if pod.Controller == nil {
		return nil
	}
	d, known := e.snapshot.Daemons[pod.Controller.UID]
	if !known {
		return nil
	}
	key := daemonKey{d, change != nil}
	s, known := e.templates[key]
	if !known {
		template := d.Scheduling
		if change != nil {
			template.Tolerations = change.Merge(template.Tolerations)
		}
		template.Tolerations = DaemonTolerations(template.Tolerations, d.HostNetwork)
		s = &template
		e.templates[key] = s
	}
	return s
}

// successor is how the pod will be scheduled that a DaemonSet makes for a node: by its
// template, on this node alone.
func (e *evaluation) successor(template *snapshot.Scheduling, node string) *snapshot.Scheduling {
	key := nextKey{template, node}
	s, known := e.next[key]
	if !known {
		s = &snapshot.Scheduling{Tolerations: template.Tolerations, NodeSelector: template.NodeSelector, Affinity: snapshot.OnNode(template.Affinity, node)}
		e.next[key] = s
	}
	return s
}

// daemonSetDeletion is the DaemonSet controller's own part in what becomes of a pod: it deletes
// one whose node its template does not select or, of NoExecute taints, not tolerate. How
// long it tolerates them does not matter to it.
func (e *evaluation) daemonSetDeletion(v *PodVerdict, node changedNode, template *snapshot.Scheduling) {
	if v.Verdict == EvictedNow {
		return
	}
	if node.relabelled && e.nodes().Selects(template, node.name, node.labels) && !e.nodes().Selects(template, node.name, node.newLabels) {
		v.Verdict, v.AfterSeconds, v.Taint, v.Toleration = EvictedNow, 0, nil, nil
		v.Reason = "its DaemonSet does not select the node by its new labels"
		return
	}
	if !node.tainted {
		return
	}
	j := e.dismissal(node, template)
	if j.verdict == Unknown && v.Leaves() {
		// The taint-eviction controller deletes it in any case, and the DaemonSet controller may do so first.
		j.verdict, j.doubt = EvictedNow, 0
	}
	if j.goes() {
		v.Verdict, v.Doubt, v.AfterSeconds, v.Taint, v.Toleration, v.Reason = j.verdict, j.doubt, 0, j.taint, nil, j.reason
	}
}

func (e *evaluation) dismissal(node changedNode, template *snapshot.Scheduling) judgement {
	key := judgeKey{node.group, keyOf(template.Tolerations)}
	j, known := e.dismissals[key]
	if !known {
		j = dismissal(template.Tolerations, node.before, node.after, e.comparison == ComparisonOn)
		if e.comparison == ComparisonUnknown && slices.ContainsFunc(template.Tolerations, taint.Compares) {
			j = eitherGate(j, dismissal(template.Tolerations, node.before, node.after, true))
		}
		e.dismissals[key] = j
	}
	return j
}

// eitherGate joins what holds with the gate of comparisons off and on.
func eitherGate(off, on judgement) judgement {
	if off.verdict == on.verdict {
		return off
	}
	at := off.taint
	if at == nil {
		at = on.taint
	}
	return judgement{
		verdict: Unknown, doubt: DoubtGate, taint: at,
		reason: "its DaemonSet's template has a toleration with Lt or Gt: whether the pod stays depends on the feature gate TaintTolerationComparisonOperators; " + makeCertain,
	}
}

func dismissal(tolerations []corev1.Toleration, before, after []corev1.Taint, gate bool) judgement {
	at, was := untolerated(tolerations, after, gate), untolerated(tolerations, before, gate)
	switch {
	case at == nil:
		return judgement{verdict: Stays}
	case was == nil:
		return judgement{verdict: EvictedNow, taint: at, reason: "its DaemonSet's template does not tolerate " + taint.Format(*at) + ", even if the pod does"}
	}
	return judgement{verdict: Stays, untouched: true, taint: at, reason: "its DaemonSet's template does not tolerate " + taint.Format(*was) + ", which is already on the node: this change does not affect it"}
}

// untolerated returns the first NoExecute taint that no toleration matches.
func untolerated(tolerations []corev1.Toleration, taints []corev1.Taint, gate bool) *corev1.Taint {
	for i := range taints {
		if taints[i].Effect == corev1.TaintEffectNoExecute && taint.FirstMatch(tolerations, taints[i], gate) < 0 {
			return &taints[i]
		}
	}
	return nil
}
