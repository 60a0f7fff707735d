// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package eviction

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/placement"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
)

// oneCase is a change seen by one pod.
type oneCase struct {
	name   string
	world  world
	change Scenario
	// gate is what is known of the comparison operators.
	gate Comparison

	want            string // verdict, with its seconds
	lost            bool
	notReschedulabe bool
	misscheduled    bool
	gone            bool
	reason          string
}

// fitsAgain reports whether some node takes the pod that comes in the place of one, as far as that does
// not depend on the order.
func fitsAgain(r *Report, v PodVerdict) bool {
	g := r.Outcome().Of(v.Pod)
	return !v.NoPlace && (!v.Leaves() || g == nil || g.Fate != placement.Pending || len(g.Awaits) > 0)
}

func runOne(t *testing.T, tests []oneCase) {
	t.Helper()
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := Evaluate(tt.world.Snapshot, tt.change, tt.gate)
			v := only(t, r)
			if got := verdictOf(v); got != tt.want {
				t.Errorf("verdict %s, want %s", got, tt.want)
			}
			if v.Lost != tt.lost {
				t.Errorf("lost %t, want %t", v.Lost, tt.lost)
			}
			if got := fitsAgain(r, v); got == tt.notReschedulabe {
				t.Errorf("reschedulable %t, want %t", got, !tt.notReschedulabe)
			}
			if v.Misscheduled != tt.misscheduled {
				t.Errorf("misscheduled %t, want %t", v.Misscheduled, tt.misscheduled)
			}
			if got := r.Gone(v); got != tt.gone {
				t.Errorf("gone %t, want %t", got, tt.gone)
			}
			if tt.reason == "" && v.Reason != "" && tt.want == string(Stays) && !v.Plain() {
				t.Errorf("unexpected reason %q", v.Reason)
			}
			if got := r.Why(v); !strings.Contains(got, tt.reason) {
				t.Errorf("the reason %q does not contain %q", got, tt.reason)
			}
		})
	}
}

func TestEvaluate_classesOfPods(t *testing.T) {
	t.Parallel()
	two := func(p *snapshot.Pod) world { return newWorld(node("n1"), node("n2")).run(p) }
	change := tainting("n1", "a:NoExecute")
	runOne(t, []oneCase{
		{name: "a Deployment's pod leaves and comes back elsewhere", world: two(pod("p", "n1")), change: change, want: "evicted_now", reason: "does not tolerate a:NoExecute"},
		{
			name: "a bare pod leaves and nothing makes it again", world: two(pod("p", "n1", bare)), change: change,
			want: "evicted_now", lost: true, gone: true, reason: "no controller recreates it",
		},
		{
			name: "a completed pod leaves too, and nothing is lost", world: two(pod("p", "n1", completed, bare)), change: change,
			want: "evicted_now", reason: "it has completed, and only its Pod object is deleted",
		},
		{
			name: "a mirror pod leaves like any other and the kubelet makes it again", world: two(pod("p", "n1", mirror)), change: change,
			want: "evicted_now", reason: "the kubelet recreates the mirror pod",
		},
		{
			name: "a mirror pod of a file has the toleration of everything and stays", change: change, want: "stays",
			world: two(pod("p", "n1", mirror, tolerating(exists("", noEx)))),
		},
		{
			name: "a DaemonSet's pod leaves and its DaemonSet waits for the node", change: change,
			world: two(pod("p", "n1", ownedBy("DaemonSet", "logs"), pinned("n1"))),
			want:  "evicted_now", notReschedulabe: true, gone: true, reason: "not recreated until the node's taints and labels allow it",
		},
		{
			name: "a DaemonSet's pod that tolerates everything stays", change: change, want: "stays",
			world: two(pod("p", "n1", ownedBy("DaemonSet", "logs"), pinned("n1"), tolerating(exists("", "")))),
		},
		{
			name: "a terminating pod is leaving anyway", world: two(pod("p", "n1", terminating)), change: change,
			want: "stays", reason: "is already being deleted",
		},
		{
			// 300 s of tolerationSeconds, and no timer runs before the change.
			name: "a pod with 300 s leaves after 300 s", change: change, want: "evicted_after 300",
			world: two(pod("p", "n1", tolerating(lasting(exists("a", noEx), 300)))),
		},
		{
			name: "a pod without labels, owner and tolerations is judged as well", change: change, want: "evicted_now", lost: true, gone: true,
			world: two(&snapshot.Pod{Namespace: "app", Name: "p", Node: "n1", Scheduling: &snapshot.Scheduling{}}),
		},
	})
}

func TestEvaluate_looksOnlyAtNodesOfTheChange(t *testing.T) {
	t.Parallel()
	w := newWorld(node("n1"), node("n2")).run(pod("p1", "n1"), pod("p2", "n2"))
	r := Evaluate(w.Snapshot, tainting("n1", "a:NoExecute"), ComparisonOff)
	if v := only(t, r); v.Pod.Name != "p1" {
		t.Errorf("got a verdict on %s", v.Pod.Name)
	}
	if len(r.Nodes) != 1 || r.Nodes[0] != "n1" {
		t.Errorf("got nodes %v, want n1", r.Nodes)
	}
}

func TestEvaluate_sortsByNodeNamespaceAndName(t *testing.T) {
	t.Parallel()
	elsewhere := pod("a", "n1")
	elsewhere.Namespace = "zoo"
	w := newWorld(node("n1"), node("n2")).run(pod("b", "n2"), elsewhere, pod("c", "n1"), pod("b", "n1"))
	change := tainting("n2", "a:NoExecute")
	change.Drains = map[string]bool{"n1": true}
	var got []string
	for _, v := range Evaluate(w.Snapshot, change, ComparisonOff).Pods {
		got = append(got, v.Pod.Node+" "+v.Pod.Key())
	}
	if want := "n1 app/b, n1 app/c, n1 zoo/a, n2 app/b"; strings.Join(got, ", ") != want {
		t.Errorf("got %v, want %s", got, want)
	}
}

