// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package placement

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
)

func quota(name string, scopes []corev1.ResourceQuotaScope, limits ...snapshot.QuotaLimit) snapshot.Quota {
	q := snapshot.Quota{Name: name, Limits: limits}
	for _, scope := range scopes {
		q.Scopes = append(q.Scopes, corev1.ScopedResourceSelectorRequirement{ScopeName: scope, Operator: corev1.ScopeSelectorOpExists})
	}
	return q
}

func of(resource corev1.ResourceName, hard, used int64) snapshot.QuotaLimit {
	return snapshot.QuotaLimit{Resource: resource, Hard: hard, Used: used}
}

// later is a scope that no version has which is known here.
var later = []corev1.ResourceQuotaScope{"OfALaterVersion"}

// Three pods of a Deployment are evicted, each with requests of 2 cores and 2Gi and limits of twice as much,
// where the namespace has a quota.
func TestSimulate_quotas(t *testing.T) {
	t.Parallel()
	reaching := []corev1.ResourceQuotaScope{corev1.ResourceQuotaScopeCrossNamespacePodAffinity}
	elsewhere := func(p *snapshot.Pod) { p.Demand.OtherNamespaces = true }
	for name, tt := range map[string]struct {
		quota      snapshot.Quota
		options    []podOption
		refused    int
		why        string
		unmodelled bool
	}{
		"one that is not exceeded refuses no replacement":           {quota: quota("q", nil, of("pods", 3, 3), of("requests.cpu", 6000, 6000)), refused: 0},
		"one that was lowered refuses as many as it lacks":          {quota: quota("q", nil, of("pods", 1, 3)), refused: 2, why: `quota "q" leaves no room for it (pods)`},
		"one of objects counts pods":                                {quota: quota("q", nil, of("count/pods", 2, 3)), refused: 1, why: `quota "q" leaves no room for it (count/pods)`},
		"one of requests refuses what is beyond":                    {quota: quota("q", nil, of("requests.cpu", 5000, 6000)), refused: 1, why: `quota "q" leaves no room for it (requests.cpu)`},
		"one of cpu is one of requests":                             {quota: quota("q", nil, of("cpu", 3000, 6000)), refused: 2, why: `quota "q" leaves no room for it (cpu)`},
		"one of memory refuses what is beyond":                      {quota: quota("q", nil, of("memory", 1<<30, 6<<30)), refused: 3, why: `quota "q" leaves no room for it (memory)`},
		"each resource that is short is named":                      {quota: quota("q", nil, of("pods", 0, 3), of("requests.memory", 0, 6<<30)), refused: 3, why: `quota "q" leaves no room for it (pods, requests.memory)`},
		"other pods use it":                                         {quota: quota("q", nil, of("pods", 4, 5)), refused: 1, why: `quota "q" leaves no room for it (pods)`},
		"nothing that the pods do not ask for is checked":           {quota: quota("q", nil, of("requests.example.com/gpu", 0, 4), of("ephemeral-storage", 0, 4)), refused: 0},
		"one of pods without requests counts none with":             {quota: quota("q", []corev1.ResourceQuotaScope{corev1.ResourceQuotaScopeBestEffort}, of("pods", 0, 3)), refused: 0},
		"one of pods with requests counts them":                     {quota: quota("q", []corev1.ResourceQuotaScope{corev1.ResourceQuotaScopeNotBestEffort}, of("pods", 0, 3)), refused: 3, why: `quota "q" leaves no room for it (pods)`},
		"of pods with a PriorityClass, it counts none without":      {quota: quota("q", []corev1.ResourceQuotaScope{corev1.ResourceQuotaScopePriorityClass}, of("pods", 0, 3))},
		"of pods without a deadline, it counts them":                {quota: quota("q", []corev1.ResourceQuotaScope{corev1.ResourceQuotaScopeNotTerminating}, of("pods", 0, 3)), refused: 3, why: `quota "q" leaves no room for it (pods)`},
		"of pods with a deadline, it counts none without":           {quota: quota("q", []corev1.ResourceQuotaScope{corev1.ResourceQuotaScopeTerminating}, of("pods", 0, 3))},
		"of pods with affinity to other namespaces, it counts them": {quota: quota("q", reaching, of("pods", 1, 3)), options: []podOption{elsewhere}, refused: 2, why: `quota "q" leaves no room for it (pods)`},
		"of such pods, it counts none without":                      {quota: quota("q", reaching, of("pods", 0, 3))},
		"of pods of a later scope, it is not modelled":              {quota: quota("q", later, of("pods", 0, 3)), unmodelled: true},
		"of such pods and not exceeded, it matters not":             {quota: quota("q", later, of("pods", 3, 3))},
		"of such pods without requests, either":                     {quota: quota("q", []corev1.ResourceQuotaScope{later[0], corev1.ResourceQuotaScopeBestEffort}, of("pods", 0, 3))},
		"one of limits refuses what is beyond":                      {quota: quota("q", nil, of("limits.cpu", 9000, 12000)), refused: 1, why: `quota "q" leaves no room for it (limits.cpu)`},
		"one of limits of memory refuses what is beyond":            {quota: quota("q", nil, of("limits.memory", 4<<30, 12<<30)), refused: 2, why: `quota "q" leaves no room for it (limits.memory)`},
		"one of limits that is not exceeded matters not":            {quota: quota("q", nil, of("limits.cpu", 12000, 12000))},
	} {
		w := newWorld(having(node("n1"), 100, 100), having(node("n2"), 100, 100)).run(replicas("web", "n1", 3, append([]podOption{sized(cpu("2", "4"), memory("2Gi", "4Gi"))}, tt.options...)...)...)
		w.Quotas = snapshot.Quotas{"app": {tt.quota}, "other": {quota("none", nil, of("pods", 0, 9))}}
		out := w.simulate()
		got, why := out.of(t, "web"), ""
		if got.Refusal != nil {
			why = got.Refusal.Reason()
		}
		if got.Refused != exactly(tt.refused) || got.NotCreated != exactly(tt.refused) || got.Placed != exactly(3-tt.refused) || got.Missing != exactly(tt.refused) || got.Unplaced != exactly(0) || why != tt.why {
			t.Errorf("%s: refused %v, not created %v, placed %v, because %q", name, got.Refused, got.NotCreated, got.Placed, why)
		}
		if out.Refused != got.Refused || slices.Equal(out.UnmodelledQuotas, []string{"app/q"}) != tt.unmodelled {
			t.Errorf("%s: refused %v, not modelled %q", name, out.Refused, out.UnmodelledQuotas)
		}
	}
}

