// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package eviction

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
)

func TestEvaluate_whetherAnEvictedPodFitsAnotherNode(t *testing.T) {
	t.Parallel()
	change := tainting("n1", "a:NoExecute")
	runOne(t, []oneCase{
		{
			name: "none would take it", world: newWorld(node("n1"), node("n2", "b:NoSchedule")).run(pod("p", "n1")), change: change,
			want: "evicted_now", notReschedulabe: true, gone: true, reason: "no node fits: 1 is tainted a:NoExecute, 1 is tainted b:NoSchedule",
		},
		{name: "another one takes it", world: newWorld(node("n1"), node("n2")).run(pod("p", "n1")), change: change, want: "evicted_now"},
		{
			name: "a drained one would", world: newWorld(node("n1"), node("n2")).run(pod("p", "n1")),
			change: Scenario{Taints: change.Taints, Drains: map[string]bool{"n2": true}},
			want:   "evicted_now", notReschedulabe: true, gone: true, reason: "no node fits: 1 is tainted a:NoExecute, 1 is drained",
		},
		{
			name: "one whose labels change would", world: newWorld(node("n1"), node("n2")).run(pod("p", "n1", selecting("kubernetes.io/hostname", "n2"))),
			change: Scenario{Taints: change.Taints, Labels: map[string]map[string]string{"n2": {}}},
			want:   "evicted_now", notReschedulabe: true, gone: true, reason: "no node fits: 2 do not match its node selector",
		},
	})
}

func TestEvaluate_noScheduleMovesNoPod(t *testing.T) {
	t.Parallel()
	change := tainting("n1", "a:NoSchedule")
	two := func(p *snapshot.Pod) world { return newWorld(node("n1"), node("n2")).run(p) }
	one := func(p *snapshot.Pod) world { return newWorld(node("n1")).run(p) }
	daemon := []podOption{ownedBy("DaemonSet", "logs"), pinned("n1")}
	runOne(t, []oneCase{
		{name: "a pod that finds another node has nothing to fear", world: two(pod("p", "n1")), change: change, want: "stays", reason: "could not be scheduled on this node again"},
		{
			name: "a pod that finds no other node", world: one(pod("p", "n1")), change: change,
			want: "stays", notReschedulabe: true, reason: "nor on any other",
		},
		{name: "a pod that tolerates it is plain", world: one(pod("p", "n1", tolerating(exists("a", "")))), change: change, want: "stays"},
		{
			name: "a DaemonSet's pod is mis-scheduled", world: one(pod("p", "n1", daemon...)), change: change,
			want: "stays", misscheduled: true, reason: "its DaemonSet counts it as mis-scheduled",
		},
		{name: "a completed pod is not scheduled again anyway", world: one(pod("p", "n1", completed)), change: change, want: "stays"},
		{name: "a mirror pod is not scheduled anyway", world: one(pod("p", "n1", mirror)), change: change, want: "stays"},
		{
			name:  "a pod that the node would not take before either is not this change's doing",
			world: newWorld(node("n1", "b:NoSchedule")).run(pod("p", "n1")), change: tainting("n1", "b:NoSchedule", "a:NoSchedule"), want: "stays",
		},
		{
			name: "a toleration by Lt counts while the gate is on", gate: ComparisonOn, change: tainting("n1", "cost=5:NoSchedule"), want: "stays",
			world: one(pod("p", "n1", tolerating(corev1.Toleration{Key: "cost", Operator: "Lt", Value: "9"}))),
		},
		{
			name: "a toleration by Lt is told of while the gate is not known", change: tainting("n1", "cost=5:NoSchedule"), want: "stays", notReschedulabe: true,
			world:  one(pod("p", "n1", tolerating(corev1.Toleration{Key: "cost", Operator: "Lt", Value: "9"}))),
			reason: "unless the feature gate TaintTolerationComparisonOperators is on",
		},
	})
}

func TestEvaluate_saysOfPodsThatStayWhyNoOtherNodeWouldTakeThem(t *testing.T) {
	t.Parallel()
	w := newWorld(having(node("n1"), 4, 8), having(node("n2"), 2, 4)).run(pod("p", "n1", asking(3, 8)))
	v := only(t, Evaluate(w.Snapshot, tainting("n1", "a:NoSchedule"), ComparisonOff))
	if want := "could not be scheduled on this node again, nor on any other: 1 lacks memory (needs 8Gi, 4Gi free)"; !v.NoPlace || !strings.HasSuffix(v.Reason, want) {
		t.Errorf("%t, %q", v.NoPlace, v.Reason)
	}
}

