// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package placement

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
)

func TestOutcome_Of_tellsTheFateOfEachReplacement(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		// room is that of the only other node.
		room    int64
		pods    []*snapshot.Pod
		fate    Fate
		pending Range
		reason  string
	}{
		"all are placed in every order": {
			room: 2, pods: replicas("web", "n1", 2, asking(1, 1)), fate: Fits,
		},
		"none is placed in any order": {
			room: 1, pods: replicas("web", "n1", 2, asking(2, 2)), fate: Pending, pending: exactly(2),
			reason: "1 is tainted gone:NoExecute, 1 lacks memory (needs 2Gi, 1Gi free)",
		},
		"one of two is placed in every order": {
			room: 1, pods: replicas("web", "n1", 2, asking(1, 1)), fate: DependsOnOrder, pending: exactly(1),
			reason: "1 is tainted gone:NoExecute, 1 lacks memory (needs 1Gi, none free)",
		},
		"both are placed in some orders": {
			room: 2, pods: append(replicas("web", "n1", 2, asking(1, 1)), replicas("large", "n1", 1, asking(2, 2))...), fate: DependsOnOrder, pending: Range{0, 2},
			reason: "1 is tainted gone:NoExecute, 1 lacks memory (needs 1Gi, none free)",
		},
	} {
		out := newWorld(having(node("n1"), 100, 100), having(node("n2"), tt.room, tt.room)).run(tt.pods...).simulate()
		for _, p := range tt.pods[:2] {
			got := out.Of(p)
			if got.Fate != tt.fate || got.Pending() != tt.pending || got.Reason != tt.reason {
				t.Errorf("%s: %s: %s, pending %v: %s", name, p.Name, got.Fate, got.Pending(), got.Reason)
			}
		}
	}
}

func TestSimulate_countsPodsThatArePendingAnyway(t *testing.T) {
	t.Parallel()
	w := newWorld(having(node("n1"), 100, 100), having(node("n2"), 1, 1)).run(replicas("web", "n1", 1, asking(2, 2))...)
	waits := other("waits", "", asking(2, 2))
	waits.Controller = w.named(t, "web-0").Controller
	w.Waiting = []*snapshot.Pod{waits}
	if got := w.simulate().of(t, "web"); got.Pending != exactly(1) || got.AllMissing != exactly(2) {
		t.Errorf("pending %v, together with those before the change %v", got.Pending, got.AllMissing)
	}
}

func TestSimulate_oneOfTwoPodsOfAWorkloadIsPendingWhicheverItIs(t *testing.T) {
	t.Parallel()
	w := newWorld(having(node("n1"), 100, 100), having(node("n2"), 2, 2)).run(replicas("web", "n1", 1, asking(2, 2))...)
	waits := other("waits", "", asking(2, 2))
	waits.Controller = w.named(t, "web-0").Controller
	w.Waiting = []*snapshot.Pod{waits}
	if got := w.simulate().of(t, "web"); got.Missing != (Range{Max: 1}) || got.AllMissing != exactly(1) {
		t.Errorf("%v are missing, together with those that were Pending before %v", got.Missing, got.AllMissing)
	}
}

// A pod that was Pending before is placed first, since it has the higher priority.
func TestSimulate_antiAffinityOfPodsThatWait(t *testing.T) {
	t.Parallel()
	apart := &snapshot.PodRules{AntiAffinity: []snapshot.PodTerm{{TopologyKey: "kubernetes.io/hostname", Selector: labels.SelectorFromSet(labels.Set{"app": "web"}), OwnNamespace: true}}}
	for name, tt := range map[string]struct {
		rules *snapshot.PodRules
		want  Range
	}{"without any": {nil, exactly(0)}, "with one that matches": {apart, exactly(1)}} {
		w := newWorld(having(node("n1"), 100, 100), having(node("n2"), 9, 9)).run(replicas("web", "n1", 1, asking(1, 1))...)
		w.Waiting = []*snapshot.Pod{other("waits", "", asking(1, 1), priority(5), labelledAs("app", "other"), ruled(tt.rules))}
		if got := w.simulate().of(t, "web"); got.Pending != tt.want {
			t.Errorf("%s: %v Pending", name, got.Pending)
		}
	}
}