// A quota of CPU refuses a pod of which a container has no request, unless a LimitRange gives it one.
func TestSimulate_aQuotaThatRequiresRequests(t *testing.T) {
	t.Parallel()
	quotas := snapshot.Quotas{"app": {quota("q", nil, of("requests.cpu", 5000, 0))}}
	for name, tt := range map[string]struct {
		ranges     snapshot.LimitRanges
		refused    int
		unmodelled bool
	}{
		"refuses pods without":                             {ranges: snapshot.LimitRanges{}, refused: 1},
		"admits them where a LimitRange has a default":     {ranges: snapshot.LimitRanges{"app": {defaulting("r", "1")}}},
		"is not modelled where LimitRanges cannot be read": {unmodelled: true},
	} {
		w := newWorld(having(node("n1"), 9, 9), having(node("n2"), 9, 9)).run(replicas("web", "n1", 1, sized(memory("1Gi", "")))...)
		w.Quotas, w.LimitRanges = quotas, tt.ranges
		out := w.simulate()
		if out.Refused != exactly(tt.refused) || slices.Equal(out.UnmodelledQuotas, []string{"app/q"}) != tt.unmodelled {
			t.Errorf("%s: refused %v, not modelled %q", name, out.Refused, out.UnmodelledQuotas)
		}
		if refusal := out.of(t, "web").Refusal; tt.refused > 0 && refusal.Reason() != `quota "q" requires requests.cpu of each container` {
			t.Errorf("%s: because %q", name, refusal.Reason())
		}
	}
}

// A quota that may be about a pod, and requires what a container lacks, is named as not modelled.
func TestSimulate_aQuotaOfUnknownScopeThatRequiresRequestsIsNotModelled(t *testing.T) {
	t.Parallel()
	w := newWorld(having(node("n1"), 100, 100), having(node("n2"), 100, 100)).run(replicas("web", "n1", 1, sized())...)
	w.LimitRanges = snapshot.LimitRanges{}
	w.Quotas = snapshot.Quotas{"app": {quota("q", later, of("requests.cpu", 5000, 0))}}
	if out := w.simulate(); !slices.Equal(out.UnmodelledQuotas, []string{"app/q"}) {
		t.Errorf("not modelled %q", out.UnmodelledQuotas)
	}
}

