// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package planner

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/workload"
)

func TestBlocking(t *testing.T) {
	t.Parallel()
	db := snapshot.WorkloadKey{Namespace: "shop", Owner: snapshot.Owner{Group: "apps", Kind: "StatefulSet", Name: "db"}}
	pod := func(name string, change func(*snapshot.Pod)) *snapshot.Pod {
		p := &snapshot.Pod{Namespace: "shop", Name: name, Node: "n", Ready: true, Controller: &snapshot.Controller{Owner: db.Owner, UID: "db"}, Scheduling: &snapshot.Scheduling{}}
		if change != nil {
			change(p)
		}
		return p
	}
	unready := func(p *snapshot.Pod) { p.Ready = false }
	s := &snapshot.Snapshot{
		Pods: map[string][]*snapshot.Pod{
			"n": {
				pod("db-0", nil), pod("db-1", unready), pod("db-2", func(p *snapshot.Pod) { p.Terminating = true }),
				pod("db-4", func(p *snapshot.Pod) { p.Ready, p.Completed = false, true }),
			},
			"m": {pod("web-0", func(p *snapshot.Pod) { p.Ready, p.Controller = false, nil }), pod("db-9", func(p *snapshot.Pod) { p.Ready, p.Namespace = false, "other" })},
		},
		Waiting: []*snapshot.Pod{pod("db-3", unready)},
	}
	names := func(w workload.Workload) []string {
		w.Pods = []snapshot.WorkloadKey{db}
		var out []string
		for _, p := range Blocking(s, &w) {
			out = append(out, p.Name)
		}
		return out
	}
	if diff := cmp.Diff([]string{"db-1", "db-2", "db-3"}, names(workload.Workload{Ordered: []snapshot.WorkloadKey{db}})); diff != "" {
		t.Errorf("OrderedReady: %s", diff)
	}
	if got := names(workload.Workload{}); got != nil {
		t.Errorf("pods of other workloads block nothing, got %v", got)
	}
}

// TestBlocking_ofADaemonSet has pods on three nodes, some of which are not ready.
func TestBlocking_ofADaemonSet(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		pace *workload.Pace
		dead []string
		// hostNetwork has pods ready whose nodes are not, such as for lack of a network.
		hostNetwork bool
		want        []string
	}{
		"all nodes are ready":                {pace: &workload.Pace{Unavailable: 1}},
		"one is not":                         {pace: &workload.Pace{Unavailable: 1}, dead: []string{"b"}, want: []string{"agent-b"}},
		"one is not, and two may be missing": {pace: &workload.Pace{Unavailable: 2}, dead: []string{"b"}},
		"one is not, and its pod is ready":   {pace: &workload.Pace{Unavailable: 1}, dead: []string{"b"}, hostNetwork: true},
		"two are not":                        {pace: &workload.Pace{Unavailable: 2}, dead: []string{"a", "b"}, want: []string{"agent-a", "agent-b"}},
		"new pods come first":                {pace: &workload.Pace{Surge: 1}, dead: []string{"b"}},
		"it replaces none by itself":         {dead: []string{"b"}},
	} {
		w := aWorkload(t, "DaemonSet", "agent")
		w.Rolling.Pace = tt.pace
		var nodes []*snapshot.Node
		var pods []*snapshot.Pod
		for _, node := range []string{"a", "b", "c"} {
			n, p := aNode(t, node, ""), aPod(t, w, "agent-"+node, node)
			n.Ready = !slices.Contains(tt.dead, node)
			p.Ready = n.Ready || tt.hostNetwork
			nodes, pods = append(nodes, n), append(pods, p)
		}
		var got []string
		for _, p := range Blocking(aSnapshot(nodes, pods...), w) {
			got = append(got, p.Name)
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// The operator of a workload that was read makes StatefulSets, which were read as well.
func TestOrder_knowsThePodManagementPoliciesThatWereRead(t *testing.T) {
	t.Parallel()
	set := func(name string, ordered bool) *workload.Workload {
		w := &workload.Workload{Ref: workload.Ref{APIVersion: "apps/v1", Kind: "StatefulSet", Namespace: "shop", Name: name}}
		if ordered {
			w.Ordered = []snapshot.WorkloadKey{w.Owner()}
		}
		return w
	}
	custom := &workload.Workload{Ref: workload.Ref{APIVersion: "example.com/v1", Kind: "Db", Namespace: "shop", Name: "db"}}
	custom.Operated([]*workload.Workload{set("made", true), set("parallel-made", false)})
	deployment := &workload.Workload{Ref: workload.Ref{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "shop", Name: "web"}}
	read := set("read", true).Owner()
	o := &order{snapshot: &snapshot.Snapshot{Ordered: map[snapshot.WorkloadKey]bool{read: true}}, ahead: newAhead()}
	for _, w := range []*workload.Workload{set("db", true), set("parallel", false), custom, deployment} {
		o.change.Workloads = append(o.change.Workloads, Tolerations{Workload: w})
	}
	want := map[snapshot.WorkloadKey]bool{
		set("db", true).Owner(): true, set("parallel", false).Owner(): false, set("made", true).Owner(): true, set("parallel-made", false).Owner(): false,
		read: true,
	}
	if diff := cmp.Diff(want, o.foreseen().Ordered); diff != "" {
		t.Error(diff)
	}
	if len(o.snapshot.Ordered) != 1 {
		t.Error("the shared snapshot has changed")
	}
}

func TestStep_rolloutsKnowWhichSetsStartPodsOneAfterTheOther(t *testing.T) {
	t.Parallel()
	for _, ordered := range []bool{true, false} {
		w := aWorkload(t, "StatefulSet", "db")
		if ordered {
			w.Ordered = []snapshot.WorkloadKey{w.Owner()}
		}
		p := aPod(t, w, "db-0", "a")
		step := Step{Workload: w, Pods: []*snapshot.Pod{p}}
		if got := step.rollouts(aSnapshot([]*snapshot.Node{aNode(t, "a", "gpu")}, p)); len(got) != 1 || got[0].Ordered != ordered {
			t.Errorf("%+v", got)
		}
	}
}
