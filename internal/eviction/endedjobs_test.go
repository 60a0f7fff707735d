// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package eviction

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/placement"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
)

// jobBeside has two pods of a Job, one of which fills n2, and a pod of web on n1 that fits n2 alone.
func jobBeside(jobs ...snapshot.Job) world {
	w := newWorld(having(node("n1"), 9, 9), having(node("n2"), 2, 2)).run(
		pod("a", "n1", ofJob("batch"), asking(2, 2)), pod("b", "n2", ofJob("batch"), asking(2, 2)), pod("web", "n1", asking(2, 2)))
	for _, job := range jobs {
		w = w.job("batch", job)
	}
	return w
}

func TestSimulate_otherPodsOfAFailedJobFreeTheirRoom(t *testing.T) {
	t.Parallel()
	waits := jobBeside(snapshot.Job{})
	waits.Waiting = append(waits.Waiting, pod("c", "", ofJob("batch"), asking(2, 2), pending))
	later := jobBeside(snapshot.Job{})
	tolerating(lasting(exists("a", ""), 60))(later.Pods["n1"][0])
	maybe := placement.Range{Max: 1}
	for name, tt := range map[string]struct {
		world           world
		placed, pending placement.Range
		proved          int
	}{
		"the Job fails": {world: jobBeside(snapshot.Job{}), placed: number(1)},
		"the Job fails, and one of its pods waits":    {world: waits, placed: number(1)},
		"the Job fails once a toleration has run out": {world: later, placed: number(1)},
		"the Job may fail":                            {world: jobBeside(snapshot.Job{OnlyFailed: true}), placed: maybe, pending: maybe},
		"the Job was not read":                        {world: jobBeside(), placed: maybe, pending: maybe},
		"the Job goes on":                             {world: jobBeside(snapshot.Job{BackoffLimit: 6}), pending: number(1), proved: 1},
		"the Job has ended":                           {world: jobBeside(snapshot.Job{Ended: true}), pending: number(1), proved: 1},
		"an index fails":                              {world: jobBeside(snapshot.Job{BackoffLimit: 9, PerIndex: new(int32)}), pending: number(1), proved: 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, out := simulate(tt.world, tainting("n1", "a:NoExecute"))
			got := outcomeOf(t, out, "web-5d")
			if got.Placed != tt.placed || got.Pending != tt.pending || got.Proved != tt.proved {
				t.Errorf("placed %v, Pending %v, proved %d", got.Placed, got.Pending, got.Proved)
			}
			if len(r.Pods) != 2 {
				t.Errorf("%d verdicts", len(r.Pods))
			}
		})
	}
}

