// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package eviction

import (
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/toleration"
)

// Planned is a change of a workload's tolerations in the same run.
type Planned struct {
	// Before and After are the workload's own tolerations; what admission and
	// controllers add to pods is seen on the live ones.
	Before, After []corev1.Toleration
	// Sure is set where the pods have the new tolerations before any taint is written.
	// Where it is not, a pod that only these would save gets the verdict Unknown.
	Sure bool
	// Restarts is set where the run replaces running pods, and Labels are what new ones require of nodes beside what pods
	// require now, nil for one that they no longer require.
	Restarts bool
	Labels   map[string]*string
	// Keeps reports whether a running pod, by its name, is not replaced all the same; nil for none.
	Keeps func(pod string) bool
}

// scheduling is that of the pod that replaces one of this scheduling.
func (p Planned) scheduling(live *snapshot.Scheduling) *snapshot.Scheduling {
	next := *live
	next.Tolerations, next.NodeSelector = p.OfPod(live.Tolerations), make(map[string]string, len(live.NodeSelector)+len(p.Labels))
	maps.Copy(next.NodeSelector, live.NodeSelector)
	for key, value := range p.Labels {
		if delete(next.NodeSelector, key); value != nil {
			next.NodeSelector[key] = *value
		}
	}
	return &next
}

// OfPod applies a change to the tolerations of a running pod and returns those of its replacement.
// Admission adds a default toleration to a pod whose template has none of the kind. A replacement
// whose template has one gets no default, so the default of the running pod is removed: it would
// be the first match.
//
// A replacement whose template loses its only toleration of the kind, or of every key, gets the
// default (k8s.io/kubernetes v1.37.2 plugin/pkg/admission/defaulttolerationseconds/admission.go).
func (p Planned) OfPod(live []corev1.Toleration) []corev1.Toleration {
	out := p.ofPod(live)
	for _, key := range []string{corev1.TaintNodeNotReady, corev1.TaintNodeUnreachable} {
		t := corev1.Toleration{Key: key, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute, TolerationSeconds: new(int64(300))}
		instead := func(own corev1.Toleration) bool { return defaulted(own, t) }
		if slices.ContainsFunc(p.Before, instead) && !slices.ContainsFunc(out, instead) {
			out = append(out, t)
		}
	}
	return out
}

// defaulted reports whether a toleration keeps admission from adding one of its own.
func defaulted(own, t corev1.Toleration) bool {
	return (own.Key == t.Key || own.Key == "") && (own.Effect == t.Effect || own.Effect == "")
}

func (p Planned) ofPod(live []corev1.Toleration) []corev1.Toleration {
	return p.Merge(slices.DeleteFunc(slices.Clone(live), func(t corev1.Toleration) bool {
		return byDefault(t) && !toleration.Contains(p.Before, t) && slices.ContainsFunc(p.After, func(own corev1.Toleration) bool {
			return defaulted(own, t)
		})
	}))
}

// byDefault reports whether a toleration looks like a default of admission
// (k8s.io/kubernetes v1.37.1 plugin/pkg/admission/defaulttolerationseconds/admission.go,
// Admit, whose condition OfPod has as well).
func byDefault(t corev1.Toleration) bool {
	return (t.Key == corev1.TaintNodeNotReady || t.Key == corev1.TaintNodeUnreachable) &&
		t.Operator == corev1.TolerationOpExists && t.Effect == corev1.TaintEffectNoExecute && t.TolerationSeconds != nil
}

// Merge lays a change over a list: what the template loses goes, what it gains comes, and
// everything else keeps its place.
func (p Planned) Merge(live []corev1.Toleration) []corev1.Toleration {
	var out []corev1.Toleration
	for _, t := range live {
		if toleration.Contains(p.Before, t) && !toleration.Contains(p.After, t) {
			at := slices.IndexFunc(p.After, func(a corev1.Toleration) bool { return toleration.IDOf(a) == toleration.IDOf(t) })
			if at < 0 {
				continue
			}
			t = p.After[at]
		}
		out = append(out, t)
	}
	for _, t := range p.After {
		if !toleration.Contains(out, t) {
			out = append(out, t)
		}
	}
	return out
}

type plannedKey struct {
	scheduling *snapshot.Scheduling
	workload   snapshot.WorkloadKey
}

