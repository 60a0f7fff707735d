// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package placement

import (
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
)

// crowded is a world in which pods of node n1 with this priority find room on n2 only in the place
// of a pod of priority 5.
func crowded(n int32, options ...podOption) world {
	return newWorld(having(node("n1"), 9, 9), having(node("n2"), 4, 4)).
		run(replicas("web", "n1", 1, append([]podOption{asking(3, 3), priority(n)}, options...)...)...).
		run(replicas("victim", "n2", 1, asking(2, 2), priority(5), labelledAs("app", "victim"))...)
}

func labelledAs(key, value string) podOption {
	return func(p *snapshot.Pod) { p.Labels = labels.Set{key: value} }
}

func inNamespace(name string) podOption { return func(p *snapshot.Pod) { p.Namespace = name } }

// mirror makes a pod that of a static one.
func mirror(p *snapshot.Pod) { p.Mirror, p.Controller = true, nil }

func since(seconds int64) podOption { return func(p *snapshot.Pod) { p.Since = seconds } }

func (w world) protect(app string, allowed int32) world {
	if w.Budgets == nil {
		w.Budgets = snapshot.Budgets{}
	}
	w.Budgets["app"] = append(w.Budgets["app"], snapshot.Budget{Name: app, Selector: labels.SelectorFromSet(labels.Set{"app": app}), Allowed: allowed})
	return w
}

// victims returns the names of preempted pods.
func (o *Outcome) victims() []string {
	out := []string{}
	for _, v := range o.Victims {
		out = append(out, v.Pod.Name)
	}
	return out
}

func TestPreemption_evictsPodsOfUntouchedNodes(t *testing.T) {
	t.Parallel()
	out := crowded(10).simulate()
	if web := out.of(t, "web"); web.Placed != exactly(1) || web.Preempted != exactly(0) {
		t.Errorf("web: %+v", web)
	}
	if victim := out.of(t, "victim"); victim.Preempted != exactly(1) || victim.Pending != exactly(1) || victim.Fate() != Pending {
		t.Errorf("victim: %+v", victim)
	}
	if out.Preempted != exactly(1) || len(out.Victims) != 1 || out.Victims[0].Orders != Orders {
		t.Errorf("preempted %+v, victims %+v", out.Preempted, out.Victims)
	}
}

func TestPreemption_evictsNoPod(t *testing.T) {
	t.Parallel()
	for name, w := range map[string]world{
		"for a pod of the same priority":           crowded(5),
		"for a pod with preemptionPolicy Never":    crowded(10, patient),
		"for a pod that does not fit even then":    crowded(10, asking(5, 5), priority(10)),
		"that is static: its kubelet goes on":      newWorld(having(node("n1"), 9, 9), having(node("n2"), 4, 4)).run(replicas("web", "n1", 1, asking(3, 3), priority(10))...).run(pod("static", "n2", asking(2, 2), priority(5), mirror)),
		"for a pod that a taint keeps away anyway": {crowded(10).With(map[string]*snapshot.Node{"n2": having(node("n2", "a:NoSchedule"), 4, 4)}, nil)},
	} {
		out := w.simulate()
		if web := out.of(t, "web"); web.Pending != exactly(1) || out.Preempted != exactly(0) {
			t.Errorf("%s: %+v, preempted %+v", name, web, out.Preempted)
		}
	}
}

func TestPreemption_placesVictimsElsewhere(t *testing.T) {
	t.Parallel()
	w := crowded(10)
	w.Nodes["n3"] = having(node("n3"), 2, 2)
	out := w.simulate()
	if victim := out.of(t, "victim"); victim.Preempted != exactly(1) || victim.Placed != exactly(1) || victim.Pending != exactly(0) {
		t.Errorf("victim: %+v", victim)
	}
}

