// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package eviction

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/placement"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
)

// pool is a node of a pool, with four cores.
func pool(name string, taints ...string) *snapshot.Node {
	n := having(node(name, taints...), 4, 16)
	n.Labels["pool"] = "gpu"
	return n
}

// TestEvaluate_machinesThatCome may take back what a drain evicts.
func TestEvaluate_machinesThatCome(t *testing.T) {
	t.Parallel()
	tolerant := tolerating(exists("team", corev1.TaintEffectNoExecute))
	for name, tt := range map[string]struct {
		others  []*snapshot.Node
		pods    []*snapshot.Pod
		closed  map[string]bool
		awaits  []string
		gone    bool
		reasons []string
	}{
		"a pod that fits only there is said to": {nil, []*snapshot.Pod{pod("web", "gpu-1", selecting("pool", "gpu"), tolerant)}, nil,
			[]string{"MachineSet gpu"}, false, []string{"its node is drained; fits only new machines of MachineSet gpu"}},
		"a pod that another node takes does not wait for them": {[]*snapshot.Node{node("free")}, []*snapshot.Pod{pod("web", "gpu-1", tolerant)}, nil,
			nil, false, []string{"its node is drained"}},
		"another node whose machine goes anyway takes nothing": {[]*snapshot.Node{node("free")}, []*snapshot.Pod{pod("web", "gpu-1", tolerant)}, map[string]bool{"free": true},
			[]string{"MachineSet gpu"}, false, []string{"only new machines of MachineSet gpu"}},
		"a pod that does not tolerate their taints does not come back": {nil, []*snapshot.Pod{pod("web", "gpu-1")}, nil,
			nil, true, []string{"no node fits: 1 is drained; the new machines are tainted team=a:NoExecute"}},
		"a pod that selects what they do not have does not come back": {nil, []*snapshot.Pod{pod("web", "gpu-1", selecting("disk", "ssd"), tolerant)}, nil,
			nil, true, []string{"the new machines do not match its node selector"}},
		"a pod that asks for more than they have does not come back": {nil, []*snapshot.Pod{pod("web", "gpu-1", asking(5, 0), tolerant)}, nil,
			nil, true, []string{"the new machines lack cpu (needs 5, at most 4 free)"}},
		"what DaemonSets hold on each node is not free there": {nil, []*snapshot.Pod{pod("web", "gpu-1", asking(3, 0), tolerant), pod("agent", "gpu-1", ownedBy("DaemonSet", "agent"), asking(2, 0), tolerant)}, nil,
			nil, true, []string{"is a DaemonSet pod", "the new machines lack cpu (needs 3, at most 2 free)"}},
		"other pods of the old machine hold nothing on the new one": {nil, []*snapshot.Pod{pod("web", "gpu-1", asking(3, 0), tolerant), pod("other", "gpu-1", asking(2, 0), tolerant, selecting("pool", "gpu"))}, nil,
			[]string{"MachineSet gpu"}, false, []string{"only new machines"}},
	} {
		t.Run(strings.ReplaceAll(name, " ", "_"), func(t *testing.T) {
			t.Parallel()
			w := newWorld(append(tt.others, pool("gpu-1"))...).run(tt.pods...)
			change := draining("gpu-1")
			change.Closed = tt.closed
			change.Comes = []placement.Coming{{Node: pool("", "team=a:NoExecute"), Like: "gpu-1", Of: "MachineSet gpu"}}
			var reasons []string
			web := PodVerdict{}
			report := Evaluate(w.Snapshot, change, ComparisonOff)
			for _, v := range report.Pods {
				reasons = append(reasons, report.Why(v))
				if v.Pod.Name == "web" {
					web = v
				}
			}
			if diff := cmp.Diff(tt.awaits, report.Awaits(web)); diff != "" || report.Gone(web) != tt.gone {
				t.Errorf("gone is %v, awaits: %s", report.Gone(web), diff)
			}
			for _, want := range tt.reasons {
				if !strings.Contains(strings.Join(reasons, "\n"), want) {
					t.Errorf("no reason says %q: %q", want, reasons)
				}
			}
		})
	}
}