// planned returns the scheduling that a pod will have by the run's change of its
// workload; ok is false where there is none.
func (e *evaluation) planned(pod *snapshot.Pod, owner snapshot.Owner) (s *snapshot.Scheduling, change *Planned, ok bool) {
	key := plannedKey{pod.Scheduling, snapshot.WorkloadKey{Namespace: pod.Namespace, Owner: owner}}
	found, ok := e.change.Tolerations[key.workload]
	if !ok {
		return nil, nil, false
	}
	s, known := e.replaced[key]
	if !known {
		other := *pod.Scheduling
		other.Tolerations = found.OfPod(pod.Scheduling.Tolerations)
		s = &other
		e.replaced[key] = s
	}
	return s, &found, true
}

// hedge joins the verdicts for a pod with and without a change of its
// tolerations of which it is not sure that it comes first. What only one of them
// has is not claimed. A pod that is evicted in any case keeps the earlier verdict.
func hedge(without, with PodVerdict) PodVerdict {
	same := without.Verdict == with.Verdict && without.AfterSeconds == with.AfterSeconds
	if same && without.NoPlace == with.NoPlace && without.Misscheduled == with.Misscheduled && without.Stranded == with.Stranded {
		return without
	}
	v := without
	v.OrderDependent = true
	v.Stranded = without.Stranded || with.Stranded
	v.SavedByTolerations = without.Stranded != with.Stranded
	if !same && without.Leaves() && with.Leaves() {
		return v.inAnyCase(with)
	}
	if !same {
		v.Verdict, v.AfterSeconds, v.Lost, v.MayBeLost = Unknown, 0, false, false
	}
	if !v.Leaves() {
		v.NoPlace, v.Misscheduled = without.NoPlace && with.NoPlace, without.Misscheduled && with.Misscheduled
	}
	v.Reason += "; it is not known whether the tolerations that this plan gives its workload come first"
	return v
}

// inAnyCase is the earlier one of two verdicts that both evict the pod: by what it has, and by the planned
// tolerations of its workload.
func (v PodVerdict) inAnyCase(with PodVerdict) PodVerdict {
	if with.AfterSeconds > v.AfterSeconds {
		v.Reason += fmt.Sprintf("; evicted after %ds if the tolerations that this plan gives its workload come first", with.AfterSeconds)
		return v
	}
	v.Verdict, v.AfterSeconds, v.Taint, v.Toleration, v.Reason = with.Verdict, with.AfterSeconds, with.Taint, with.Toleration, with.Reason
	v.Reason += "; it is not known whether the tolerations that this plan gives its workload come first"
	return v
}

// strands returns what makes a pod stranded: a taint that it tolerates goes or
// changes its value, and one that it does not tolerate comes in the same change.
// Such a pod was meant to be on the node.
func strands(tolerations []corev1.Toleration, before, after []corev1.Taint, gate bool) (old, brought *corev1.Taint) {
	for i := range before {
		if slices.ContainsFunc(after, same(before[i])) || toleration.Lasts(tolerations, before[i], gate) != toleration.Forever {
			continue
		}
		for j := range after {
			if after[j].Effect == corev1.TaintEffectPreferNoSchedule || slices.ContainsFunc(before, same(after[j])) {
				continue
			}
			if toleration.Lasts(tolerations, after[j], gate) != toleration.Forever {
				return &before[i], &after[j]
			}
		}
	}
	return nil, nil
}

// same compares taints by identity and value.
func same(t corev1.Taint) func(corev1.Taint) bool {
	return func(other corev1.Taint) bool { return taint.IDOf(t) == taint.IDOf(other) && t.Value == other.Value }
}

// strand notes that a pod is stranded, by what it carries or by its DaemonSet's template.
func (e *evaluation) strand(v *PodVerdict, node changedNode, by basis) {
	if v.Pod.Completed || v.Pod.Mirror || v.Pod.Terminating {
		return
	}
	gate := e.comparison != ComparisonOff
	old, brought := strands(by.scheduling.Tolerations, node.before, node.after, gate)
	if old == nil && by.template != nil {
		old, brought = strands(by.template.Tolerations, node.before, node.after, gate)
	}
	if old == nil {
		return
	}
	v.Stranded = true
	if v.Taint != nil && *v.Taint == *brought {
		v.Reason += "; it tolerates " + taint.Format(*old) + ", which is removed"
	} else {
		v.Reason += "; it tolerates " + taint.Format(*old) + ", which is removed, but not " + taint.Format(*brought) + ", which is added"
	}
}

// Stranded returns the pods that tolerate what goes and not what comes.
func (r *Report) Stranded() []PodVerdict {
	var out []PodVerdict
	for _, v := range r.Pods {
		if v.Stranded {
			out = append(out, v)
		}
	}
	return out
}