func TestPreemption_choosesTheVictimsThatCostLeast(t *testing.T) {
	t.Parallel()
	two := func(a, b *snapshot.Pod, more ...*snapshot.Pod) world {
		return newWorld(having(node("n1"), 9, 9), having(node("n2"), 4, 4), having(node("n3"), 4, 4)).
			run(replicas("web", "n1", 1, asking(4, 4), priority(10))...).run(a, b).run(more...)
	}
	for name, tt := range map[string]struct {
		world world
		want  []string
	}{
		"the fewest violations of PodDisruptionBudgets": {
			world: two(pod("a", "n2", asking(4, 4), priority(1), labelledAs("app", "a")), pod("b", "n3", asking(4, 4), priority(9), patient)).protect("a", 0), want: []string{"b"},
		},
		"a budget that allows it violates nothing": {
			world: two(pod("a", "n2", asking(4, 4), priority(1), labelledAs("app", "a")), pod("b", "n3", asking(4, 4), priority(9), patient)).protect("a", 1), want: []string{"a"},
		},
		"a budget of all pods protects none": {
			world: func() world {
				w := two(pod("a", "n2", asking(4, 4), priority(1), labelledAs("app", "a")), pod("b", "n3", asking(4, 4), priority(9), patient)).protect("a", 0)
				w.Budgets["app"][0].Selector = labels.Everything()
				return w
			}(), want: []string{"a"},
		},
		"a budget whose pods terminate anyway allows as many": {
			world: two(pod("a", "n2", asking(4, 4), priority(1), labelledAs("app", "a")), pod("b", "n3", asking(4, 4), priority(9), patient), pod("a2", "n1", terminating, labelledAs("app", "a"))).protect("a", 1), want: []string{"a"},
		},
		"then the lowest priority": {
			world: two(pod("a", "n2", asking(4, 4), priority(2)), pod("b", "n3", asking(4, 4), priority(1))), want: []string{"b"},
		},
		"then the lowest sum of priorities": {
			world: two(pod("a", "n2", asking(2, 2), priority(1)), pod("b", "n3", asking(4, 4), priority(1)), pod("a2", "n2", asking(2, 2), priority(0))), want: []string{"b"},
		},
		"then the pod that was started last": {
			world: two(pod("a", "n2", asking(4, 4), since(100)), pod("b", "n3", asking(4, 4), since(200))), want: []string{"b"},
		},
	} {
		if got := tt.world.simulate().victims(); len(got) != 1 || got[0] != tt.want[0] {
			t.Errorf("%s: victims %v, want %v", name, got, tt.want)
		}
	}
}

func TestPreemption_putsBackWhatDoesNotHaveToGo(t *testing.T) {
	t.Parallel()
	on := func(pods ...*snapshot.Pod) world {
		return newWorld(having(node("n1"), 9, 9), having(node("n2"), 4, 4)).
			run(replicas("web", "n1", 1, asking(2, 2), priority(10))...).run(pods...)
	}
	for name, tt := range map[string]struct {
		world world
		want  string
	}{
		"the higher priority stays":    {world: on(pod("low", "n2", asking(2, 2), priority(1)), pod("high", "n2", asking(2, 2), priority(2), patient)), want: "low"},
		"the older pod stays":          {world: on(pod("old", "n2", asking(2, 2), since(1)), pod("young", "n2", asking(2, 2), since(2))), want: "young"},
		"the protected pod stays":      {world: on(pod("low", "n2", asking(2, 2), priority(1), labelledAs("app", "low")), pod("high", "n2", asking(2, 2), priority(2), patient)).protect("low", 0), want: "high"},
		"what is in no pod's way, too": {world: on(pod("small", "n2", asking(1, 1)), pod("big", "n2", asking(3, 3), priority(1))), want: "big"},
	} {
		if got := tt.world.simulate().victims(); len(got) != 1 || got[0] != tt.want {
			t.Errorf("%s: victims %v, want %s", name, got, tt.want)
		}
	}
}