func TestEvaluate_ofNothingIsEmpty(t *testing.T) {
	t.Parallel()
	r := Evaluate(newWorld().Snapshot, tainting("gone", "a:NoExecute"), ComparisonOff)
	if len(r.Pods) != 0 || r.Summary() != (Summary{}) {
		t.Errorf("got %+v", r)
	}
}

func TestEvaluate_passesGapsOn(t *testing.T) {
	t.Parallel()
	w := newWorld(node("n1"))
	w.Gaps = []string{"Jobs could not be read"}
	if r := Evaluate(w.Snapshot, tainting("n1", "a:NoExecute"), ComparisonOff); len(r.Gaps) != 1 {
		t.Errorf("got gaps %v", r.Gaps)
	}
}

func TestEvaluate_rollsUpToTheTopOwner(t *testing.T) {
	t.Parallel()
	w := newWorld(node("n1")).run(pod("p", "n1"))
	if v := only(t, Evaluate(w.Snapshot, tainting("n1", "a:NoExecute"), ComparisonOff)); v.Owner.String() != "ReplicaSet/web-5d" {
		t.Errorf("with no parent known the owner is %s", v.Owner)
	}
	w.Parents["rs-web"] = snapshot.Owner{Group: "apps", Kind: "Deployment", Name: "web"}
	if v := only(t, Evaluate(w.Snapshot, tainting("n1", "a:NoExecute"), ComparisonOff)); v.Owner.String() != "Deployment/web" {
		t.Errorf("the owner is %s", v.Owner)
	}
}

func TestEvaluate_ofDrains(t *testing.T) {
	t.Parallel()
	two := func(p *snapshot.Pod) world { return newWorld(node("n1"), node("n2")).run(p) }
	change := draining("n1")
	both := tainting("n1", "a:NoExecute")
	both.Drains = change.Drains
	selected, deleting := draining("n1"), draining("n1")
	deleting.Deletes = true
	selected.Selects = func(p *snapshot.Pod) bool { return p.Name == "p" }
	all := tolerating(exists("", ""))
	runOne(t, []oneCase{
		{name: "a drain evicts whatever a pod tolerates", world: two(pod("p", "n1", all)), change: change, want: "drained", reason: "its node is drained"},
		{name: "a drain leaves a DaemonSet's pod alone", world: two(pod("p", "n1", ownedBy("DaemonSet", "logs"))), change: change, want: "stays"},
		{name: "a drain evicts a completed pod even of a DaemonSet", world: two(pod("p", "n1", ownedBy("DaemonSet", "logs"), completed)), change: change, want: "drained"},
		{name: "a drain leaves a mirror pod alone", world: two(pod("p", "n1", mirror)), change: change, want: "stays"},
		{name: "a drain leaves a completed mirror pod alone", world: two(pod("p", "n1", mirror, completed)), change: change, want: "stays"},
		{name: "a drain loses a bare pod", world: two(pod("p", "n1", bare)), change: change, want: "drained", lost: true, gone: true, reason: "no controller recreates it"},
		{name: "a drain evicts a pod that its pod selector matches", world: two(pod("p", "n1")), change: selected, want: "drained", reason: "its node is drained"},
		{name: "a drain leaves a pod that its pod selector does not match", world: two(pod("q", "n1")), change: selected, want: "stays", reason: "is not matched by the pod selector"},
		{name: "a drain leaves such a pod without a controller", world: two(pod("q", "n1", bare)), change: selected, want: "stays"},
		{name: "a drain leaves such a completed pod", world: two(pod("q", "n1", completed)), change: selected, want: "stays"},
		{name: "a drain that disables evictions deletes a pod", world: two(pod("p", "n1")), change: deleting, want: "drained", reason: "its node is drained by deleting pods"},
		{name: "a terminating pod is leaving anyway", world: two(pod("p", "n1", terminating)), change: change, want: "stays", reason: "already being deleted"},
		{name: "a node that is tainted and drained is drained", world: two(pod("p", "n1")), change: both, want: "drained"},
		{
			name: "a drained node takes no pod again", world: newWorld(node("n1")).run(pod("p", "n1")), change: change,
			want: "drained", notReschedulabe: true, gone: true, reason: "; no node fits: 1 is drained",
		},
	})
}

func TestEvaluate_ofLocalDataLeavesItToTheReader(t *testing.T) {
	t.Parallel()
	p := pod("p", "n1")
	p.LocalData = true
	v := only(t, Evaluate(newWorld(node("n1")).run(p).Snapshot, tainting("n1", "a:NoExecute"), ComparisonOff))
	if !v.Leaves() || !v.Pod.LocalData {
		t.Errorf("a pod with an emptyDir is not known as one: %+v", v)
	}
}

func TestEvaluate_ofPreferNoScheduleIsPlain(t *testing.T) {
	t.Parallel()
	w := newWorld(node("n1")).run(pod("p", "n1"))
	v := only(t, Evaluate(w.Snapshot, Scenario{Taints: map[string][]corev1.Taint{"n1": taintsOf("a:PreferNoSchedule")}}, ComparisonUnknown))
	if !v.Plain() {
		t.Errorf("PreferNoSchedule only scores, but there is something to tell: %s", v.Reason)
	}
}
