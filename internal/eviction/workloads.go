// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package eviction

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/toleration"
)

// WorkloadAnswer reports how the running pods of one workload tolerate taints.
type WorkloadAnswer struct {
	snapshot.WorkloadKey
	// Pods is the number of running pods.
	Pods int
	// Differ is set where they do not all give the same answers, as in the middle
	// of a rollout. Of each taint the least tolerant pod answers.
	Differ bool
	// Lasts is how long all taints are tolerated together, on the scale of
	// TaintAnswer.Lasts. Uncertain is set where that depends on the gate.
	Lasts     int64
	Uncertain bool
	// Taints holds an answer for each taint, in the order of the question.
	Taints []TaintAnswer
}

// TaintAnswer reports how a list of tolerations tolerates one taint.
type TaintAnswer struct {
	Taint corev1.Taint
	// Lasts is toleration.Untolerated, a number of seconds, or
	// toleration.Forever.
	Lasts int64
	// Toleration is the one that decides, nil where none matches.
	Toleration *corev1.Toleration
	// Shadowed are later ones that would last longer, were it not that the first
	// match decides.
	Shadowed []corev1.Toleration
	// Uncertain is set where the answer depends on the feature gate
	// TaintTolerationComparisonOperators, of which nothing is known. The answer
	// is then the less tolerant one, whichever that is: as the first match
	// decides, the gate can make a list less tolerant too.
	Uncertain bool
}

// Answers returns how the running pods that concern the caller tolerate taints, by
// workload; a pod without a controller is a workload of kind Pod. Workloads are
// sorted by namespace, kind and name. Pods that wait for a node count too; pods
// that are being deleted or have completed do not.
func Answers(s *snapshot.Snapshot, taints []corev1.Taint, concerns func(*snapshot.Pod) bool, comparison Comparison) []WorkloadAnswer {
	q := question{taints: taints, gates: []bool{comparison == ComparisonOn}, known: map[*snapshot.Scheduling][][]TaintAnswer{}}
	if comparison == ComparisonUnknown {
		q.gates = []bool{false, true}
	}
	var out []WorkloadAnswer
	for key, pods := range live(s, concerns) {
		slices.SortFunc(pods, (*snapshot.Pod).Compare)
		out = append(out, q.workload(key, pods))
	}
	slices.SortFunc(out, func(a, b WorkloadAnswer) int { return a.Compare(b.WorkloadKey) })
	return out
}

// live groups the pods that run or are to run by their workloads.
func live(s *snapshot.Snapshot, concerns func(*snapshot.Pod) bool) map[snapshot.WorkloadKey][]*snapshot.Pod {
	out := map[snapshot.WorkloadKey][]*snapshot.Pod{}
	for key, pods := range s.PodsByWorkload() {
		for _, p := range pods {
			if !concerns(p) {
				continue
			}
			workload := key
			if workload.Kind == "" {
				workload.Owner = snapshot.Owner{Kind: "Pod", Name: p.Name}
			}
			out[workload] = append(out[workload], p)
		}
	}
	return out
}

// question is what all workloads are asked.
type question struct {
	taints []corev1.Taint
	// gates are the states of the feature gate that are possible.
	gates []bool
	// known are the answers so far, by gate and taint: pods that are equal in
	// their scheduling share them.
	known map[*snapshot.Scheduling][][]TaintAnswer
}

// workload joins the answers of a workload's pods.
func (q *question) workload(key snapshot.WorkloadKey, pods []*snapshot.Pod) WorkloadAnswer {
	w := WorkloadAnswer{WorkloadKey: key, Pods: len(pods)}
	first := q.answers(pods[0].Scheduling)
	least := make([][]TaintAnswer, len(first))
	for gate := range first {
		least[gate] = slices.Clone(first[gate])
	}
	asked := map[*snapshot.Scheduling]bool{pods[0].Scheduling: true}
	for _, p := range pods[1:] {
		if asked[p.Scheduling] {
			continue
		}
		asked[p.Scheduling] = true
		answers := q.answers(p.Scheduling)
		w.Differ = w.Differ || !apiequality.Semantic.DeepEqual(answers, first)
		for gate := range answers {
			for i, a := range answers[gate] {
				if a.Lasts < least[gate][i].Lasts {
					least[gate][i] = a
				}
			}
		}
	}
	w.Lasts, w.Uncertain, w.Taints = join(least)
	return w
}

// join makes one list of answers out of those for each state of the gate.
func join(gates [][]TaintAnswer) (lasts int64, uncertain bool, taints []TaintAnswer) {
	taints = slices.Clone(gates[0])
	lasts = together(gates[0])
	for _, answers := range gates[1:] {
		for i, a := range answers {
			if a.Lasts == taints[i].Lasts {
				continue
			}
			if a.Lasts < taints[i].Lasts {
				taints[i] = a
			}
			taints[i].Uncertain = true
		}
		other := together(answers)
		uncertain = uncertain || other != lasts
		lasts = min(lasts, other)
	}
	return lasts, uncertain, taints
}

// together is how long a node is tolerated that carries all of the taints.
func together(answers []TaintAnswer) int64 {
	lasts := toleration.Forever
	for _, a := range answers {
		lasts = min(lasts, a.Lasts)
	}
	return lasts
}

func (q *question) answers(s *snapshot.Scheduling) [][]TaintAnswer {
	out, known := q.known[s]
	if !known {
		for _, gate := range q.gates {
			list := make([]TaintAnswer, len(q.taints))
			for i, t := range q.taints {
				list[i] = answer(s.Tolerations, t, gate)
			}
			out = append(out, list)
		}
		q.known[s] = out
	}
	return out
}

// answer judges one taint by a list of tolerations. Seconds count against
// NoExecute alone, and as the taint-eviction controller counts them.
func answer(tolerations []corev1.Toleration, t corev1.Taint, gate bool) TaintAnswer {
	a := TaintAnswer{Taint: t, Lasts: toleration.Untolerated}
	first := taint.FirstMatch(tolerations, t, gate)
	if first < 0 {
		return a
	}
	a.Lasts, a.Toleration = toleration.Forever, &tolerations[first]
	if t.Effect != corev1.TaintEffectNoExecute {
		return a
	}
	if j := tolerance(tolerations, []corev1.Taint{t}, gate); j.verdict != Stays {
		a.Lasts, a.Shadowed = j.seconds, outlasting(tolerations, first, t, gate)
	}
	return a
}

// outlasting returns the tolerations behind the first match that match the taint
// as well and would last longer.
func outlasting(tolerations []corev1.Toleration, first int, t corev1.Taint, gate bool) []corev1.Toleration {
	var out []corev1.Toleration
	limit := tolerations[first].TolerationSeconds
	for _, later := range tolerations[first+1:] {
		longer := later.TolerationSeconds == nil || *later.TolerationSeconds > max(*limit, 0)
		if longer && taint.Tolerates(later, t, gate) && !toleration.Contains(out, later) {
			out = append(out, later)
		}
	}
	return out
}
