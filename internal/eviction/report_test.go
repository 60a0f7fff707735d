// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package eviction

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/placement"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
)

func TestBudgets_countTheirPodsOverAllNodes(t *testing.T) {
	t.Parallel()
	taintBoth := tainting("n1", "a:NoExecute")
	taintBoth.Taints["n2"] = taintsOf("a:NoExecute")
	mixed := tainting("n1", "a:NoExecute")
	mixed.Drains = map[string]bool{"n2": true}
	// Five pods of one PodDisruptionBudget: two on n1, three on n2, of which one has
	// completed and one tolerates the taint.
	pods := func() []*snapshot.Pod {
		return []*snapshot.Pod{
			pod("p1", "n1"), pod("p2", "n1"), pod("p3", "n2"), pod("p4", "n2", completed),
			pod("p5", "n2", tolerating(exists("a", noEx))),
		}
	}
	tests := []struct {
		name   string
		change Scenario
		want   map[string]string
	}{
		{
			// Leaving and not completed: p1, p2, p3 = 3. p5 stays.
			name: "taints on two nodes", change: taintBoth,
			want: map[string]string{"p1": "web is bypassed: it allows 1 disruption, but 3 of its pods are evicted", "p2": "web is bypassed: it allows 1 disruption, but 3 of its pods are evicted", "p3": "web is bypassed: it allows 1 disruption, but 3 of its pods are evicted", "p4": "", "p5": ""},
		},
		{
			// Drains take p1, p2, p3 and p5 = 4: a toleration keeps no pod.
			name: "drains of two nodes", change: draining("n1", "n2"),
			want: map[string]string{"p1": "web is respected: it allows 1 disruption now, but 4 of its pods must be drained", "p2": "web is respected: it allows 1 disruption now, but 4 of its pods must be drained", "p3": "web is respected: it allows 1 disruption now, but 4 of its pods must be drained", "p4": "", "p5": "web is respected: it allows 1 disruption now, but 4 of its pods must be drained"},
		},
		{
			// p1 and p2 by the taint, p3 and p5 by the drain: two each way.
			name: "a taint on one node and a drain of another count apart", change: mixed,
			want: map[string]string{"p1": "web is bypassed: it allows 1 disruption, but 2 of its pods are evicted", "p2": "web is bypassed: it allows 1 disruption, but 2 of its pods are evicted", "p3": "web is respected: it allows 1 disruption now, but 2 of its pods must be drained", "p4": "", "p5": "web is respected: it allows 1 disruption now, but 2 of its pods must be drained"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(node("n1"), node("n2"), node("n3")).run(pods()...).budget("app", "web", "app=web", 1)
			got := map[string]string{}
			for _, v := range Evaluate(w.Snapshot, tt.change, ComparisonOff).Pods {
				got[v.Pod.Name] = v.Budget
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestBudgets_coverOnlyTheirOwnPods(t *testing.T) {
	t.Parallel()
	other := pod("p", "n1")
	other.Labels = labels.Set{"app": "db"}
	elsewhere := pod("q", "n1")
	elsewhere.Namespace = "prod"
	tests := []struct {
		name string
		pod  *snapshot.Pod
		want string
	}{
		{name: "a pod with other labels is not covered", pod: other},
		{name: "a pod of another namespace is not covered", pod: elsewhere},
		{name: "a terminating pod is not covered", pod: pod("p", "n1", terminating)},
		{name: "a pod that stays is not covered", pod: pod("p", "n1", tolerating(exists("", "")))},
		{name: "a pod that leaves later is covered", pod: pod("p", "n1", tolerating(lasting(exists("a", noEx), 9))), want: "web is bypassed: it allows 0 disruptions, but 1 of its pods is evicted"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(node("n1")).run(tt.pod).budget("app", "web", "app=web", 0)
			if got := only(t, Evaluate(w.Snapshot, tainting("n1", "a:NoExecute"), ComparisonOff)).Budget; got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestBudgets_areNotAskedForAPodThatHasNotStarted(t *testing.T) {
	t.Parallel()
	w := newWorld(node("n1")).run(pod("p", "n1", pending)).budget("app", "web", "app=web", 0)
	for name, tt := range map[string]struct {
		change Scenario
		want   string
	}{
		"a drain evicts it whatever they say":    {draining("n1"), ""},
		"a taint ignores them as it always does": {tainting("n1", "a:NoExecute"), "web is bypassed: it allows 0 disruptions, but 1 of its pods is evicted"},
	} {
		if got := only(t, Evaluate(w.Snapshot, tt.change, ComparisonOff)).Budget; got != tt.want {
			t.Errorf("%s: got %q, want %q", name, got, tt.want)
		}
	}
}

func TestBudgets_thatCoverOnePodTogetherHoldItsDrain(t *testing.T) {
	t.Parallel()
	w := newWorld(node("n1")).run(pod("p", "n1")).budget("app", "web", "app=web", 1).budget("app", "all", "", 1)
	for want, change := range map[string]Scenario{
		"web and all cover the same pods: the eviction API evicts no pod that more than one PodDisruptionBudget covers": draining("n1"),
		"web is bypassed: it allows 1 disruption, and 1 of its pods is evicted":                                         tainting("n1", "a:NoExecute"),
	} {
		if got := only(t, Evaluate(w.Snapshot, change, ComparisonOff)).Budget; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestJoin_countsTheGravestVerdictOfEachPod(t *testing.T) {
	t.Parallel()
	p := func(name string, verdict Verdict, change func(*PodVerdict)) PodVerdict {
		v := PodVerdict{Pod: pod(name, "n1"), Verdict: verdict, Reason: string(verdict)}
		if change != nil {
			change(&v)
		}
		return v
	}
	stranded := func(v *PodVerdict) { v.Stranded = true }
	stuck := func(v *PodVerdict) { v.NoPlace = true }
	labels := &Report{Nodes: []string{"n1"}, Gaps: []string{"gap"}, Pods: []PodVerdict{
		p("both", EvictedNow, nil), p("first", EvictedNow, nil), p("later", Stays, nil), p("may", Stays, nil), p("remains", Stays, nil), p("stuck", Stays, nil),
	}}
	taints := &Report{Nodes: []string{"n1", "n2"}, Gaps: []string{"gap"}, Pods: []PodVerdict{
		p("alone", EvictedAfter, nil), p("both", EvictedAfter, stranded), p("later", EvictedNow, nil), p("may", Unknown, nil), p("remains", Stays, stranded), p("stuck", Stays, stuck),
	}}
	var got []string
	whole := Join(labels, taints)
	for _, v := range whole.Pods {
		one := v.Pod.Name + " " + string(v.Verdict)
		if v.Stranded {
			one += " stranded"
		}
		if v.NoPlace {
			one += " stuck"
		}
		got = append(got, one)
	}
	want := []string{"alone evicted_after", "both evicted_now stranded", "first evicted_now", "later evicted_now", "may unknown", "remains stays stranded", "stuck stays stuck"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if len(whole.Nodes) != 2 || len(whole.Gaps) != 1 || len(Join().Pods) != 0 {
		t.Errorf("nodes %v, gaps %v", whole.Nodes, whole.Gaps)
	}
}

// zoo holds one pod of every kind of outcome.
func zoo() *Report {
	w := newWorld(node("n1"), node("n2"), labelled(node("n3"), "disk", "ssd")).run(
		pod("now", "n1"),
		pod("later", "n1", tolerating(lasting(exists("a", noEx), 60))),
		pod("stays", "n1", tolerating(exists("a", noEx))),
		pod("unknown", "n1", ownedBy("StatefulSet", "db"), tolerating(lessThan("a", "1"), lasting(exists("a", noEx), 5))),
		pod("bare", "n1", bare),
		pod("stuck", "n1", ownedBy("StatefulSet", "db"), selecting("disk", "none")),
		pod("bare-and-stuck", "n1", bare, selecting("disk", "none")),
		pod("done", "n1", bare, completed),
		pod("drained", "n2"),
	)
	w.Parents["rs-web"] = snapshot.Owner{Group: "apps", Kind: "Deployment", Name: "web"}
	change := tainting("n1", "a=0:NoExecute")
	change.Drains = map[string]bool{"n2": true}
	return Evaluate(w.Snapshot, change, ComparisonUnknown)
}

func TestSummary_countsEveryVerdictAndWhatItMeans(t *testing.T) {
	t.Parallel()
	want := Summary{
		// now, bare, stuck and bare-and-stuck are evicted immediately.
		EvictedNow: 4, EvictedAfter: 1, Drained: 1, Unknown: 1, Stays: 1,
		// bare and bare-and-stuck; done was no loss.
		Lost: 2,
		// done, immediately.
		Completed: 1,
		// stuck; bare-and-stuck is lost, and counts once.
		Pending: number(1), Staying: number(1), Unplaced: number(1),
		// later returns to n1 in some orders, and unknown does where it is evicted.
		Again: Range{Min: 0, Max: 2},
	}
	got := zoo().Summary()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	// 4 immediately + 1 later + 1 drained; with 1 unknown 7 of 9 pods are affected.
	if got.Evicted() != 6 || got.Affected() != 7 {
		t.Errorf("evicted %d, affected %d", got.Evicted(), got.Affected())
	}
}

func TestWorkloads_rollUpWhatBelongsTogether(t *testing.T) {
	t.Parallel()
	var got []string
	for _, w := range zoo().Workloads() {
		var pods []string
		for _, v := range w.Pods {
			pods = append(pods, v.Pod.Name)
		}
		got = append(got, fmt.Sprintf("%s/%s %d: %s", w.Namespace, w.Owner, w.Summary.Affected(), strings.Join(pods, " ")))
	}
	// Most affected first; then by kind and name. The pod that stays counts for
	// nothing but is listed.
	want := []string{
		"app/Deployment/web 3: later now stays drained",
		"app/StatefulSet/db 2: stuck unknown",
		"app/Pod/bare 1: bare",
		"app/Pod/bare-and-stuck 1: bare-and-stuck",
		"app/Pod/done 0: done",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestWorkloads_addUpToTheSummary(t *testing.T) {
	t.Parallel()
	r := zoo()
	var pods, affected, lost, pending int
	for _, w := range r.Workloads() {
		pods, affected, lost, pending = pods+len(w.Pods), affected+w.Summary.Affected(), lost+w.Summary.LostPods().Max, pending+w.Summary.Pending.Max
	}
	if total := r.Summary(); pods != len(r.Pods) || affected != total.Affected() || lost != total.LostPods().Max || pending != total.Pending.Max {
		t.Errorf("workloads have %d pods, %d affected, %d lost, %d pending; the summary says %+v of %d pods", pods, affected, lost, pending, total, len(r.Pods))
	}
}

func TestSummary_countsWhatBecomesOfAPodOnce(t *testing.T) {
	t.Parallel()
	taints := tainting("n1", "a:NoExecute")
	comes := taints
	comes.Comes = []placement.Coming{{Node: &snapshot.Node{Name: "new", Labels: map[string]string{"disk": "nvme"}}, Of: "MachineSet \"m\""}}
	for name, tt := range map[string]struct {
		pod    *snapshot.Pod
		change Scenario
		want   Summary
	}{
		"one that finds another node":      {pod("p", "n1"), taints, Summary{EvictedNow: 1}},
		"one that finds none":              {pod("p", "n1", selecting("disk", "nvme")), taints, Summary{EvictedNow: 1, Pending: number(1), Staying: number(1), Unplaced: number(1)}},
		"one that fits on what comes":      {pod("p", "n1", selecting("disk", "nvme")), comes, Summary{EvictedNow: 1, Pending: number(1), Unplaced: number(1), Awaiting: number(1)}},
		"a bare one":                       {pod("p", "n1", bare), taints, Summary{EvictedNow: 1, Lost: 1}},
		"a bare one that fits nowhere":     {pod("p", "n1", bare, selecting("disk", "nvme")), taints, Summary{EvictedNow: 1, Lost: 1}},
		"a bare one that fits on a comer":  {pod("p", "n1", bare, selecting("disk", "nvme")), comes, Summary{EvictedNow: 1, Lost: 1}},
		"one of a DaemonSet":               {pod("p", "n1", ownedBy("DaemonSet", "agent"), pinned("n1")), taints, Summary{EvictedNow: 1, Daemons: 1}},
		"one that has completed":           {pod("p", "n1", bare, completed), taints, Summary{Completed: 1}},
		"a mirror pod":                     {pod("p", "n1", mirror), taints, Summary{EvictedNow: 1}},
		"one that has completed and stays": {pod("p", "n1", completed, tolerating(exists("a", ""))), taints, Summary{Stays: 1}},
		"one that stays":                   {pod("p", "n1", tolerating(exists("a", "")), selecting("disk", "nvme")), taints, Summary{Stays: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(node("n1"), node("n2")).run(tt.pod)
			r := Evaluate(w.Snapshot, tt.change, ComparisonOff)
			if diff := cmp.Diff(tt.want, r.Summary()); diff != "" {
				t.Error(diff)
			}
			if all := r.Workloads(); len(all) != 1 || cmp.Diff(tt.want, all[0].Summary) != "" {
				t.Errorf("its workload has %+v", all)
			}
		})
	}
	for name, tt := range map[string]struct {
		verdict PodVerdict
		want    Summary
	}{
		"a bare one":         {PodVerdict{Pod: pod("p", "n1", bare), Lost: true}, Summary{Unknown: 1, MayBeLost: 1}},
		"a mirror pod":       {PodVerdict{Pod: pod("p", "n1", bare, mirror)}, Summary{Unknown: 1}},
		"one of a DaemonSet": {PodVerdict{Pod: pod("p", "n1", ownedBy("DaemonSet", "agent")), NoPlace: true}, Summary{Unknown: 1}},
		"one of a Build": {PodVerdict{Pod: pod("p", "n1", func(p *snapshot.Pod) {
			p.Controller = &snapshot.Controller{Owner: snapshot.Owner{Group: "build.openshift.io", Kind: "Build"}}
		})}, Summary{Unknown: 1, MayBeLost: 1}},
	} {
		tt.verdict.Verdict = Unknown
		finished := tt.verdict
		finished.Pod = pod("p", "n1", bare, completed)
		if got := (&Report{Pods: []PodVerdict{tt.verdict, finished}}).Summary(); got.Evicted() != 0 || got.Unknown != 1 || got.Affected() != 1 || got.CompletedUnknown != 1 {
			t.Errorf("%s that may stay, and a completed one: %+v", name, got)
		}
		if diff := cmp.Diff(tt.want, (&Report{Pods: []PodVerdict{tt.verdict}}).Summary()); diff != "" {
			t.Errorf("%s that may stay: %s", name, diff)
		}
	}
	rejected := newWorld(node("n1"), node("n2")).run(pod("p", "n1")).admitting(nil).allowing(exists("c", ""))
	if diff := cmp.Diff(Summary{EvictedNow: 1, Pending: number(1), Staying: number(1), Refused: number(1)}, Evaluate(rejected.Snapshot, taints, ComparisonOff).Summary()); diff != "" {
		t.Error(diff)
	}
}

func TestWorkloads_tellNamesakesApart(t *testing.T) {
	t.Parallel()
	elsewhere := pod("p", "n1", ownedBy("StatefulSet", "db"))
	elsewhere.Namespace = "prod"
	w := newWorld(node("n1")).run(elsewhere, pod("p", "n1", ownedBy("StatefulSet", "db")), pod("q", "n1", ownedBy("Deployment", "db")))
	if got := len(Evaluate(w.Snapshot, tainting("n1", "a:NoExecute"), ComparisonOff).Workloads()); got != 3 {
		t.Errorf("got %d workloads, want 3: namespace, kind and name tell them apart", got)
	}
}

// TestWorkloads_mirrorPodsAreNotTheirNodes: a node has no namespace, and is no workload.
func TestWorkloads_mirrorPodsAreNotTheirNodes(t *testing.T) {
	t.Parallel()
	r := &Report{}
	s := &snapshot.Snapshot{}
	for _, name := range []string{"etcd-n1", "kube-apiserver-n1"} {
		p := &snapshot.Pod{Namespace: "kube-system", Name: name, Node: "n1"}
		mirror(p)
		r.Pods = append(r.Pods, PodVerdict{Pod: p, Owner: s.Owner(p), Verdict: Unknown})
	}
	var got []string
	for _, w := range r.Workloads() {
		got = append(got, w.Owner.String())
	}
	if diff := cmp.Diff([]string{"Pod/etcd-n1", "Pod/kube-apiserver-n1"}, got); diff != "" {
		t.Error(diff)
	}
}