func TestPreemption_countsEvictedPodsOfABudgetAsGone(t *testing.T) {
	t.Parallel()
	w := newWorld(having(node("n1"), 9, 9), having(node("n2"), 4, 4), having(node("n3"), 4, 4)).
		run(replicas("web", "n1", 1, asking(4, 4), priority(10))...).
		run(pod("a", "n2", asking(4, 4), priority(1), labelledAs("app", "a")), pod("b", "n3", asking(4, 4), priority(2), patient)).protect("a", 1)
	if got := w.simulate().victims(); len(got) != 1 || got[0] != "a" {
		t.Fatalf("victims %v", got)
	}
	w = w.run(pod("a2", "n1", asking(9, 9), labelledAs("app", "a")))
	if got := w.simulate().victims(); len(got) != 1 || got[0] != "b" {
		t.Errorf("beside an evicted pod of the same budget: victims %v", got)
	}
}

// big preempts after 300s: a, whose priority is lower, where its PodDisruptionBudget allows that, and else b.
func TestPreemption_budgetsRecoverWhereReplacementsArePlacedEarlier(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		spare int64
		after int64
		ready bool
		want  []string
	}{
		// It is not known how long the replacement takes to be ready.
		{name: "a replacement that is placed before", spare: 1, ready: true, want: []string{"a", "b"}},
		{name: "a replacement that is placed at the same moment", spare: 1, after: 300, ready: true, want: []string{"b"}},
		{name: "a replacement that is Pending", ready: true, want: []string{"b"}},
		{name: "an evicted pod that was not ready", want: []string{"a"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(having(node("n1"), 9, 9), having(node("n2"), 4, 4), having(node("n3"), 4, 4), having(node("n4"), tt.spare, tt.spare)).
				run(replicas("big", "n1", 1, asking(4, 4), priority(10))...).
				run(pod("a2", "n1", asking(1, 1), labelledAs("app", "a"))).
				run(pod("a", "n2", asking(4, 4), priority(1), labelledAs("app", "a")), pod("b", "n3", asking(4, 4), priority(2), patient, labelledAs("app", "b"))).protect("a", 1)
			w.named(t, "a2").Ready = tt.ready
			evicted := w.evictAll("n1")
			evicted[0].After, evicted[1].After = 300, tt.after
			if got := New(w.Snapshot, gone("n1"), false).Simulate(evicted, Orders, 1).victims(); !slices.Equal(got, tt.want) {
				t.Errorf("victims %v, want %v", got, tt.want)
			}
		})
	}
}

// Two pods preempt: the victim of the first one may not have terminated when the second one is tried, and its node then
// costs one violation of a PodDisruptionBudget more than the other node, whose pod has the higher priority.
func TestPreemption_victimsThatHaveNotTerminatedCostAgain(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		allowed int32
		want    Range
	}{
		"no disruption is allowed": {0, Range{0, 1}},
		"all disruptions are":      {9, exactly(0)},
	} {
		out := newWorld(having(node("n1"), 9, 9), having(node("n2"), 4, 4), having(node("n3"), 2, 2)).
			run(replicas("web", "n1", 2, asking(2, 2), priority(10))...).
			run(replicas("low", "n2", 2, asking(2, 2), labelledAs("app", "low"))...).
			run(replicas("high", "n3", 1, asking(2, 2), priority(9), patient, labelledAs("app", "high"))...).
			protect("low", tt.allowed).protect("high", tt.allowed).simulate()
		got := Range{}
		for _, w := range out.Workloads {
			if w.Name == "high" {
				got = w.Preempted
			}
		}
		if got != tt.want || out.Preempted != exactly(2) {
			t.Errorf("%s: %v of high, %v in all are preempted, want %v of high", name, got, out.Preempted, tt.want)
		}
	}
}

