// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package eviction

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/placement"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
)

// TestOthers_whereReplacementsGo: a change evicts pod p from n1, and others of the run change what the case names.
func TestOthers_whereReplacementsGo(t *testing.T) {
	t.Parallel()
	evicts := func(name string, d snapshot.Departure) *snapshot.Others {
		return &snapshot.Others{Evicted: map[string]map[types.UID]snapshot.Departure{"n3": {types.UID("uid-" + name): d}}}
	}
	for name, tt := range map[string]struct {
		p      []podOption
		others *snapshot.Others
		want   placement.Range
		more   placement.Others
	}{
		"nothing":                               {},
		"a taint is added":                      {others: &snapshot.Others{Taints: map[string][]corev1.Taint{"n2": taintsOf("b:NoSchedule")}}, want: number(1)},
		"a tolerated taint is added":            {p: []podOption{tolerating(exists("b", ""))}, others: &snapshot.Others{Taints: map[string][]corev1.Taint{"n2": taintsOf("b:NoSchedule")}}},
		"the node is drained":                   {others: &snapshot.Others{Closed: map[string]bool{"n2": true}}, want: number(1)},
		"a required label goes":                 {p: []podOption{selecting("disk", "ssd")}, others: &snapshot.Others{Labels: map[string]map[string]string{"n2": {"disk": "ssd"}}}, want: number(1)},
		"the label has gone, and was set again": {p: []podOption{selecting("disk", "ssd")}, others: &snapshot.Others{Labels: map[string]map[string]string{"n2": {"disk": "hdd"}}}},
		"an evicted pod competes":               {others: evicts("q", snapshot.Departure{}), want: placement.Range{Max: 1}, more: placement.Others{Replacements: 1, Missing: placement.Range{Max: 1}, All: number(1)}},
		"it is evicted later":                   {others: evicts("q", snapshot.Departure{After: 60}), more: placement.Others{Replacements: 1, Missing: number(1), All: number(1)}},
		"it may be evicted":                     {others: evicts("q", snapshot.Departure{Unsure: true}), want: placement.Range{Max: 1}, more: placement.Others{Replacements: 1, Missing: placement.Range{Max: 1}, All: placement.Range{Max: 1}}},
		"its Job has failed":                    {others: evicts("q", snapshot.Departure{Lost: true})},
		"it is gone by now":                     {others: evicts("gone", snapshot.Departure{})},
		"this change evicts it":                 {others: &snapshot.Others{Evicted: map[string]map[types.UID]snapshot.Departure{"n1": {"uid-p": {}}}}},
	} {
		p := pod("p", "n1", append(tt.p, asking(1, 1))...)
		w := newWorld(having(node("n1"), 1, 1), having(labelled(node("n2"), "disk", "ssd"), 1, 1), having(node("n3", "full:NoSchedule"), 1, 1)).run(p, pod("q", "n3", asking(1, 1)))
		report := Evaluate(w.Beside(tt.others), tainting("n1", "a:NoExecute"), ComparisonOff)
		out := report.Outcome()
		if out.Missing != tt.want {
			t.Errorf("%s: %v are missing, want %v", name, out.Missing, tt.want)
		}
		if diff := cmp.Diff(tt.more, out.Others, cmpopts.IgnoreFields(placement.Others{}, "Before")); diff != "" {
			t.Errorf("%s: of others: %s", name, diff)
		}
		if got := report.Summary(); got.EvictedNow != 1 || got.Affected() != 1 {
			t.Errorf("%s: the verdicts are not those of the change alone: %+v", name, got)
		}
	}
}

// TestOthers_controllersMayNotRecreateTheirPods: q, which others evict, takes the only room from p if it is recreated.
func TestOthers_controllersMayNotRecreateTheirPods(t *testing.T) {
	t.Parallel()
	for kind, want := range map[string]placement.Range{"Run": number(1), "TaskRun": {Max: 1}} {
		group := map[string]string{"Run": "apps", "TaskRun": "tekton.dev"}[kind]
		w := newWorld(having(node("n1"), 1, 1), having(node("n2"), 1, 1), having(node("n3", "full:NoSchedule"), 1, 1)).run(
			pod("p", "n1", asking(1, 1)), pod("q", "n3", asking(1, 1), ranked(5), controlledBy(group, kind)))
		others := &snapshot.Others{Evicted: map[string]map[types.UID]snapshot.Departure{"n3": {"uid-q": {}}}}
		if out := Evaluate(w.Beside(others), tainting("n1", "a:NoExecute"), ComparisonOff).Outcome(); out.Missing != want {
			t.Errorf("%s: %v are missing, want %v", kind, out.Missing, want)
		}
	}
}

// TestOthers_countForMaxPending where the change takes the room of their replacements, though it evicts no pod.
func TestOthers_countForMaxPending(t *testing.T) {
	t.Parallel()
	none, one := int64(0), int64(1)
	w := newWorld(having(node("n1", "a:NoExecute"), 9, 9), having(node("n2"), 9, 9)).run(pod("q", "n1", asking(1, 1)), pod("far", "n1", asking(1, 1), selecting("disk", "none")))
	others := &snapshot.Others{Evicted: map[string]map[types.UID]snapshot.Departure{"n1": {"uid-q": {}, "uid-far": {}}}}
	r := Evaluate(w.Beside(others), tainting("n2", "b:NoSchedule"), ComparisonOff)
	want := []Excess{{Limit: MaxPending, Count: 1, Others: 1, Certain: true}}
	if diff := cmp.Diff(want, exceeded(Limits{MaxPending: &none}, r)); diff != "" {
		t.Errorf("where it takes the room of one of two: %s", diff)
	}
	if got := exceeded(Limits{MaxPending: &one}, r); got != nil {
		t.Errorf("one is allowed: %+v", got)
	}
	r = Evaluate(w.Beside(others), Scenario{Taints: map[string][]corev1.Taint{"n2": taintsOf("b:PreferNoSchedule")}}, ComparisonOff)
	if got := exceeded(Limits{MaxPending: &none}, r); got != nil {
		t.Errorf("where it takes no room: %+v", got)
	}
}