// Nodes that labels rule out are not looked at one by one, and count all the same.
func TestSimulate_reasonCountsNodesThatLabelsRuleOut(t *testing.T) {
	t.Parallel()
	w := newWorld(labelled(having(node("n1"), 100, 100), "pool", "a"), labelled(having(node("n2"), 1, 1), "pool", "a"), having(node("n3"), 9, 9), having(node("n4"), 9, 9)).
		run(replicas("web", "n1", 1, asking(2, 2), selecting("pool", "a"))...)
	want := "2 do not match its node selector, 1 is tainted gone:NoExecute, 1 lacks memory (needs 2Gi, 1Gi free)"
	if got := w.simulate().of(t, "web"); got.Reason != want {
		t.Errorf("the reason is %q", got.Reason)
	}
}

// The victims of the first pod have used up what the PodDisruptionBudget allows.
func TestPreemption_spendsPodDisruptionBudgets(t *testing.T) {
	t.Parallel()
	protected := func(name, node string) *snapshot.Pod {
		return pod(name, node, asking(4, 4), priority(1), patient, labelledAs("app", "a"))
	}
	for name, tt := range map[string]struct {
		allowed int32
		want    []string
	}{
		"it allows two disruptions": {2, []string{"a1", "a2"}},
		"it allows one":             {1, []string{"a1", "b"}},
		"it allows none":            {0, []string{"b", "c"}},
	} {
		w := newWorld(having(node("n1"), 100, 100), having(node("n2"), 4, 4), having(node("n3"), 4, 4), having(node("n4"), 4, 4), having(node("n5"), 4, 4)).
			run(replicas("web", "n1", 2, asking(4, 4), priority(10))...).
			run(protected("a1", "n2"), protected("a2", "n3"), pod("b", "n4", asking(4, 4), priority(8), patient), pod("c", "n5", asking(4, 4), priority(9), patient)).
			protect("a", tt.allowed)
		out := New(w.Snapshot, gone("n1"), false).Simulate(w.evictAll("n1"), 1, 1)
		got := out.victims()
		for i := range got {
			// Which of the two it is, chance decides.
			if tt.allowed == 1 && got[i] == "a2" {
				got[i] = "a1"
			}
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestJoin_addsUpWhatEachChangeDoes(t *testing.T) {
	t.Parallel()
	key := func(name string) snapshot.WorkloadKey {
		return snapshot.WorkloadKey{Namespace: "app", Owner: snapshot.Owner{Kind: "Deployment", Name: name}}
	}
	refusal := &Refusal{}
	all := func(n int) Range { return Range{n, n + 1} }
	web := WorkloadOutcome{
		WorkloadKey: key("web"), Placed: all(1), Pending: all(2), NotCreated: all(3), Missing: all(4), Refused: all(5), Unplaced: all(6), AllMissing: all(7), Delayed: all(8), Preempted: all(9), Lost: all(1), JobFails: true, Arriving: all(1), Staying: all(2),
		Proved: 1, Reason: "first", Brief: "1st", Awaits: []string{"MachineSet a"}, PolicyUnknown: true,
	}
	more := WorkloadOutcome{
		WorkloadKey: key("web"), Placed: exactly(10), Pending: exactly(10), NotCreated: exactly(10), Missing: exactly(10), Refused: exactly(10), Unplaced: exactly(10), AllMissing: exactly(10), Delayed: exactly(10), Preempted: exactly(10), Lost: exactly(10), Arriving: exactly(10), Staying: exactly(10),
		Proved: 10, Reason: "second", Brief: "2nd", Awaits: []string{"MachineSet b"}, Refusal: refusal,
	}
	fits := WorkloadOutcome{WorkloadKey: key("web"), Placed: exactly(1)}
	alone := WorkloadOutcome{WorkloadKey: key("db"), Pending: exactly(1), Reason: "db"}
	sum := WorkloadOutcome{
		WorkloadKey: key("web"), Placed: all(11), Pending: all(12), NotCreated: all(13), Missing: all(14), Refused: all(15), Unplaced: all(16), AllMissing: all(17), Delayed: all(18), Preempted: all(19), Lost: all(11), JobFails: true, Arriving: all(11), Staying: all(12),
		Proved: 11, Reason: "first", Brief: "1st", Awaits: []string{"MachineSet a"}, PolicyUnknown: true, Refusal: refusal,
	}
	pod, db := &snapshot.Pod{Name: "web-0"}, &snapshot.Pod{Name: "db-0"}
	group := &Group{Fate: Fits}
	first := &Outcome{
		Placed: all(1), Pending: all(2), NotCreated: all(3), Missing: all(4), Refused: all(5), Unplaced: all(6), Preempted: all(7), Arriving: all(1), Staying: all(2), UnknownQuotas: true,
		UnmodelledQuotas: []string{"app/b"}, UnmodelledRanges: []string{"app/d"}, Victims: []Victim{{Orders: 1}}, Workloads: []WorkloadOutcome{web}, groups: map[*snapshot.Pod]*Group{pod: group},
		Lost: all(1), Gone: map[*snapshot.Pod]bool{pod: false, db: false},
	}
	second := &Outcome{
		Placed: exactly(10), Pending: exactly(10), NotCreated: exactly(10), Missing: exactly(10), Refused: exactly(10), Unplaced: exactly(10), Preempted: exactly(10), Arriving: exactly(10), Staying: exactly(10), UnknownRanges: true,
		UnmodelledQuotas: []string{"app/a", "app/b"}, UnmodelledRanges: []string{"app/c", "app/d"}, Victims: []Victim{{Orders: 2}}, Workloads: []WorkloadOutcome{alone, more},
		Lost: exactly(10), Gone: map[*snapshot.Pod]bool{pod: true},
	}
	want := &Outcome{
		Placed: all(11), Pending: all(12), NotCreated: all(13), Missing: all(14), Refused: all(15), Unplaced: all(16), Preempted: all(17), Arriving: all(11), Staying: all(12), UnknownQuotas: true, UnknownRanges: true,
		UnmodelledQuotas: []string{"app/a", "app/b"}, UnmodelledRanges: []string{"app/c", "app/d"}, Victims: []Victim{{Orders: 1}, {Orders: 2}}, Workloads: []WorkloadOutcome{sum, alone},
		Lost: all(11), Gone: map[*snapshot.Pod]bool{pod: true, db: false},
	}
	got := Join(first, second)
	if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(Outcome{})); diff != "" {
		t.Error(diff)
	}
	if got.Of(pod) != group {
		t.Error("the outcome of a pod's replacement is lost")
	}
	for name, tt := range map[string]struct{ first, second, want Outcome }{
		"limits of volumes that one does not know":       {Outcome{UnknownVolumeLimits: true}, Outcome{}, Outcome{UnknownVolumeLimits: true}},
		"limits of volumes that the other does not know": {Outcome{}, Outcome{UnknownVolumeLimits: true}, Outcome{UnknownVolumeLimits: true}},
		"the fewest orders":                              {Outcome{Orders: 9, Wanted: 30}, Outcome{Orders: 5, Wanted: 20}, Outcome{Orders: 5, Wanted: 30}},
		"the fewest orders of the first":                 {Outcome{Orders: 5}, Outcome{Orders: 9}, Outcome{Orders: 5}},
		"a change without orders":                        {Outcome{Orders: 5}, Outcome{}, Outcome{Orders: 5}},
		"a change without orders before":                 {Outcome{}, Outcome{Orders: 5}, Outcome{Orders: 5}},
	} {
		if diff := cmp.Diff(&tt.want, Join(&tt.first, &tt.second), cmpopts.IgnoreUnexported(Outcome{}), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	if got := Join(&Outcome{Workloads: []WorkloadOutcome{fits}}, &Outcome{Workloads: []WorkloadOutcome{web}}).Workloads[0]; !got.PolicyUnknown {
		t.Error("it is lost that a policy is not known")
	}
	later := Join(&Outcome{Workloads: []WorkloadOutcome{fits}}, &Outcome{Workloads: []WorkloadOutcome{more}}).Workloads[0]
	if later.Reason != "second" || later.Brief != "2nd" || len(later.Awaits) != 1 || later.PolicyUnknown {
		t.Errorf("only the second change leaves pods Pending: %+v", later)
	}
}

// One order shows it: the first one takes pods as they are given.
func TestSimulate_firstOrderPlacesPodsThatWaitedBefore(t *testing.T) {
	t.Parallel()
	w := newWorld(having(node("n1"), 100, 100), having(node("n2"), 2, 2)).run(replicas("web", "n1", 1, asking(2, 2))...)
	w.Waiting = []*snapshot.Pod{other("late", "", asking(2, 2), since(200), ownedBy("ReplicaSet", "late")), other("early", "", asking(2, 2), since(100), ownedBy("ReplicaSet", "early"))}
	s := newSimulation(New(w.Snapshot, gone("n1"), false), w.evictAll("n1"))
	s.run(1, 0)
	for _, r := range s.replacements {
		if placed := r.node >= 0; placed != (r.pod.Name == "early") {
			t.Errorf("%s is placed: %t", r.pod.Name, placed)
		}
	}
}

func TestSimulate_nodesWithoutAllocatableTakePods(t *testing.T) {
	t.Parallel()
	w := newWorld(node("n1"), node("n2")).run(replicas("web", "n1", 2)...)
	if got := w.simulate().of(t, "web"); got.Placed != exactly(2) {
		t.Errorf("got %+v", got)
	}
}

// The pods of a snapshot are in no order.
func TestSimulate_createsPodsOfAStatefulSetByTheirOrdinals(t *testing.T) {
	t.Parallel()
	w := newWorld(having(node("n1"), 100, 100), having(node("n2"), 9, 9))
	for _, name := range []string{"db-2", "db-0", "db-1"} {
		w = w.run(pod(name, "n1", ownedBy("StatefulSet", "db"), asking(1, 1)))
	}
	evicted := w.evictAll("n1")
	for i := range evicted {
		evicted[i].Ordered = true
	}
	if got := New(w.Snapshot, gone("n1"), false).Simulate(evicted, Orders, 1).of(t, "db"); got.Placed != exactly(3) || got.NotCreated != exactly(0) {
		t.Errorf("got %+v", got)
	}
}

// A pod whose eviction has been granted already has been counted.
func TestPreemption_spendsNothingOnPodsThatAreDisrupted(t *testing.T) {
	t.Parallel()
	w := newWorld(having(node("n1"), 100, 100), having(node("n2"), 4, 4), having(node("n3"), 4, 4), having(node("n4"), 4, 4)).
		run(replicas("web", "n1", 2, asking(4, 4), priority(10))...).
		run(pod("granted", "n2", asking(4, 4), priority(1), patient, labelledAs("app", "a")), pod("a", "n3", asking(4, 4), priority(1), patient, labelledAs("app", "a"))).
		run(pod("b", "n4", asking(4, 4), priority(8), patient)).protect("a", 1)
	w.Budgets["app"][0].Disrupted = map[string]bool{"granted": true}
	if diff := cmp.Diff([]string{"a", "granted"}, w.simulate().victims()); diff != "" {
		t.Error(diff)
	}
}

func TestObstacle_wordsHowPodsKeepAnotherAway(t *testing.T) {
	t.Parallel()
	for kind, want := range map[kind][2]string{
		byPort: {"has its host port in use", "have its host port in use"}, byDisk: {"has its disk in use", "have its disk in use"}, bySpread: {"does not match its topology spread", "do not match its topology spread"},
		byPodAffinity: {"does not match its pod affinity", "do not match its pod affinity"}, byPodAntiAffinity: {"does not match its pod anti-affinity", "do not match its pod anti-affinity"},
		byAntiAffinityOfPods: {"has pods with an anti-affinity to it", "have pods with an anti-affinity to it"},
	} {
		for i, nodes := range []int{1, 2} {
			if got, want := wordAll([]counted{{obstacle: obstacle{kind: kind}, nodes: nodes}}, &snapshot.Demand{}), fmt.Sprintf("%d %s", nodes, want[i]); got != want {
				t.Errorf("got %q, want %q", got, want)
			}
		}
	}
}

// The pod with the higher priority is placed first, in another namespace.
func TestSimulate_antiAffinityToPodsOfOtherNamespaces(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		term snapshot.PodTerm
		want Range
	}{
		"of its own namespace alone": {snapshot.PodTerm{OwnNamespace: true}, exactly(0)},
		"of this namespace":          {snapshot.PodTerm{Namespaces: []string{"elsewhere"}}, exactly(1)},
		"of a third namespace":       {snapshot.PodTerm{Namespaces: []string{"third"}}, exactly(0)},
	} {
		tt.term.TopologyKey, tt.term.Selector = "kubernetes.io/hostname", labels.SelectorFromSet(labels.Set{"app": "x"})
		first := pod("x-0", "n1", ownedBy("ReplicaSet", "x"), asking(1, 1), priority(5), labelledAs("app", "x"))
		first.Namespace = "elsewhere"
		w := newWorld(having(node("n1"), 9, 9), having(node("n2"), 9, 9)).
			run(replicas("web", "n1", 1, asking(1, 1), ruled(&snapshot.PodRules{AntiAffinity: []snapshot.PodTerm{tt.term}}))...).run(first)
		if got := w.simulate().of(t, "web"); got.Pending != tt.want {
			t.Errorf("%s: %v Pending", name, got.Pending)
		}
	}
}

// TestOthers_Caused: what chance alone may move is a range with its ends in order, and nothing of a change that evicts
// no pod.
func TestOthers_Caused(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		missing, before Range
		alone           bool
		want            Range
	}{
		"both ends rise":                        {Range{5, 8}, Range{3, 4}, false, Range{2, 4}},
		"the lower end rises more":              {Range{85, 98}, Range{75, 90}, false, Range{8, 10}},
		"one end rises":                         {Range{2, 8}, Range{2, 7}, false, Range{0, 1}},
		"fewer than before":                     {Range{1, 2}, Range{2, 3}, false, Range{}},
		"one end rises, and no pod is evicted":  {Range{2, 8}, Range{2, 7}, true, Range{}},
		"both ends rise, and no pod is evicted": {Range{3, 8}, Range{2, 7}, true, Range{1, 1}},
		"none is missing":                       {Range{}, Range{}, false, Range{}},
	} {
		o := Others{Missing: tt.missing, Alone: tt.alone, Before: func() Range { return tt.before }}
		if got := o.Caused(); got != tt.want {
			t.Errorf("%s: %v, want %v", name, got, tt.want)
		}
	}
}

// TestSimulate_triesFewerOrdersBesideOthers: as many as the change has of the replacements.
func TestSimulate_triesFewerOrdersBesideOthers(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ own, others, want int }{{10, 0, Orders}, {10, 10, Orders / 2}, {1, 99, 5}, {0, 9, 2}} {
		s := &simulation{}
		for i := range tt.own + tt.others {
			s.replacements = append(s.replacements, &replacement{elsewhere: i >= tt.own})
		}
		if s.fixed = len(s.replacements); s.share(Orders) != tt.want {
			t.Errorf("%d of %d: %d orders, want %d", tt.own, tt.own+tt.others, s.share(Orders), tt.want)
		}
	}
}