func TestPreemption_goesOnWithWhatReplacesTheVictim(t *testing.T) {
	t.Parallel()
	w := newWorld(having(node("n1"), 9, 9), having(node("n2"), 4, 4), having(node("n3"), 4, 4)).
		run(replicas("web", "n1", 1, asking(4, 4), priority(10))...).
		run(replicas("high", "n2", 1, asking(4, 4), priority(9), labelledAs("app", "high"))...).
		run(replicas("low", "n3", 1, asking(4, 4), priority(1), labelledAs("app", "low"))...).protect("low", 0)
	out := w.simulate()
	if high, low := out.of(t, "high"), out.of(t, "low"); high.Placed != exactly(1) || low.Pending != exactly(1) || out.Preempted != exactly(2) {
		t.Errorf("high %+v, low %+v, preempted %+v", high, low, out.Preempted)
	}
}

func TestPreemption_losesBarePods(t *testing.T) {
	t.Parallel()
	w := crowded(10)
	w.named(t, "victim-0").Controller = nil
	out := w.simulate()
	if got := out.of(t, "victim-0"); got.Preempted != exactly(1) || got.Pending != exactly(0) || got.Placed != exactly(0) {
		t.Errorf("got %+v", got)
	}
}

func TestPreemption_ofPodsThatAreEvictedLaterIsNoPreemptionElsewhere(t *testing.T) {
	t.Parallel()
	w := crowded(10)
	victim := w.named(t, "victim-0")
	evicted := append(w.evictAll("n1"), Eviction{Pod: victim, After: 300, Scheduling: victim.Scheduling})
	out := New(w.Snapshot, gone("n1"), false).Simulate(evicted, Orders, 1)
	if got := out.of(t, "victim"); out.Preempted != exactly(0) || got.Pending != exactly(1) || out.of(t, "web").Delayed != exactly(0) {
		t.Errorf("preempted %+v, %+v", out.Preempted, got)
	}
}

// It counts as evicted once, whatever evicts it.
func TestPreemption_ofPodsThatMayBeEvictedIsNoPreemptionElsewhere(t *testing.T) {
	t.Parallel()
	w := crowded(10)
	victim := w.named(t, "victim-0")
	evicted := append(w.evictAll("n1"), Eviction{Pod: victim, Unsure: true, Scheduling: victim.Scheduling})
	out := New(w.Snapshot, gone("n1"), false).Simulate(evicted, Orders, 1)
	if got := out.of(t, "victim"); out.Preempted != exactly(0) || got.Pending != exactly(1) || out.of(t, "web").Placed != exactly(1) {
		t.Errorf("preempted %+v, web %+v, victim %+v", out.Preempted, out.of(t, "web"), got)
	}
}

// Its replacement does not exist in the orders in which the pod keeps its room.
func TestSimulate_aPodThatMayBeEvictedNeedsNoPlaceWhereItStays(t *testing.T) {
	t.Parallel()
	w := newWorld(having(node("n1"), 9, 9), having(node("n2"), 2, 2)).run(pod("web-0", "n1", ownedBy("ReplicaSet", "web"), asking(4, 4)))
	evicted := w.evictAll("n1")
	evicted[0].Unsure = true
	out := New(w.Snapshot, gone("n1"), false).Simulate(evicted, Orders, 1)
	if got := out.of(t, "web"); got.Pending != (Range{Max: 1}) || got.Placed != exactly(0) || got.Proved != 0 {
		t.Errorf("pending %v, placed %v, proved to stay Pending %d", got.Pending, got.Placed, got.Proved)
	}
}

