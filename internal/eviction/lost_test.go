// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package eviction

import (
	"math"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/placement"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
)

// isPreempted has web evicted from n1, which takes the room of another pod on n2 and is evicted before others on n3.
func isPreempted(victim ...podOption) world {
	return newWorld(having(node("n1"), 9, 9), having(node("n2"), 4, 4), having(node("n3"), 4, 4)).run(
		pod("web", "n1", asking(4, 4), priority(9), selecting("kubernetes.io/hostname", "n2")),
		pod("victim", "n2", append([]podOption{asking(4, 4), priority(5)}, victim...)...))
}

// eitherIsPreempted has web evicted from n1, which takes the room of one of two pods, on n2 or on n3.
func eitherIsPreempted(victim ...podOption) world {
	options := append([]podOption{asking(4, 4), priority(5)}, victim...)
	return newWorld(having(node("n1"), 9, 9), having(node("n2"), 4, 4), having(node("n3"), 4, 4)).run(
		pod("web", "n1", asking(4, 4), priority(9)), pod("left", "n2", options...), pod("right", "n3", options...))
}

// isPreemptedLater has a pod of a Job evicted from n1, whose replacement finds room on n2. A pod that is evicted after a
// minute preempts it there. Whether the other pod of the Job is evicted is not known.
func isPreemptedLater() world {
	minute := int64(60)
	late := corev1.Toleration{Key: "a", Operator: corev1.TolerationOpExists, TolerationSeconds: &minute}
	return newWorld(having(node("n1"), 99, 99), having(node("n2"), 4, 4)).run(
		pod("p", "n1", ofJob("batch"), asking(4, 4), priority(5)), pod("q", "n1", ofJob("batch"), asking(0, 0), tolerating(lessThan("a", "5"))),
		pod("web", "n1", asking(4, 4), priority(9), tolerating(late)))
}

// beside adds a node.
func (w world) beside(n *snapshot.Node) world {
	w.Nodes[n.Name] = n
	return w
}

// waits adds a Pending pod.
func waits(w world, p *snapshot.Pod) world {
	w.Waiting = append(w.Waiting, p)
	return w
}