// The Job has a pod on n1, and others on n2, in another namespace and with other labels.
func TestLimits_countOtherPodsOfAFailedJob(t *testing.T) {
	t.Parallel()
	one, two, three := int64(1), int64(2), int64(3)
	gold, err := labels.Parse("tier=gold")
	if err != nil {
		t.Fatal(err)
	}
	run := func(job snapshot.Job) world {
		marked := func(p *snapshot.Pod) { p.Labels = labels.Set{"tier": "gold"} }
		w := newWorld(node("n1"), node("n2")).run(pod("a", "n1", ofJob("batch")), pod("b", "n2", ofJob("batch"), marked), pod("d", "n2", ofJob("batch"), completed)).job("batch", job)
		w.Waiting = append(w.Waiting, pod("c", "", ofJob("batch"), pending))
		return w
	}
	unread := run(snapshot.Job{})
	unread.Jobs = nil
	fails, may := snapshot.Job{}, snapshot.Job{OnlyFailed: true}
	all := []string{"app/a", "app/b", "app/c"}
	for name, tt := range map[string]struct {
		world  world
		limits Limits
		want   []Excess
	}{
		"max_pods":                        {run(fails), Limits{MaxPods: &two}, []Excess{{Limit: MaxPods, Count: 3, Allowed: 2, Ended: 2, Pods: all, Certain: true}}},
		"max_pods allows all of them":     {run(fails), Limits{MaxPods: &three, MaxLost: &three}, nil},
		"max_lost":                        {run(fails), Limits{MaxLost: &two}, []Excess{{Limit: MaxLost, Count: 3, Allowed: 2, Ended: 2, Pods: all, Certain: true}}},
		"protected_namespaces":            {run(fails), Limits{Namespaces: []string{"app"}}, []Excess{{Limit: ProtectedNamespaces, Count: 3, Ended: 2, Pods: all, Certain: true}}},
		"protected_selector":              {run(fails), Limits{Selector: gold}, []Excess{{Limit: ProtectedSelector, Count: 1, Ended: 1, Pods: []string{"app/b"}, Certain: true}}},
		"only":                            {run(fails), Limits{Only: []Approval{}}, []Excess{{Limit: Only, Count: 3, Ended: 2, Pods: all, Certain: true, Workloads: []Approval{{Namespace: "app", Kind: "Job", Name: "batch"}}}}},
		"the Job may fail":                {run(may), Limits{MaxPods: &one}, []Excess{{Limit: MaxPods, Count: 3, Allowed: 1, Ended: 2, Pods: all, Certain: true}}},
		"the Job may fail, of protected":  {run(may), Limits{Selector: gold}, []Excess{{Limit: ProtectedSelector, Count: 1, Ended: 1, Pods: []string{"app/b"}}}},
		"the Job may fail, and may go on": {run(may), Limits{MaxLost: new(int64)}, []Excess{{Limit: MaxLost, Count: 3, Ended: 2, Pods: all}}},
		"as many as may be lost":          {run(may), Limits{MaxLost: &three}, nil},
		"the Job goes on":                 {run(snapshot.Job{BackoffLimit: 6}), Limits{MaxPods: &one}, nil},
		"the Job was not read":            {unread, Limits{MaxPods: &one}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := Evaluate(tt.world.Snapshot, tainting("n1", "a:NoExecute"), ComparisonOff)
			for part, one := range map[string]*Report{"all": r, "joined": Join(r, Evaluate(tt.world.Snapshot, tainting("n2"), ComparisonOff)), "of n1": r.On([]string{"n1"})} {
				if diff := cmp.Diff(tt.want, exceeded(tt.limits, one)); diff != "" {
					t.Errorf("%s: %s", part, diff)
				}
			}
			if got := exceeded(tt.limits, r.On([]string{"n2"})); got != nil {
				t.Errorf("none is evicted on n2: %+v", got)
			}
		})
	}
}

// One tainted node after the other: the pod that a failed Job deletes is evicted as well, and counts once.
func TestLimits_countAPodOfAFailedJobOnce(t *testing.T) {
	t.Parallel()
	two := int64(2)
	w := newWorld(node("n1"), node("n2"), node("n3")).run(pod("a", "n1", ofJob("batch")), pod("b", "n2", ofJob("batch"))).job("batch", snapshot.Job{})
	r := Join(Evaluate(w.Snapshot, tainting("n1", "a:NoExecute"), ComparisonOff), Evaluate(w.Snapshot, tainting("n2", "a:NoExecute"), ComparisonOff))
	if got := exceeded(Limits{MaxPods: &two, MaxLost: &two}, r); got != nil {
		t.Errorf("two pods are evicted: %+v", got)
	}
}

// TestLimits_countAPreemptedPodOfAJobThatWasNotRead: one pod of the Job is evicted, and the other one is preempted. The Job may
// fail, which alone counts for no limit.
func TestLimits_countAPreemptedPodOfAJobThatWasNotRead(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		priority int32
		want     int
	}{
		"it is preempted":      {9, 3},
		"nothing preempts one": {0, 2},
	} {
		w := newWorld(having(node("n1"), 9, 9), having(node("n2"), 2, 2)).run(
			pod("a", "n1", ofJob("batch"), asking(2, 2)), pod("b", "n2", ofJob("batch"), asking(2, 2)), pod("web", "n1", asking(2, 2), ranked(tt.priority)))
		r, _ := simulate(w, tainting("n1", "a:NoExecute"))
		all := r.evicts(func(*snapshot.Pod, snapshot.Owner) bool { return true })
		if all.Count != tt.want {
			t.Errorf("%s: %d pods count, want %d: %v", name, all.Count, tt.want, all.Pods)
		}
	}
}