// about returns the verdict of one pod of a report.
func about(t *testing.T, r *Report, name string) PodVerdict {
	t.Helper()
	for _, v := range r.Pods {
		if v.Pod.Name == name {
			return v
		}
	}
	t.Fatalf("there is no verdict for %s", name)
	return PodVerdict{}
}

func TestEvaluate_evictedPodsHoldNoRoom(t *testing.T) {
	t.Parallel()
	change := tainting("n1", "a:NoExecute")
	tolerant := tolerating(exists("a", ""), exists("old", ""))
	hurried := tolerating(exists("a", ""), lasting(exists("old", noEx), 30))
	two := func(p *snapshot.Pod, there *snapshot.Node, others ...*snapshot.Pod) world {
		return newWorld(having(node("n1"), 100, 100), there).run(p).run(others...)
	}
	for _, tt := range []struct {
		name   string
		world  world
		change Scenario
		back   bool
	}{
		{
			name: "pods that leave by the same change", back: true,
			world:  two(pod("p", "n1", asking(1, 4), tolerating(exists("b", ""))), having(node("n2"), 4, 8), other("q", "n2", asking(1, 5))),
			change: Scenario{Taints: map[string][]corev1.Taint{"n1": taintsOf("a:NoExecute"), "n2": taintsOf("b:NoExecute")}},
		},
		{
			name: "pods that leave by it after a while", back: true,
			world:  two(pod("p", "n1", asking(1, 4), tolerating(exists("b", ""))), having(node("n2"), 4, 8), other("q", "n2", asking(1, 5), tolerating(lasting(exists("b", noEx), 30)))),
			change: Scenario{Taints: map[string][]corev1.Taint{"n1": taintsOf("a:NoExecute"), "n2": taintsOf("b:NoExecute")}},
		},
		{
			name:   "pods that tolerate it hold theirs",
			world:  two(pod("p", "n1", asking(1, 4), tolerating(exists("b", ""))), having(node("n2"), 4, 8), other("q", "n2", asking(1, 5), tolerating(exists("b", "")))),
			change: Scenario{Taints: map[string][]corev1.Taint{"n1": taintsOf("a:NoExecute"), "n2": taintsOf("b:NoExecute")}},
		},
		{
			name:  "a pod whose countdown runs already may be gone",
			world: two(pod("p", "n1", asking(1, 4), tolerating(exists("old", ""))), having(node("n2", "old:NoExecute"), 4, 8), other("q", "n2", asking(1, 5), hurried)), back: true,
		},
		{
			name:  "a pod that tolerates what is there stays",
			world: two(pod("p", "n1", asking(1, 4), tolerating(exists("old", ""))), having(node("n2", "old:NoExecute"), 4, 8), other("q", "n2", asking(1, 5), tolerant)),
		},
		{
			name: "a pod that the same run replaces may come to be elsewhere", back: true,
			world: two(pod("p", "n1", asking(1, 4)), having(node("n2"), 4, 8), other("q", "n2", asking(1, 5))),
			change: Scenario{
				Taints:      map[string][]corev1.Taint{"n1": taintsOf("a:NoExecute")},
				Tolerations: map[snapshot.WorkloadKey]Planned{{Namespace: "app", Owner: snapshot.Owner{Group: "apps", Kind: "ReplicaSet", Name: "other"}}: {After: []corev1.Toleration{exists("b", "")}, Sure: true}},
			},
		},
		{
			name: "its own node counts where the taint is tolerated for a while", back: true,
			world: newWorld(having(node("n1"), 4, 8)).run(pod("p", "n1", asking(1, 8), tolerating(lasting(exists("a", noEx), 30)))),
		},
		{
			name:  "its own node has no room beside a pod that stays",
			world: newWorld(having(node("n1"), 4, 8)).run(pod("p", "n1", asking(1, 8), tolerating(lasting(exists("a", noEx), 30))), other("q", "n1", asking(1, 1), tolerant)),
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := tt.change
			if c.Taints == nil {
				c = change
			}
			r := Evaluate(tt.world.Snapshot, c, ComparisonOff)
			if v := about(t, r, "p"); !v.Leaves() || fitsAgain(r, v) != tt.back {
				t.Errorf("%s, reschedulable %t, want %t: %s", v.Verdict, fitsAgain(r, v), tt.back, r.Why(v))
			}
		})
	}
}