// TestSummary_countsAsLostWhatMaxLostCounts: in its worst order, and in its best where that is certain. Pods of
// controllers of which nothing is known are counted by the summary alone.
func TestSummary_countsAsLostWhatMaxLostCounts(t *testing.T) {
	t.Parallel()
	perhaps, ofBatch := tolerating(lessThan("a", "5")), ofJob("batch")
	ofBuild, ofTask, ofThing := controlledBy("build.openshift.io", "Build"), controlledBy("tekton.dev", "TaskRun"), controlledBy("example.com", "Thing")
	may := func(n int) Range { return Range{Max: n} }
	on := func(nodes ...*snapshot.Pod) world { return newWorld(node("n1"), node("n2")).run(nodes...) }
	failing, mayFail := snapshot.Job{}, snapshot.Job{OnlyFailed: true}
	failJob := snapshot.Job{BackoffLimit: 6, Rules: []snapshot.FailureRule{{Action: batchv1.PodFailurePolicyActionFailJob, Disruption: true}}}
	for name, tt := range map[string]struct {
		world world
		want  Range
		// unlimited counts those that max_lost does not.
		unlimited int
		// either is set where one of two workloads loses pods.
		either bool
	}{
		"a bare pod":                                {world: on(pod("p", "n1", bare)), want: number(1)},
		"a bare pod that may be evicted":            {world: on(pod("p", "n1", bare, perhaps)), want: may(1)},
		"a mirror pod that may be evicted":          {world: on(pod("p", "n1", bare, mirror, perhaps))},
		"a completed pod that may be evicted":       {world: on(pod("p", "n1", bare, completed, perhaps))},
		"a pod of a Deployment that may be evicted": {world: on(pod("p", "n1", perhaps))},
		"a Build":                       {world: on(pod("p", "n1", ofBuild)), want: number(1)},
		"a Build that may be evicted":   {world: on(pod("p", "n1", ofBuild, perhaps)), want: may(1)},
		"a TaskRun":                     {world: on(pod("p", "n1", ofTask)), want: may(1)},
		"a TaskRun that may be evicted": {world: on(pod("p", "n1", ofTask, perhaps)), want: may(1)},
		"another controller":            {world: on(pod("p", "n1", ofThing)), want: may(1), unlimited: 1},
		"another controller whose pod may be evicted":            {world: on(pod("p", "n1", ofThing, perhaps)), want: may(1), unlimited: 1},
		"a Job that fails, and deletes others":                   {world: on(pod("p", "n1", ofBatch), pod("q", "n2", ofBatch)).job("batch", failing), want: number(2)},
		"a Job that fails, and deletes one that may be evicted":  {world: on(pod("p", "n1", ofBatch), pod("q", "n1", ofBatch, perhaps)).job("batch", failing), want: number(2)},
		"a Job that may fail":                                    {world: on(pod("p", "n1", ofBatch), pod("q", "n2", ofBatch)).job("batch", mayFail), want: may(2)},
		"a Job with one pod that may be evicted":                 {world: on(pod("p", "n1", ofBatch, perhaps)).job("batch", failing), want: may(1)},
		"a Job that fails if a pod is evicted, and others":       {world: on(pod("p", "n1", ofBatch, perhaps), pod("q", "n2", ofBatch)).job("batch", failing), want: may(2)},
		"an index that fails if its pod is evicted":              {world: on(pod("p", "n1", ofBatch, perhaps), pod("q", "n2", ofBatch)).job("batch", snapshot.Job{BackoffLimit: 9, PerIndex: new(int32(0))}), want: may(1)},
		"a Job that fails if an index has failed before":         {world: on(pod("p", "n1", ofBatch), pod("q", "n2", ofBatch)).job("batch", snapshot.Job{BackoffLimit: 99, PerIndex: new(int32(1)), MaxFailedIndexes: new(int32(0))}), want: may(2)},
		"one of two bare pods, and another controller's":         {world: eitherIsPreempted(bare).run(pod("thing", "n1", ofThing)), want: Range{Min: 1, Max: 2}, unlimited: 1, either: true},
		"a Pending pod of a Job that may fail already":           {world: waits(isPreemptedLater(), pod("w", "", ofBatch, pending)).job("batch", snapshot.Job{BackoffLimit: 1}), want: may(3)},
		"preemption of one of two bare pods":                     {world: eitherIsPreempted(bare), want: number(1), either: true},
		"preemption of a pod of one of two Jobs":                 {world: eitherIsPreempted(ofBatch).job("batch", failing), want: number(2)},
		"a Pending pod that preempts a Job anyway":               {world: waitingBeside(crowded(ofBatch)).beside(having(node("n3"), 2, 2)).run(other("q", "n3", in("prod"), asking(2, 2), ofBatch)).job("batch", failing)},
		"preemption of what replaces a pod of a Job":             {world: isPreemptedLater().job("batch", snapshot.Job{BackoffLimit: 1}), want: may(2)},
		"preemption that fails a Job with a Pending pod":         {world: waits(isPreempted(ofBatch), pod("q", "", ofBatch, pending)).job("batch", failing), want: number(2)},
		"a Job that goes on":                                     {world: on(pod("p", "n1", ofBatch), pod("q", "n2", ofBatch)).job("batch", snapshot.Job{BackoffLimit: 6}), want: number(0)},
		"a Job that was not read":                                {world: on(pod("p", "n1", ofBatch), pod("q", "n2", ofBatch)), want: number(0)},
		"preemption of a bare pod":                               {world: isPreempted(bare), want: number(1)},
		"preemption of a Build":                                  {world: isPreempted(ofBuild), want: number(1)},
		"preemption of a TaskRun":                                {world: isPreempted(ofTask), want: may(1)},
		"preemption of another controller's pod":                 {world: isPreempted(ofThing), want: may(1), unlimited: 1},
		"preemption of a Deployment's pod":                       {world: isPreempted()},
		"preemption of a DaemonSet's pod":                        {world: isPreempted(ownedBy("DaemonSet", "agent"), pinned("n2"))},
		"preemption that fails a Job":                            {world: isPreempted(ofBatch).job("batch", failing), want: number(1)},
		"preemption that fails a Job, and deletes others":        {world: isPreempted(ofBatch).run(pod("q", "n3", ofBatch), pod("r", "n3", ofBatch)).job("batch", failing), want: number(3)},
		"preemption that fails a Job by its policy":              {world: isPreempted(ofBatch).run(pod("q", "n3", ofBatch)).job("batch", failJob), want: number(2)},
		"preemption that may fail a Job, and deletes others":     {world: isPreempted(ofBatch).run(pod("q", "n3", ofBatch)).job("batch", mayFail), want: may(2)},
		"preemption of a Job that goes on":                       {world: isPreempted(ofBatch).run(pod("q", "n3", ofBatch)).job("batch", snapshot.Job{BackoffLimit: 6})},
		"preemption that fails a Job with an evicted pod":        {world: isPreempted(ofBatch).run(pod("p", "n1", ofBatch)).job("batch", snapshot.Job{BackoffLimit: 1}), want: number(2)},
		"preemption that fails a Job with one that has ended":    {world: isPreempted(ofBatch).run(pod("q", "n3", ofBatch, completed)).job("batch", failing), want: number(1)},
		"preemption that fails a Job with a terminating pod":     {world: isPreempted(ofBatch).run(pod("q", "n3", ofBatch, terminating)).job("batch", failing), want: number(1)},
		"preemption that fails a Job beside that of another one": {world: isPreempted(ofBatch).run(pod("q", "n3", ofJob("other"))).job("batch", failing).job("other", failing), want: number(1)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := Evaluate(tt.world.Snapshot, tainting("n1", "a=3:NoExecute"), ComparisonUnknown)
			for part, one := range map[string]*Report{"all": r, "joined": Join(r, Evaluate(tt.world.Snapshot, tainting("n9"), ComparisonUnknown))} {
				if got := one.Summary().LostPods(); got != tt.want {
					t.Errorf("%s: the summary has %v lost", part, got)
				}
				var sum Range
				for _, w := range one.Workloads() {
					sum.Min, sum.Max = sum.Min+w.Summary.LostPods().Min, sum.Max+w.Summary.LostPods().Max
				}
				if sum != tt.want && !tt.either {
					t.Errorf("%s: workloads have %v lost", part, sum)
				}
				limit := int64(math.MinInt64)
				switch got := exceeded(Limits{MaxLost: &limit}, one); {
				case len(got) != 1:
					t.Errorf("%s: %v", part, got)
				case got[0].Count != tt.want.Max-tt.unlimited || got[0].Certain != (tt.want.Min > 0):
					t.Errorf("%s: max_lost counts %+v", part, got[0])
				}
			}
		})
	}
}