// TestEvaluate_drainsThatChangeTaints checks which pods do not tolerate the taints of the new
// machines, and which DaemonSets have no pod there.
func TestEvaluate_drainsThatChangeTaints(t *testing.T) {
	t.Parallel()
	w := newWorld(node("gpu-1", "team=a:NoSchedule")).run(
		pod("old", "gpu-1", tolerating(equal("team", "a", corev1.TaintEffectNoSchedule))),
		pod("new", "gpu-1", tolerating(exists("team", corev1.TaintEffectNoSchedule))),
		pod("agent", "gpu-1", ownedBy("DaemonSet", "agent"), tolerating(equal("team", "a", corev1.TaintEffectNoSchedule))),
	)
	change := draining("gpu-1")
	change.Taints = tainting("gpu-1", "team=b:NoSchedule").Taints
	stranded, lost := map[string]bool{}, map[string]bool{}
	for _, v := range Evaluate(w.Snapshot, change, ComparisonOff).Pods {
		stranded[v.Pod.Name], lost[v.Pod.Name] = v.Stranded, v.Misscheduled
	}
	if diff := cmp.Diff(map[string]bool{"old": true, "new": false, "agent": true}, stranded); diff != "" {
		t.Errorf("stranded: %s", diff)
	}
	if diff := cmp.Diff(map[string]bool{"old": false, "new": false, "agent": true}, lost); diff != "" {
		t.Errorf("not on the new machine: %s", diff)
	}
}

func TestEvaluate_machinesThatGoWithoutADrainAskNoBudget(t *testing.T) {
	t.Parallel()
	w := newWorld(node("a"), node("b")).run(pod("one", "a"), pod("two", "b")).budget("app", "pdb", "app=web", 0)
	change := draining("a", "b")
	change.Undrained = map[string]bool{"a": true}
	got := map[string]string{}
	for _, v := range Evaluate(w.Snapshot, change, ComparisonOff).Pods {
		got[v.Pod.Name] = v.Budget
	}
	want := map[string]string{"one": "pdb is bypassed: it allows 0 disruptions, but 1 of its pods is evicted", "two": "pdb is respected: it allows 0 disruptions now, but 1 of its pods must be drained"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestEvaluate_machinesThatComeForAnOrderedSet: the second pod is recreated once the first one runs on a
// machine that comes, and neither of them is gone.
func TestEvaluate_machinesThatComeForAnOrderedSet(t *testing.T) {
	t.Parallel()
	ordered := []podOption{selecting("pool", "gpu"), ownedBy("StatefulSet", "db"), tolerating(exists("team", corev1.TaintEffectNoExecute))}
	w := newWorld(pool("gpu-1"), node("free")).run(pod("db-0", "gpu-1", ordered...), pod("db-1", "gpu-1", ordered...))
	w = w.policy("db", true)
	change := draining("gpu-1")
	for comes, awaits := range map[bool][]string{true: {"MachineSet gpu"}, false: nil} {
		if change.Comes = nil; comes {
			change.Comes = []placement.Coming{{Node: pool("", "team=a:NoExecute"), Like: "gpu-1", Of: "MachineSet gpu"}}
		}
		r := Evaluate(w.Snapshot, change, ComparisonOff)
		for _, v := range r.Pods {
			if diff := cmp.Diff(awaits, r.Awaits(v)); diff != "" || r.Gone(v) == comes {
				t.Errorf("new machines %t: %s is gone %t, or waits for others: %s", comes, v.Pod.Name, r.Gone(v), diff)
			}
		}
		if why := r.Why(r.Pods[1]); !strings.Contains(why, "not recreated before the Pending pods of its StatefulSet") {
			t.Errorf("new machines %t: of %s it says %q", comes, r.Pods[1].Pod.Name, why)
		}
	}
}
