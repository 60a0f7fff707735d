// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package planner

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/eviction"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/label"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/toleration"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/workload"
)

// The pod a1 runs on the node a, which carries taints; the node b carries none
// unless it says so.
func TestDisplaces_podsThatLoseTolerationsImmediately(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		kind, hold string
		// taints are those of the nodes a and b, list is the template's and pod what
		// the pod carries where it differs.
		taints, elsewhere, list, pod []string
		wanted                       []string
		later                        bool
		want                         []string
	}{
		"a Deployment's pod goes to another node": {taints: []string{"x=1:NoExecute"}, list: []string{"*x=1:NoExecute"}, want: []string{"a1 x=1:NoExecute -1 elsewhere"}},
		"or to none":                              {taints: []string{"x=1:NoExecute"}, elsewhere: []string{"y:NoSchedule"}, list: []string{"*x=1:NoExecute"}, want: []string{"a1 x=1:NoExecute -1 crowded"}},
		"one under NoSchedule too":                {taints: []string{"x=1:NoSchedule"}, list: []string{"*x=1:NoSchedule"}, want: []string{"a1 x=1:NoSchedule -1 elsewhere"}},
		"PreferNoSchedule keeps no pod away":      {taints: []string{"x=1:PreferNoSchedule"}, list: []string{"*x=1:PreferNoSchedule"}},
		"a taint that is not there costs nothing": {taints: []string{"x=2:NoExecute"}, list: []string{"*x=1:NoExecute"}},
		"nor one that another toleration covers":  {taints: []string{"x=1:NoExecute"}, list: []string{"*x=1:NoExecute", "x Exists"}},
		"nor one that admission added to the pod": {taints: []string{"x=1:NoExecute"}, list: []string{"*x=1:NoExecute"}, pod: []string{"x=1:NoExecute", "x Exists"}},
		"nor one that is not tolerated as it is":  {taints: []string{"y:NoExecute", "x=1:NoSchedule"}, list: []string{"*x=1:NoSchedule"}, want: []string{"a1 x=1:NoSchedule -1 elsewhere"}},
		"another value that comes does not help":  {taints: []string{"x=1:NoExecute"}, list: []string{"*x=1:NoExecute"}, wanted: []string{"x=2:NoExecute"}, want: []string{"a1 x=1:NoExecute -1 elsewhere"}},
		"a limited one is left":                   {taints: []string{"x=1:NoExecute"}, list: []string{"*x=1:NoExecute", "x Exists:NoExecute for 30s"}, want: []string{"a1 x=1:NoExecute 30 elsewhere"}},
		"an entry that lasts for a shorter time is left, whether it goes at once or not": {later: true, taints: []string{"x=1:NoExecute"}, list: []string{"*x=1:NoExecute"}, wanted: []string{"x=1:NoExecute for 30s"}, want: []string{"a1 x=1:NoExecute 30 shortened elsewhere"}},
		"one that lasts for a longer time costs no place":                                {taints: []string{"x=1:NoExecute"}, list: []string{"*x=1:NoExecute for 30s"}, wanted: []string{"x=1:NoExecute for 60s"}},
		"two taints are both told":                                                       {taints: []string{"x=1:NoExecute", "y:NoSchedule"}, list: []string{"*x=1:NoExecute", "*y:NoSchedule"}, want: []string{"a1 x=1:NoExecute -1 y:NoSchedule -1 elsewhere"}},
		"a DaemonSet's pod under NoExecute is deleted":                                   {kind: "DaemonSet", taints: []string{"x=1:NoExecute"}, list: []string{"*x=1:NoExecute"}, want: []string{"a1 x=1:NoExecute -1 at once elsewhere"}},
		"whatever holds it back":                                                         {kind: "DaemonSet", hold: "OnDelete", taints: []string{"x=1:NoExecute"}, list: []string{"*x=1:NoExecute"}, want: []string{"a1 x=1:NoExecute -1 at once held elsewhere"}},
		"even where admission added to the pod what its template has no more":            {kind: "DaemonSet", taints: []string{"x=1:NoExecute"}, list: []string{"*x=1:NoExecute"}, pod: []string{"x=1:NoExecute", "x Exists"}, want: []string{"a1 x=1:NoExecute -1 at once elsewhere"}},
		"but not under NoSchedule":                                                       {kind: "DaemonSet", taints: []string{"x=1:NoSchedule"}, list: []string{"*x=1:NoSchedule"}, want: []string{"a1 x=1:NoSchedule -1 elsewhere"}},
		"nor where it is tolerated for a while":                                          {kind: "DaemonSet", taints: []string{"x=1:NoExecute", "y:NoSchedule"}, list: []string{"*x=1:NoExecute", "x Exists:NoExecute for 30s", "*y:NoSchedule"}, want: []string{"a1 x=1:NoExecute 30 y:NoSchedule -1 elsewhere"}},
		"nor for a taint that its template has never tolerated":                          {kind: "DaemonSet", taints: []string{"x=1:NoExecute", "y:NoExecute"}, list: []string{"*x=1:NoExecute"}, pod: []string{"x=1:NoExecute", "y Exists"}, want: []string{"a1 x=1:NoExecute -1 at once elsewhere"}},
		"a CronJob's pod keeps what it has":                                              {kind: "CronJob", taints: []string{"x=1:NoExecute"}, list: []string{"*x=1:NoExecute"}, want: []string{"a1 x=1:NoExecute -1 held elsewhere"}},
		"what waits until it is not needed costs no place":                               {later: true, taints: []string{"x=1:NoExecute"}, list: []string{"*x=1:NoExecute"}},
		"what stays costs no place, whatever comes":                                      {taints: []string{"x=1:NoExecute"}, list: []string{"*x=1:NoExecute"}, wanted: []string{"x=1:NoExecute", "z:NoExecute"}},
		"an entry of another owner stays, and so do places":                              {taints: []string{"x=1:NoExecute"}, list: []string{"!x=1:NoExecute"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if tt.kind == "" {
				tt.kind = "Deployment"
			}
			w := aWorkload(t, tt.kind, "web", tt.list...)
			w.Rolling.Hold = tt.hold
			w.Rolling.Manner = "later"
			snapshot := aSnapshot([]*snapshot.Node{aNode(t, "a", "gpu", tt.taints...), aNode(t, "b", "cpu", tt.elsewhere...)}, aPod(t, w, "a1", "a", tt.pod...))
			desired := tolerate(t, w, tt.wanted...)
			desired.RemoveImmediately = !tt.later
			var got []string
			steps := Order(snapshot, Change{Workloads: []Tolerations{desired}}, eviction.ComparisonOff).Steps
			for _, d := range PodsLosingTolerations(snapshot, steps, eviction.ComparisonOff).Pods {
				got = append(got, writeDisplaced(d))
			}
			if diff := cmp.Diff(tt.want, got, cmpopts.EquateEmpty()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestDisplaces_leavesOutPodsOfNodesThatAreGone, whose pods are deleted soon.
func TestDisplaces_leavesOutPodsOfNodesThatAreGone(t *testing.T) {
	t.Parallel()
	w := aWorkload(t, "Deployment", "web", "*x=1:NoExecute")
	gone, pod := aPod(t, w, "a0", "gone"), aPod(t, w, "a1", "a")
	pod.Scheduling.NodeSelector = map[string]string{"pool": "gpu"}
	step := Step{Kind: Contract, Workload: w, Merged: toleration.Merged{Template: true, Removed: tols(t, "x=1:NoExecute")}, Pins: label.Merged{Removed: []string{"pool"}}}
	got := PodsLosingTolerations(aSnapshot([]*snapshot.Node{aNode(t, "a", "gpu", "x=1:NoExecute")}, gone, pod), []Step{step}, eviction.ComparisonOff).Pods
	if len(got) != 1 || got[0].Pod != pod {
		t.Errorf("it displaces %v", got)
	}
	if pod.Scheduling.NodeSelector["pool"] != "gpu" {
		t.Error("the shared snapshot has changed")
	}
}

// A workload gives its toleration and its pin up in a change that writes taints first.
func TestDisplaces_judgesByTheNodesAsTheyAreByThen(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		taints, after, list []string
		pinned              bool
		want                []string
	}{
		"a taint that goes before costs no place":           {taints: []string{"x=1:NoExecute"}, list: []string{"*x=1:NoExecute"}},
		"a taint that stays does":                           {taints: []string{"x=1:NoExecute"}, after: []string{"x=1:NoExecute"}, list: []string{"*x=1:NoExecute"}, want: []string{"a1 x=1:NoExecute -1 elsewhere"}},
		"one that gets the value that is tolerated does":    {taints: []string{"x=2:NoExecute"}, after: []string{"x=1:NoExecute"}, list: []string{"*x=1:NoExecute"}, want: []string{"a1 x=1:NoExecute -1 elsewhere"}},
		"a label that is not required any more opens nodes": {taints: []string{"x=1:NoExecute"}, after: []string{"x=1:NoExecute"}, list: []string{"*x=1:NoExecute"}, pinned: true, want: []string{"a1 x=1:NoExecute -1 elsewhere"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := aWorkload(t, "Deployment", "web", tt.list...)
			pod := aPod(t, w, "a1", "a")
			a := aNode(t, "a", "gpu", tt.taints...)
			step := Step{Kind: Contract, Workload: w, Merged: toleration.Merged{Template: true, Removed: tols(t, "x=1:NoExecute")}}
			if tt.pinned {
				pod.Scheduling.NodeSelector = map[string]string{"pool": "gpu"}
				step.Pins.Removed = []string{"pool"}
			}
			taints := taint.Merged{Taints: taintsOf(t, tt.after...), Changed: true}
			steps := []Step{{Kind: ApplyTaints, Nodes: NodePlan{Switches: []Switch{{Node: a, Merged: taints}}}}, step}
			var got []string
			for _, d := range PodsLosingTolerations(aSnapshot([]*snapshot.Node{a, aNode(t, "b", "cpu")}, pod), steps, eviction.ComparisonOff).Pods {
				got = append(got, writeDisplaced(d))
			}
			if diff := cmp.Diff(tt.want, got, cmpopts.EquateEmpty()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func writeDisplaced(d Displaced) string {
	out := []string{d.Pod.Name}
	for _, l := range d.Losses {
		out = append(out, fmt.Sprintf("%s %d", taint.Format(l.Taint), l.Lasts))
	}
	if d.AtOnce() {
		out = append(out, "at once")
	}
	if d.Hold != "" {
		out = append(out, "held")
	}
	if d.Shortened {
		out = append(out, "shortened")
	}
	if d.Found {
		out = append(out, "elsewhere")
	}
	if d.Crowded {
		out = append(out, "crowded")
	}
	return strings.Join(out, " ")
}

// TestDisplacement_By: pods that are tolerated for a shorter time keep their places.
func TestDisplacement_By(t *testing.T) {
	t.Parallel()
	pod, other := &snapshot.Pod{Name: "web-0"}, &snapshot.Pod{Name: "web-1"}
	step := Step{Kind: Contract, Pods: []*snapshot.Pod{pod}}
	for name, tt := range map[string]struct {
		displaced []Displaced
		want      bool
	}{
		"none":          {nil, false},
		"a pod of it":   {[]Displaced{{Pod: other}, {Pod: pod}}, true},
		"another pod":   {[]Displaced{{Pod: other}}, false},
		"for less time": {[]Displaced{{Pod: pod, Shortened: true}}, false},
	} {
		if got := (Displacement{Pods: tt.displaced}).By(step); got != tt.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// TestDisplacement_placesNewPodsTogether has two pods on node a, which lose their toleration of its taint, and room for
// some of them on node b.
func TestDisplacement_placesNewPodsTogether(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		cores  int64
		hold   string
		evicts bool
		// waits has another toleration come in its place, and its pods waited for.
		waits   bool
		want    []string
		missing [2]int
	}{
		"another toleration comes":    {cores: 1, waits: true, want: []string{"web-0 x=1:NoSchedule -1 elsewhere crowded", "web-1 x=1:NoSchedule -1 elsewhere crowded"}, missing: [2]int{1, 1}},
		"room for all of them":        {cores: 2, want: []string{"web-0 x=1:NoSchedule -1 elsewhere", "web-1 x=1:NoSchedule -1 elsewhere"}},
		"room for one of them":        {cores: 1, want: []string{"web-0 x=1:NoSchedule -1 elsewhere crowded", "web-1 x=1:NoSchedule -1 elsewhere crowded"}, missing: [2]int{1, 1}},
		"room for none":               {want: []string{"web-0 x=1:NoSchedule -1 crowded", "web-1 x=1:NoSchedule -1 crowded"}, missing: [2]int{2, 2}},
		"pods that are not restarted": {cores: 1, hold: "its update strategy is OnDelete", want: []string{"web-0 x=1:NoSchedule -1 held elsewhere", "web-1 x=1:NoSchedule -1 held elsewhere"}},
		"pods that are evicted first": {cores: 1, evicts: true, want: []string{"web-0 x=1:NoSchedule -1 elsewhere", "web-1 x=1:NoSchedule -1 elsewhere"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := aWorkload(t, "Deployment", "web", "*x=1:NoSchedule")
			w.Rolling.Pace, w.Rolling.Hold = &workload.Pace{Unavailable: 1}, tt.hold
			a, b := aNode(t, "a", "gpu", "x=1:NoSchedule"), aNode(t, "b", "cpu")
			a.Allocatable, b.Allocatable = &snapshot.Resources{MilliCPU: 2000, Pods: 10}, &snapshot.Resources{MilliCPU: 1000 * tt.cores, Pods: 10}
			asks := snapshot.Resources{MilliCPU: 1000}
			pods := []*snapshot.Pod{aPod(t, w, "web-0", "a", "x=1:NoSchedule"), aPod(t, w, "web-1", "a", "x=1:NoSchedule")}
			for _, p := range pods {
				p.Ready, p.Demand = true, &snapshot.Demand{Asks: asks, Holds: asks}
			}
			change := Change{Workloads: []Tolerations{{Workload: w, Claim: toleration.Claim{Owner: "me", Generation: "g2", Release: true}, RemoveImmediately: true}}}
			if tt.waits {
				change.Workloads[0].Claim = toleration.Claim{Owner: "me", Generation: "g2", Tolerations: tols(t, "y:NoSchedule")}
			}
			if tt.evicts {
				change.Nodes = []NodeTaints{{Target: Target{Name: "a"}, Claim: taint.Claim{Owner: "me", Generation: "g3", Taints: taintsOf(t, "z:NoExecute")}}}
			}
			seen := aSnapshot([]*snapshot.Node{a, b}, pods...)
			found := PodsLosingTolerations(seen, Order(seen, change, eviction.ComparisonOff).Steps, eviction.ComparisonOff)
			var got []string
			for _, d := range found.Pods {
				got = append(got, writeDisplaced(d))
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
			if missing := [2]int{found.Missing.Min, found.Missing.Max}; missing != tt.missing {
				t.Errorf("%v new pods are Pending, want %v", missing, tt.missing)
			}
		})
	}
}