func TestPreemption_resolvesAntiAffinityAndPorts(t *testing.T) {
	t.Parallel()
	host := snapshot.PodTerm{TopologyKey: "kubernetes.io/hostname", Selector: labels.SelectorFromSet(labels.Set{"app": "victim"}), OwnNamespace: true}
	for name, rules := range map[string][2]*snapshot.PodRules{
		"its own anti-affinity":       {{AntiAffinity: []snapshot.PodTerm{host}}, nil},
		"the victim's anti-affinity":  {nil, {AntiAffinity: []snapshot.PodTerm{{TopologyKey: "kubernetes.io/hostname", Selector: labels.Everything(), OwnNamespace: true}}}},
		"a host port of both of them": {{Ports: []snapshot.HostPort{{IP: "0.0.0.0", Port: 80}}}, {Ports: []snapshot.HostPort{{IP: "10.0.0.1", Port: 80}}}},
		"its spread":                  {{Spread: []snapshot.SpreadConstraint{{MaxSkew: 1, MinDomains: 3, TopologyKey: "kubernetes.io/hostname", Selector: labels.SelectorFromSet(labels.Set{"app": "victim"})}}}, nil},
	} {
		w := newWorld(having(node("n1"), 9, 9), having(node("n2"), 9, 9)).
			run(replicas("web", "n1", 1, asking(1, 1), priority(10), labelledAs("app", "victim"), ruled(rules[0]))...).
			run(replicas("victim", "n2", 1, asking(1, 1), priority(5), labelledAs("app", "victim"), ruled(rules[1]))...)
		if got := w.simulate().victims(); len(got) != 1 {
			t.Errorf("%s: victims %v", name, got)
		}
	}
}

func ruled(r *snapshot.PodRules) podOption { return func(p *snapshot.Pod) { p.Rules = r } }

// TestPreemption_makesRoomForPodsThatPreemptNone: these are tried again once others have preempted.
func TestPreemption_makesRoomForPodsThatPreemptNone(t *testing.T) {
	t.Parallel()
	out := newWorld(having(node("n1"), 9, 9), having(node("n2"), 2, 9)).
		run(replicas("first", "n1", 1, asking(1, 1), priority(10), patient)...).
		run(replicas("second", "n1", 1, asking(1, 1), priority(9))...).
		run(replicas("victim", "n2", 1, asking(2, 1))...).simulate()
	if first, second := out.of(t, "first"), out.of(t, "second"); first.Pending != exactly(0) || second.Pending != exactly(0) || out.Preempted != exactly(1) {
		t.Errorf("Pending: first %v, second %v, preempted %v", first.Pending, second.Pending, out.Preempted)
	}
}

// TestPreemption_chanceDecidesBetweenPodsOfOneAge: the scheduler sorts such pods in any order.
func TestPreemption_chanceDecidesBetweenPodsOfOneAge(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		ages [2]int64
		want Range
	}{
		"of one age":             {[2]int64{5, 5}, Range{0, 1}},
		"the other one is older": {[2]int64{5, 4}, exactly(1)},
		"it is older":            {[2]int64{4, 5}, exactly(0)},
	} {
		out := newWorld(having(node("n1"), 9, 9), having(node("n2"), 4, 4)).
			run(replicas("web", "n1", 1, asking(2, 2), priority(10))...).
			run(replicas("a", "n2", 1, asking(2, 2), since(tt.ages[0]))...).
			run(replicas("b", "n2", 1, asking(2, 2), since(tt.ages[1]))...).simulate()
		got := Range{}
		for _, w := range out.Workloads {
			if w.Name == "a" {
				got = w.Preempted
			}
		}
		if got != tt.want || out.Preempted != exactly(1) {
			t.Errorf("%s: %v of a, %v in all are preempted, want %v of a", name, got, out.Preempted, tt.want)
		}
	}
}

// A victim may be replaced by a pod of a lower priority than any had before, by its PriorityClass.
func TestSimulation_knowsTheLowestPriorityThatAPodGets(t *testing.T) {
	t.Parallel()
	w := newWorld(having(node("n1"), 9, 9), having(node("n2"), 9, 9)).
		run(replicas("web", "n1", 1, asking(1, 1), priority(5))...).run(replicas("api", "n2", 1, asking(1, 1), priority(3))...)
	s := newSimulation(New(w.Snapshot, gone("n1"), false), w.evictAll("n1"))
	if got := s.lowestPriority(); got != 3 {
		t.Errorf("the lowest priority of a running pod is %d", got)
	}
	api := w.named(t, "api-0")
	s.classOf(api, api.Scheduling, &snapshot.Demand{Priority: -2})
	if got := s.lowestPriority(); got != -2 {
		t.Errorf("the lowest priority of a new pod is %d", got)
	}
}