// TestOthers_doNotPreemptForTheChange: a pod that replacements of others preempt is evicted anyway.
func TestOthers_doNotPreemptForTheChange(t *testing.T) {
	t.Parallel()
	urgent := func(p *snapshot.Pod) { p.Demand.Priority = 1000 }
	w := newWorld(having(node("n1"), 1, 1), having(node("n2"), 1, 1), having(node("n3", "full:NoSchedule"), 9, 9), having(node("n4"), 4, 4)).run(
		pod("p", "n1", asking(1, 1)), pod("q", "n3", asking(4, 4), urgent), other("calm", "n4", asking(4, 4)))
	evicted := map[string]map[types.UID]snapshot.Departure{"n3": {"uid-q": {}}}
	for name, s := range map[string]*snapshot.Snapshot{"beside them": w.Beside(&snapshot.Others{Evicted: evicted}), "alone": w.Snapshot} {
		out := Evaluate(s, tainting("n1", "a:NoExecute"), ComparisonOff).Outcome()
		if out.Preempted.Max > 0 || len(out.Victims) > 0 || out.Missing.Max > 0 {
			t.Errorf("%s: %v are preempted and %v missing", name, out.Preempted, out.Missing)
		}
	}
}

func TestReport_Does(t *testing.T) {
	t.Parallel()
	w := newWorld(node("n1", "old:NoSchedule"), labelled(node("n2"), "disk", "ssd"), node("n3")).run(
		pod("now", "n1"), pod("later", "n1", tolerating(lasting(exists("a", ""), 60))), pod("stays", "n1", tolerating(exists("", ""))), pod("drained", "n3"))
	change := Scenario{
		Taints: map[string][]corev1.Taint{"n1": taintsOf("a:NoExecute"), "n3": taintsOf("new:NoSchedule")},
		Labels: map[string]map[string]string{"n2": {"kubernetes.io/hostname": "n2", "more": "x"}}, Drains: map[string]bool{"n3": true},
	}
	want := &snapshot.Others{
		Taints: map[string][]corev1.Taint{"n1": taintsOf("a:NoExecute")}, Labels: map[string]map[string]string{"n2": {"disk": "ssd"}}, Closed: map[string]bool{"n3": true},
		Evicted: map[string]map[types.UID]snapshot.Departure{"n1": {"uid-now": {}, "uid-later": {After: 60}}, "n3": {"uid-drained": {}}},
	}
	report := Evaluate(w.Snapshot, change, ComparisonOff)
	for name, r := range map[string]*Report{"one": report, "joined": Join(report, Evaluate(w.Snapshot, Scenario{}, ComparisonOff))} {
		if diff := cmp.Diff(want, r.Does(), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// TestOthers_pendingPodsOfAFailedJobDoNotCompete: another resource has its Job fail, which deletes the pod that waits for the only room.
func TestOthers_pendingPodsOfAFailedJobDoNotCompete(t *testing.T) {
	t.Parallel()
	w := newWorld(having(node("n1"), 1, 1), having(node("n2"), 1, 1)).run(pod("p", "n1", asking(1, 1)))
	w.Waiting = append(w.Waiting, pod("q", "", asking(1, 1), ranked(5), ofJob("batch"), pending))
	for name, tt := range map[string]struct {
		others *snapshot.Others
		want   placement.Range
	}{
		"it waits":         {want: number(1)},
		"its Job has gone": {others: &snapshot.Others{Evicted: map[string]map[types.UID]snapshot.Departure{"": {"uid-q": {Lost: true}}}}},
	} {
		if out := Evaluate(w.Beside(tt.others), tainting("n1", "a:NoExecute"), ComparisonOff).Outcome(); out.Missing != tt.want {
			t.Errorf("%s: %v are missing, want %v", name, out.Missing, tt.want)
		}
	}
}

// Of two pods, the node that comes takes one. To other changes, its replacement is not missing.
func TestDoes_namesPodsThatNewNodesTake(t *testing.T) {
	t.Parallel()
	w := newWorld(node("n1")).run(pod("p", "n1", selecting("disk", "nvme")), pod("q", "n1", selecting("disk", "ssd")))
	for _, p := range w.Pods["n1"] {
		p.UID = types.UID(p.Name)
	}
	change := tainting("n1", "a:NoExecute")
	for name, tt := range map[string]struct {
		comes []placement.Coming
		want  map[types.UID]bool
	}{
		"a node comes":   {[]placement.Coming{{Node: &snapshot.Node{Labels: map[string]string{"disk": "nvme"}}, Of: "MachineSet \"m\""}}, map[types.UID]bool{"p": true, "q": false}},
		"it comes first": {[]placement.Coming{{Node: &snapshot.Node{Labels: map[string]string{"disk": "nvme"}}, Of: "MachineSet \"m\"", Surges: true}}, map[types.UID]bool{"p": true, "q": false}},
		"none does":      {nil, map[types.UID]bool{"p": false, "q": false}},
	} {
		change.Comes = tt.comes
		got := map[types.UID]bool{}
		for uid, one := range Evaluate(w.Snapshot, change, ComparisonOff).Does().Evicted["n1"] {
			got[uid] = one.Awaited
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}