// A pod that a quota refuses is never Pending.
func TestSimulate_nothingIsProvedOfPodsThatAQuotaRefuses(t *testing.T) {
	t.Parallel()
	w := newWorld(having(node("n1"), 100, 100), having(node("n2"), 2, 2)).run(replicas("web", "n1", 3, asking(2, 2))...)
	w.Quotas = snapshot.Quotas{"app": {quota("q", nil, of("pods", 1, 3))}}
	if got := w.simulate().of(t, "web"); got.Proved > got.Pending.Min {
		t.Errorf("proved to stay Pending: %d; Pending %v, refused %v", got.Proved, got.Pending, got.Refused)
	}
}

func TestSimulate_whichWorkloadAQuotaRefusesDependsOnTheOrder(t *testing.T) {
	t.Parallel()
	w := newWorld(having(node("n1"), 100, 100), having(node("n2"), 100, 100)).
		run(replicas("one", "n1", 2, asking(2, 2))...).run(replicas("two", "n1", 2, asking(2, 2), priority(9))...)
	w.Quotas = snapshot.Quotas{"app": {quota("q", nil, of("pods", 3, 4))}}
	out := w.simulate()
	if one, two := out.of(t, "one"), out.of(t, "two"); one.Refused != (Range{0, 1}) || two.Refused != (Range{0, 1}) || out.Refused != exactly(1) {
		t.Errorf("one %v, two %v, together %v", one.Refused, two.Refused, out.Refused)
	}
}

func TestSimulate_podsThatAreEvictedLaterUseTheirQuotaUntilThen(t *testing.T) {
	t.Parallel()
	w := newWorld(having(node("n1"), 100, 100), having(node("n2"), 100, 100)).
		run(replicas("now", "n1", 1, asking(2, 2))...).run(other("bare", "n1", asking(2, 2)))
	w.Quotas = snapshot.Quotas{"app": {quota("q", nil, of("pods", 1, 2))}}
	for after, refused := range map[int64]int{0: 0, 300: 0} {
		out := New(w.Snapshot, gone("n1"), false).Simulate([]Eviction{
			{Pod: w.named(t, "now-0"), Scheduling: &snapshot.Scheduling{}}, {Pod: w.named(t, "bare"), After: after},
		}, Orders, 1)
		if got := out.of(t, "now"); got.Refused != exactly(refused) {
			t.Errorf("after %d seconds: %+v", after, got)
		}
	}
}

func TestSimulate_aTerminatingPodUsesItsQuotaUntilItIsGone(t *testing.T) {
	t.Parallel()
	w := newWorld(having(node("n1"), 100, 100), having(node("n2"), 100, 100)).
		run(replicas("web", "n1", 1, asking(2, 2))...).run(replicas("old", "n2", 1, asking(2, 2), terminating)...)
	w.Quotas = snapshot.Quotas{"app": {quota("q", nil, of("pods", 1, 2))}}
	if got := w.simulate().of(t, "web"); got.Refused != exactly(0) || got.Placed != exactly(1) {
		t.Errorf("got %+v", got)
	}
}

// It counts for the number of objects alone, for as long as it is there.
func TestSimulate_aTerminatingPodThatIsOverdueGivesNoQuotaBack(t *testing.T) {
	t.Parallel()
	overdue := func(p *snapshot.Pod) { p.Terminating, p.Overdue = true, true }
	for name, tt := range map[string]struct {
		limit   snapshot.QuotaLimit
		refused Range
	}{
		"of pods, lowered":     {of("pods", 1, 2), exactly(1)},
		"of requests, lowered": {of("requests.cpu", 2000, 4000), exactly(1)},
		"of pods, not lowered": {of("pods", 2, 2), exactly(0)},
		"of objects, lowered":  {of("count/pods", 2, 3), Range{0, 1}},
	} {
		w := newWorld(having(node("n1"), 100, 100), having(node("n2"), 100, 100)).
			run(replicas("web", "n1", 1, asking(2, 2))...).run(replicas("old", "n2", 1, asking(2, 2), overdue)...)
		w.Quotas = snapshot.Quotas{"app": {quota("q", nil, tt.limit)}}
		if got := w.simulate().of(t, "web"); got.Refused != tt.refused || got.Placed != (Range{1 - tt.refused.Max, 1 - tt.refused.Min}) {
			t.Errorf("%s: got %+v", name, got)
		}
	}
}