// TestSimulate_aJobThatFailsByPreemptionFreesRoom: of its other pods, also for a pod that may not preempt them, and in its quota.
func TestSimulate_aJobThatFailsByPreemptionFreesRoom(t *testing.T) {
	t.Parallel()
	for limit, missing := range map[int32]placement.Range{0: number(0), 6: number(1)} {
		w := isPreempted(ofJob("batch")).run(pod("q", "n3", ofJob("batch"), asking(4, 4), priority(5)), pod("calm", "n1", ownedBy("ReplicaSet", "calm"), asking(4, 4))).job("batch", snapshot.Job{BackoffLimit: limit})
		r := Evaluate(w.Snapshot, tainting("n1", "a:NoExecute"), ComparisonOff)
		if got := outcomeOf(t, r.Outcome(), "calm").Missing; got != missing {
			t.Errorf("with the limit %d, %v replacements of calm are missing", limit, got)
		}
		if got := len(exceeded(Limits{MaxPods: new(int64(3))}, r)); got != map[int32]int{0: 1}[limit] {
			t.Errorf("with the limit %d, %d limits are exceeded", limit, got)
		}
	}
}

// TestSimulate_aJobDeletesNoVictims: both pods of a Job go for one replacement, and the first that goes fails the Job. It
// deletes its Pending pod alone.
func TestSimulate_aJobDeletesNoVictims(t *testing.T) {
	t.Parallel()
	w := newWorld(having(node("n1"), 9, 9), having(node("n2"), 4, 4)).run(
		pod("web", "n1", asking(4, 4), priority(9)), pod("p", "n2", ofJob("batch"), asking(2, 2)), pod("q", "n2", ofJob("batch"), asking(2, 2)))
	w.Waiting = append(w.Waiting, pod("r", "", ofJob("batch"), asking(4, 4), pending))
	r := Evaluate(w.job("batch", snapshot.Job{}).Snapshot, tainting("n1", "a:NoExecute"), ComparisonOff)
	if out := r.Outcome(); out.Preempted != number(2) || out.Lost != number(3) || out.Deleted != number(1) || out.Missing != number(0) || len(out.Victims) != 3 {
		t.Errorf("%v are preempted, %v lost, %v missing: %+v", out.Preempted, out.Lost, out.Missing, out.Victims)
	}
	if got := outcomeOf(t, r.Outcome(), "batch").AllMissing; got != number(0) {
		t.Errorf("%v pods of the failed Job stay Pending", got)
	}
}

