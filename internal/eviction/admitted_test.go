// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package eviction

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/admission"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
)

// admitting is the world with a policy for pods of app web.
func (w world) admitting(change func(*admission.Policy)) world {
	p := admission.Policy{Name: "gpu", Match: admission.Match{PodSelector: "app=web"}, Tolerations: []corev1.Toleration{exists("b", "")}}
	if change != nil {
		change(&p)
	}
	w.Admission = w.Admission.With(p)
	return w
}

// allowing limits what pods of the namespace of the tests may tolerate.
func (w world) allowing(allowed ...corev1.Toleration) world {
	w.Admission.Namespaces = map[string]admission.Namespace{"app": {Allowed: allowed}}
	return w
}

func TestEvaluate_podsAreMadeAgainWithWhatAdmissionGives(t *testing.T) {
	t.Parallel()
	leaves := tainting("n1", "a:NoExecute")
	towns := func(options ...podOption) world {
		return newWorld(node("n1"), node("n2", "b:NoSchedule")).run(pod("p", "n1", options...))
	}
	const gone, given = "no node fits", "admission gives it b Exists when it is recreated"
	runOne(t, []oneCase{
		{name: "nothing is given", world: towns(), change: leaves, want: "evicted_now", notReschedulabe: true, gone: true, reason: gone},
		{name: "a policy gives what another node asks for", world: towns().admitting(nil), change: leaves, want: "evicted_now", reason: given},
		{name: "a policy for other pods", world: towns().admitting(func(p *admission.Policy) { p.Match.PodSelector = "app=db" }), change: leaves, want: "evicted_now", notReschedulabe: true, gone: true, reason: gone},
		{
			name: "a policy for pods that ask for a resource", world: towns(asking(0, 0, snapshot.Amount{Name: "nvidia.com/gpu", Value: 1})).admitting(func(p *admission.Policy) { p.Match = admission.Match{Requests: []string{"nvidia.com/gpu"}} }),
			change: leaves, want: "evicted_now", reason: given,
		},
		{
			name: "a policy for pods that ask for another one", world: towns(asking(0, 0, snapshot.Amount{Name: "nvidia.com/gpu", Value: 1})).admitting(func(p *admission.Policy) { p.Match = admission.Match{Requests: []string{"amd.com/gpu"}} }),
			change: leaves, want: "evicted_now", notReschedulabe: true, gone: true, reason: gone,
		},
		{
			name: "a policy pins to nodes that there are not", world: towns().admitting(func(p *admission.Policy) { p.Pin = map[string]string{"pool": "gpu"} }),
			change: leaves, want: "evicted_now", notReschedulabe: true, gone: true, reason: given,
		},
		{
			name: "a policy pins away from a node that would do", world: newWorld(node("n1"), node("n2")).run(pod("p", "n1")).admitting(func(p *admission.Policy) { p.Pin = map[string]string{"pool": "gpu"} }),
			change: leaves, want: "evicted_now", notReschedulabe: true, gone: true, reason: given,
		},
		{
			name:   "no controller makes a bare pod again",
			world:  towns(bare).admitting(nil),
			change: leaves, want: "evicted_now", lost: true, gone: true, reason: "no controller recreates it",
		},
		{
			name: "the controller of DaemonSets does not ask admission", world: towns(ownedBy("DaemonSet", "agent")).admitting(nil),
			change: leaves, want: "evicted_now", notReschedulabe: true, gone: true, reason: "not recreated until the node's taints and labels allow it",
		},
		{
			name: "what a pod carries now decides whether it stays", world: towns().admitting(func(p *admission.Policy) { p.Tolerations = []corev1.Toleration{exists("a", "")} }),
			change: leaves, want: "evicted_now", reason: "admission gives it a Exists when it is recreated",
		},
		{
			name: "a pod that stays could be put there again", world: newWorld(node("n1")).run(pod("p", "n1")).admitting(nil),
			change: tainting("n1", "b:NoSchedule"), want: "stays",
		},
		{
			name: "a drained pod", world: towns().admitting(nil), change: draining("n1"), want: "drained", reason: given,
		},
	})
	t.Run("the annotation of a namespace gives as well", func(t *testing.T) {
		t.Parallel()
		w := towns()
		w.Admission = &admission.Rules{Namespaces: map[string]admission.Namespace{"app": {Defaults: []corev1.Toleration{exists("b", "")}}}}
		if r := Evaluate(w.Snapshot, leaves, ComparisonOff); !fitsAgain(r, only(t, r)) {
			t.Errorf("the pod finds no node: %s", r.Why(only(t, r)))
		}
	})
	t.Run("a namespace that does not allow what a policy gives lets no pod be made", func(t *testing.T) {
		t.Parallel()
		w := towns().admitting(nil)
		for allowed, home := range map[string]bool{"a": false, "b": true} {
			r := Evaluate(w.allowing(exists(allowed, "")).Snapshot, leaves, ComparisonOff)
			v := only(t, r)
			if says := strings.HasSuffix(v.Reason, `; not recreated: namespace "app" does not allow b Exists`); fitsAgain(r, v) != home || says == home {
				t.Errorf("%s is allowed: the pod finds a node: %v (%s)", allowed, fitsAgain(r, v), v.Reason)
			}
		}
		stays := only(t, Evaluate(newWorld(node("n1")).run(pod("p", "n1")).admitting(nil).allowing(exists("a", "")).Snapshot, tainting("n1", "c:NoSchedule"), ComparisonOff))
		if !stays.NoPlace || !strings.HasSuffix(stays.Reason, `, nor on any other: namespace "app" does not allow b Exists`) {
			t.Errorf("a pod that stays: %v (%s)", stays.NoPlace, stays.Reason)
		}
	})
}

// TestMade_keepsWhatAdmissionDoesNotChange: a pod that a policy changes still prefers the nodes that it preferred.
func TestMade_keepsWhatAdmissionDoesNotChange(t *testing.T) {
	t.Parallel()
	p := pod("p", "n1")
	p.Scheduling.NodeSelector, p.Scheduling.Preferred = map[string]string{"pool": "a"}, []corev1.PreferredSchedulingTerm{{Weight: 7}}
	next := newEvaluation(newWorld(node("n1")).run(p).admitting(nil).Snapshot, Scenario{}, ComparisonOff).made(p, p.Scheduling)
	if len(next.Tolerations) != 1 || next.NodeSelector["pool"] != "a" || len(next.Preferred) != 1 || next.Preferred[0].Weight != 7 {
		t.Errorf("it is made as %+v", next)
	}
}
