// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package planner

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/eviction"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/label"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/placement"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/toleration"
)

// Displaced is a pod whose place is lost to a change of its workload's
// tolerations: its replacement tolerates its node for a shorter time.
type Displaced struct {
	Pod    *snapshot.Pod
	Owner  snapshot.Owner
	Losses []Loss
	// Hold is why pods do not follow the change by themselves, empty where they
	// do.
	Hold string
	// Shortened is set where nothing goes: an entry that stays lasts for a shorter time.
	Shortened bool
	// Placement is where its replacement fits if it came alone, and Crowded is set where not all pods of its
	// rollout may find room together.
	placement.Placement
	Crowded bool
}

// Displacement is the pods whose places steps take, and the outcome of the rollouts that restart them.
type Displacement struct {
	Pods   []Displaced
	Rolled []RolledWorkload
	// Missing is how many new pods of all of these rollouts no node takes.
	Missing placement.Range
}

// Lasts is for how long all of the taints are tolerated from now on.
func (d Displaced) Lasts() int64 {
	shortest := toleration.Forever
	for _, l := range d.Losses {
		shortest = min(shortest, l.Lasts)
	}
	return shortest
}

// Loss is a taint of a pod's node that is tolerated for a shorter time, and for how
// long: toleration.Untolerated, or seconds.
type Loss struct {
	Taint corev1.Taint
	Lasts int64
}

// AtOnce reports whether the pod is deleted as soon as the template is written: the
// DaemonSet controller decides by the template which pods may keep running, regardless of the
// update strategy (k8s.io/kubernetes v1.37.1
// pkg/controller/daemon/daemon_controller.go, podsShouldBeOnNode and
// NodeShouldRunDaemonPod).
func (d Displaced) AtOnce() bool {
	return d.Owner.DaemonSet() && slices.ContainsFunc(d.Losses, func(l Loss) bool {
		return l.Lasts == toleration.Untolerated && l.Taint.Effect == corev1.TaintEffectNoExecute
	})
}

// By reports whether a step restarts pods that lose their places by it.
func (d Displacement) By(step Step) bool {
	return slices.ContainsFunc(d.Pods, func(one Displaced) bool { return !one.Shortened && slices.Contains(step.Pods, one.Pod) })
}

// PodsLosingTolerations returns the pods whose places those steps take that take tolerations away
// or shorten them, with the taints of the nodes as the steps before them leave them.
func PodsLosingTolerations(s *snapshot.Snapshot, steps []Step, comparison eviction.Comparison) Displacement {
	var out Displacement
	taints := map[string][]corev1.Taint{}
	for _, step := range steps {
		maps.Copy(taints, step.Taints())
		out.Pods = append(out.Pods, displaces(s, step, taints, comparison)...)
	}
	after := rollsAfter(s, steps, comparison, func(step Step) bool { return step.Kind != Wait && step.replaces() && out.By(step) })
	out.Rolled, out.Missing = after.workloads, after.missing
	for i := range out.Pods {
		d := &out.Pods[i]
		d.Crowded = slices.ContainsFunc(out.Rolled, func(r RolledWorkload) bool {
			return r.Missing.Max > 0 && slices.Contains(r.Workload.Pods, snapshot.WorkloadKey{Namespace: d.Pod.Namespace, Owner: d.Owner})
		})
	}
	return out
}

// displaces looks at one step. The taints are those of nodes that were changed before.
func displaces(s *snapshot.Snapshot, step Step, taints map[string][]corev1.Taint, comparison eviction.Comparison) []Displaced {
	if step.Kind == Wait || step.Workload == nil || !step.Merged.Template {
		return nil
	}
	w := step.Workload
	change := eviction.Planned{Before: w.Tolerations, After: step.Merged.Tolerations, Sure: true}
	var out []Displaced
	var pods []*snapshot.Pod
	for _, pod := range s.WorkloadPods(w.Pods...) {
		node, known := s.Nodes[pod.Node]
		if !known {
			continue
		}
		d := Displaced{Pod: pod, Owner: s.Owner(pod)}
		if w.Rolling.Keeps(pod.Name) {
			d.Hold = w.Rolling.Hold
		}
		if w.Rolling.Later {
			d.Hold = w.Rolling.Manner
		}
		on, changed := taints[node.Name]
		if !changed {
			on = node.Taints
		}
		d.lose(on, change.OfPod(pod.Scheduling.Tolerations), comparison)
		if w.Owner().DaemonSet() {
			d.notePodsDeleted(on, change, comparison)
		}
		d.Shortened = !slices.ContainsFunc(d.Losses, func(l Loss) bool {
			return toleration.Lasts(step.Merged.Removed, l.Taint, comparison != eviction.ComparisonOff) != toleration.Untolerated
		})
		if len(d.Losses) > 0 {
			out, pods = append(out, d), append(pods, unpinned(pod, step.Pins))
		}
	}
	for i, found := range eviction.Placements(s, pods, change, taints, comparison) {
		out[i].Placement = found
	}
	return out
}

// unpinned returns a pod as the one that comes for it, without the labels that its
// template does not require any more.
func unpinned(pod *snapshot.Pod, pins label.Merged) *snapshot.Pod {
	if len(pins.Removed) == 0 {
		return pod
	}
	next, scheduling := *pod, *pod.Scheduling
	scheduling.NodeSelector = maps.Clone(scheduling.NodeSelector)
	for _, key := range pins.Removed {
		delete(scheduling.NodeSelector, key)
	}
	next.Scheduling = &scheduling
	return &next
}

// lose notes the taints that a new list of tolerations tolerates for a shorter time
// than the pod does. PreferNoSchedule keeps no pod away.
func (d *Displaced) lose(taints []corev1.Taint, after []corev1.Toleration, comparison eviction.Comparison) {
	// An entry with Lt or Gt may be the one that the pod needs, where the gate is not
	// known.
	gate := comparison != eviction.ComparisonOff
	for _, t := range taints {
		lasts := toleration.Lasts(after, t, gate)
		if t.Effect == corev1.TaintEffectPreferNoSchedule || lasts >= toleration.Lasts(d.Pod.Scheduling.Tolerations, t, gate) {
			continue
		}
		d.Losses = append(d.Losses, Loss{t, lasts})
	}
}

// notePodsDeleted notes the NoExecute taints that the template of a DaemonSet tolerates no more,
// whatever the pod itself does: admission may have given it more than its template has.
func (d *Displaced) notePodsDeleted(taints []corev1.Taint, change eviction.Planned, comparison eviction.Comparison) {
	before, after := eviction.DaemonTolerations(change.Before, false), eviction.DaemonTolerations(change.After, false)
	gate := comparison != eviction.ComparisonOff
	for _, t := range taints {
		if t.Effect != corev1.TaintEffectNoExecute || toleration.Lasts(before, t, gate) == toleration.Untolerated || toleration.Lasts(after, t, gate) != toleration.Untolerated {
			continue
		}
		d.Losses = slices.DeleteFunc(d.Losses, func(l Loss) bool { return taint.Format(l.Taint) == taint.Format(t) })
		d.Losses = append(d.Losses, Loss{t, toleration.Untolerated})
	}
}