// TestSimulate_aJobThatFailsByPreemptionGivesItsQuotaBack: that of its Pending pod lets another pod be created.
func TestSimulate_aJobThatFailsByPreemptionGivesItsQuotaBack(t *testing.T) {
	t.Parallel()
	for limit, refused := range map[int32]placement.Range{0: number(0), 6: number(1)} {
		w := isPreempted(ofJob("batch")).run(
			pod("calm", "n1", ownedBy("ReplicaSet", "calm"), in("app"))).job("batch", snapshot.Job{BackoffLimit: limit})
		w.Pods["n1"][0].Namespace = "prod"
		w = waits(w, pod("q", "", ofJob("batch"), pending, asking(9, 9)))
		w.Quotas = snapshot.Quotas{"app": {{Name: "few", Limits: []snapshot.QuotaLimit{{Resource: "pods", Hard: 1, Used: 3}}}}}
		if got := outcomeOf(t, Evaluate(w.Snapshot, tainting("n1", "a:NoExecute"), ComparisonOff).Outcome(), "calm").Refused; got != refused {
			t.Errorf("with the limit %d, %v replacements of calm are refused", limit, got)
		}
	}
}

// TestSummary_aPodThatItsNamespaceDoesNotAllowIsNeverPending: nor is that of a controller that may not create one.
func TestSummary_aPodThatItsNamespaceDoesNotAllowIsNeverPending(t *testing.T) {
	t.Parallel()
	for name, quotas := range map[string]snapshot.Quotas{"the namespace": {}, "a quota": {"app": {{Name: "few", Limits: []snapshot.QuotaLimit{{Resource: "pods", Hard: 0, Used: 1}}}}}} {
		w := newWorld(node("n1"), node("n2")).run(pod("p", "n1", controlledBy("tekton.dev", "TaskRun"))).admitting(nil)
		if w.Quotas = quotas; len(quotas) == 0 {
			w = w.allowing(exists("c", ""))
		}
		if got := Evaluate(w.Snapshot, tainting("n1", "a:NoExecute"), ComparisonOff).Summary(); got.Refused != number(1) || got.Unplaced != number(0) {
			t.Errorf("by %s, %v are refused and %v Pending", name, got.Refused, got.Unplaced)
		}
	}
}

// TestSimulate_noReplacementIsPendingThatIsNotCreated: that of a pod whose Job fails in any order that has it, and that of a
// victim which a quota refuses and its controller may not create.
func TestSimulate_noReplacementIsPendingThatIsNotCreated(t *testing.T) {
	t.Parallel()
	later := Evaluate(isPreemptedLater().job("batch", snapshot.Job{BackoffLimit: 1}).Snapshot, tainting("n1", "a=3:NoExecute"), ComparisonUnknown)
	if got := outcomeOf(t, later.Outcome(), "batch").Missing; got != number(0) {
		t.Errorf("%v replacements of the failed Job are missing", got)
	}
	w := isPreempted(controlledBy("tekton.dev", "TaskRun"), in("prod"))
	w.Quotas = snapshot.Quotas{"prod": {{Name: "few", Limits: []snapshot.QuotaLimit{{Resource: "pods", Hard: 0, Used: 1}}}}}
	if got := Evaluate(w.Snapshot, tainting("n1", "a:NoExecute"), ComparisonOff).Summary(); got.Refused != number(1) || got.Unplaced != number(0) {
		t.Errorf("%v are refused and %v Pending", got.Refused, got.Unplaced)
	}
}