func TestSimulate_preemptedPodsAreRefusedByQuotasToo(t *testing.T) {
	t.Parallel()
	gpu := snapshot.Amount{Name: "example.com/gpu", Value: 1}
	w := newWorld(having(node("n1"), 100, 100, gpu), having(node("n2"), 2, 2, gpu)).
		run(replicas("high", "n1", 1, asking(2, 2), priority(9))...).run(replicas("low", "n2", 1, asking(1, 1, gpu))...)
	for hard, refused := range map[int64]int{0: 1, 1: 0} {
		w.Quotas = snapshot.Quotas{"app": {quota("q", nil, of("pods", 2, 2), of("requests.example.com/gpu", hard, 1))}}
		out := w.simulate()
		if high, low := out.of(t, "high"), out.of(t, "low"); high.Placed != exactly(1) || low.Preempted != exactly(1) || low.Refused != exactly(refused) || low.Pending != exactly(1-refused) {
			t.Errorf("%d devices: high %+v, low %+v", hard, high, low)
		}
	}
}

func TestSimulate_aPodThatAQuotaRefusesPreemptsNone(t *testing.T) {
	t.Parallel()
	w := newWorld(having(node("n1"), 100, 100), having(node("n2"), 2, 2)).
		run(replicas("high", "n1", 1, asking(2, 2), priority(9))...).run(replicas("low", "n2", 1, asking(1, 1))...)
	w.Quotas = snapshot.Quotas{"app": {quota("q", nil, of("pods", 1, 2))}}
	if out := w.simulate(); out.of(t, "high").Refused != exactly(1) || out.Preempted != exactly(0) {
		t.Errorf("got %+v", out.Workloads)
	}
}

func TestSimulate_anOrderedStatefulSetWaitsForThePodThatAQuotaRefuses(t *testing.T) {
	t.Parallel()
	w := newWorld(having(node("n1"), 100, 100), having(node("n2"), 100, 100))
	for _, name := range []string{"db-0", "db-1", "db-2"} {
		w = w.run(pod(name, "n1", ownedBy("StatefulSet", "db"), asking(1, 1)))
	}
	w.Quotas = snapshot.Quotas{"app": {quota("q", nil, of("pods", 1, 3))}}
	evicted := w.evictAll("n1")
	for i := range evicted {
		evicted[i].Ordered = true
	}
	out := New(w.Snapshot, gone("n1"), false).Simulate(evicted, Orders, 1)
	if got := out.of(t, "db"); got.Placed != exactly(1) || got.Refused != exactly(2) || got.NotCreated != exactly(2) || got.Missing != exactly(2) || got.Unplaced != exactly(0) {
		t.Errorf("got %+v", got)
	}
	for _, p := range w.Pods["n1"][1:] {
		if g := out.Of(p); g == nil || g.Refusal == nil {
			t.Errorf("%s is not refused", p.Name)
		}
	}
}

func TestRefusal_wordsWhatRefuses(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		refusal       Refusal
		reason, brief string
	}{
		"a LimitRange":                         {Refusal{LimitRange: "limits", Resources: []string{"min cpu"}}, `LimitRange "limits" refuses it (min cpu)`, "LimitRange limits: min cpu"},
		"a ResourceQuota that is used up":      {Refusal{Quota: "compute", Resources: []string{"pods", "requests.cpu"}}, `quota "compute" leaves no room for it (pods, requests.cpu)`, "quota compute: pods, requests.cpu"},
		"a ResourceQuota that needs a request": {Refusal{Quota: "compute", Resources: []string{"cpu"}, Unset: true}, `quota "compute" requires cpu of each container`, "quota compute requires cpu"},
	} {
		if reason, brief := tt.refusal.Reason(), tt.refusal.Brief(); reason != tt.reason || brief != tt.brief {
			t.Errorf("%s: %s; in short %s", name, reason, brief)
		}
	}
}
