// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package placement

import (
	"testing"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
)

// toApp is a term that selects the pods of an app, onHostTo one on the same node.
func toApp(key, app string) []snapshot.PodTerm {
	return []snapshot.PodTerm{{TopologyKey: key, Selector: labels.SelectorFromSet(labels.Set{"app": app}), OwnNamespace: true}}
}

func onHostTo(app string) []snapshot.PodTerm { return toApp("kubernetes.io/hostname", app) }

// TestNominees_podsCountOnTheirNodeAlone: two pods of a priority that preempts are evicted, and each node has room
// for one of them once its victim is gone. Until a pod is bound, only those that are tried on its node know of it.
func TestNominees_podsCountOnTheirNodeAlone(t *testing.T) {
	t.Parallel()
	term := func(key string) []snapshot.PodTerm { return toApp(key, "web") }
	const host, zone = "kubernetes.io/hostname", "zone"
	placed := func(n *snapshot.Node) *snapshot.Node { return labelled(labelled(n, host, n.Name), zone, "z") }
	for name, tt := range map[string]struct {
		rules *snapshot.PodRules
		// cores is what each of the two nodes has, and its victim; a pod needs two of them.
		cores               int64
		preempted, stranded Range
	}{
		"without rules both preempt, and both run":                         {cores: 2, preempted: exactly(2), stranded: exactly(0)},
		"pods that follow each other preempt twice, and one stays Pending": {&snapshot.PodRules{Affinity: term(host)}, 2, Range{1, 2}, exactly(1)},
		"pods that keep apart in a zone preempt twice as well":             {&snapshot.PodRules{AntiAffinity: term(zone)}, 2, Range{1, 2}, exactly(1)},
		"pods that keep apart on a node both run":                          {&snapshot.PodRules{AntiAffinity: term(host)}, 2, exactly(2), exactly(0)},
		"a nominee keeps others from its node":                             {&snapshot.PodRules{AntiAffinity: term(host)}, 5, exactly(2), exactly(0)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(having(node("n1"), 9, 9), placed(having(node("n2"), tt.cores, 9)), placed(having(node("n3"), tt.cores, 9))).
				run(replicas("web", "n1", 2, asking(2, 1), priority(10), labelledAs("app", "web"), ruled(tt.rules))...).
				run(replicas("v2", "n2", 1, asking(tt.cores, 1), labelledAs("app", "victim"))...).
				run(replicas("v3", "n3", 1, asking(tt.cores, 1), labelledAs("app", "victim"))...)
			out := w.simulate()
			if web := out.of(t, "web"); out.Preempted != tt.preempted || web.Pending != tt.stranded {
				t.Errorf("preempted %v, want %v, Pending %v, want %v", out.Preempted, tt.preempted, web.Pending, tt.stranded)
			}
		})
	}
}

// TestNominees_podsKeepOthersFromTheirNode: a pod that could not preempt itself finds room where another one has
// preempted, and the two must not share a node.
func TestNominees_podsKeepOthersFromTheirNode(t *testing.T) {
	t.Parallel()
	apart := &snapshot.PodRules{AntiAffinity: onHostTo("side")}
	w := newWorld(having(node("n1"), 9, 9), having(node("n2"), 4, 9)).
		run(replicas("web", "n1", 1, asking(2, 1), priority(10), ruled(apart))...).
		run(replicas("side", "n1", 1, asking(1, 1), priority(10), patient, labelledAs("app", "side"))...).
		run(replicas("victim", "n2", 1, asking(4, 1), labelledAs("app", "victim"))...)
	out := w.simulate()
	if web, side := out.of(t, "web"), out.of(t, "side"); web.Pending != exactly(0) || side.Pending != exactly(1) {
		t.Errorf("Pending: web %v, side %v", web.Pending, side.Pending)
	}
}

// TestNominees_areBoundInAnyOrder: of two pods that follow each other, either is bound first.
func TestNominees_areBoundInAnyOrder(t *testing.T) {
	t.Parallel()
	w := newWorld(having(node("n1"), 9, 9), having(node("n2"), 2, 9), having(node("n3"), 2, 9)).
		run(replicas("web", "n1", 2, asking(2, 1), priority(10), ruled(&snapshot.PodRules{Affinity: onHostTo("web")}))...).
		run(replicas("v2", "n2", 1, asking(2, 1), labelledAs("app", "victim"))...).
		run(replicas("v3", "n3", 1, asking(2, 1), priority(1), labelledAs("app", "victim"))...)
	s := newSimulation(New(w.Snapshot, gone("n1"), false), w.evictAll("n1"))
	// The first one that is tried preempts the victim of the lowest priority, on n2.
	for order, want := range []string{"n2", "n3", "n2", "n2"} {
		s.run(1, order)
		on := s.placed()
		if got := on["web-0"] + on["web-1"]; got != want {
			t.Errorf("order %d: the pod on %q is bound, want %s: %v", order, got, want, on)
		}
	}
}

// TestNominees_haveNoFollowers: a pod that must share a node with a nominee waits until this one is bound, and another
// pod takes the room, unless the victim still has it.
func TestNominees_haveNoFollowers(t *testing.T) {
	t.Parallel()
	w := newWorld(having(node("n1"), 9, 9), having(node("n2"), 3, 9)).
		run(replicas("web", "n1", 1, asking(2, 1), priority(10), labelledAs("app", "web"))...).
		run(replicas("follower", "n1", 1, asking(1, 1), priority(9), patient, labelledAs("app", "follower"), ruled(&snapshot.PodRules{Affinity: onHostTo("web")}))...).
		run(replicas("side", "n1", 1, asking(1, 1), priority(8), patient, labelledAs("app", "side"))...).
		run(replicas("victim", "n2", 1, asking(3, 1), labelledAs("app", "victim"))...)
	s := inOneWave(New(w.Snapshot, gone("n1"), false), w.evictAll("n1"))
	for order, want := range map[int]string{0: "follower-0", 1: "follower-0", 2: "side-0", 3: "follower-0"} {
		s.run(1, order)
		if placed := s.placed(); placed["web-0"] != "n2" || placed[want] != "n2" {
			t.Errorf("order %d: %v, want %s beside web-0", order, placed, want)
		}
	}
}

// TestNominees_yieldToAHigherPriority: it does not see them, and counts them as no victims.
func TestNominees_yieldToAHigherPriority(t *testing.T) {
	t.Parallel()
	w := newWorld(having(node("n1"), 9, 9), having(node("n2"), 2, 9), having(node("n3"), 2, 9)).
		run(replicas("low", "n1", 1, asking(2, 1), priority(5), ruled(&snapshot.PodRules{AntiAffinity: onHostTo("none")}))...).
		run(replicas("high", "n1", 1, asking(2, 1), priority(10))...).
		run(replicas("other", "n3", 1, asking(2, 1), priority(7), labelledAs("app", "other"))...)
	s := newSimulation(New(w.Snapshot, gone("n1"), false), w.evictAll("n1"))
	s.run(1, 3)
	s.reset()
	s.nominates = true
	for _, r := range s.replacements {
		if r.pod.Name == "low-0" {
			s.nominate(r, int32(s.byName["n2"].index))
		} else {
			s.create(r)
		}
	}
	s.pass()
	if placed := s.placed(); placed["high-0"] != "n2" || placed["low-0"] != "" || len(s.preempted) > 0 || s.state(int32(s.byName["n2"].index)).nominees != 0 {
		t.Errorf("%v, preempted %d", placed, len(s.preempted))
	}
}

// TestNominees_ofBefore: a pod that waits for a terminating one counts on its node alone as well. Of the two that follow
// each other, the second preempts in vain.
func TestNominees_ofBefore(t *testing.T) {
	t.Parallel()
	rules := ruled(&snapshot.PodRules{Affinity: onHostTo("web")})
	w := newWorld(having(node("n1"), 9, 9), having(node("n2"), 2, 9), having(node("n3"), 2, 9)).
		run(replicas("web", "n1", 1, asking(2, 1), priority(10), rules)...).
		run(replicas("leaves", "n2", 1, asking(2, 1), terminating, labelledAs("app", "leaves"))...).
		run(replicas("victim", "n3", 1, asking(2, 1), labelledAs("app", "victim"))...).
		waiting("first", 1, asking(2, 1), priority(10), rules, nominated("n2"))
	s := newSimulation(New(w.Snapshot, gone("n1"), false), w.evictAll("n1"))
	for order, want := range []int{1, 1, 1, 0} {
		if s.run(1, order); len(s.preempted) != want {
			t.Errorf("order %d: %d are preempted, want %d: %v", order, len(s.preempted), want, s.placed())
		}
	}
}

// TestNominees_ofBeforePreemptNoOther: one that has yielded to a pod which fits nowhere waits for its node again.
func TestNominees_ofBeforePreemptNoOther(t *testing.T) {
	t.Parallel()
	w := newWorld(having(node("n1"), 9, 9), having(node("n2"), 2, 9), having(node("n3"), 2, 9)).
		run(replicas("large", "n1", 1, asking(9, 1), priority(20))...).
		run(replicas("leaves", "n2", 1, asking(2, 1), terminating)...).
		run(replicas("low", "n3", 1, asking(2, 1))...).
		run(other("guard", "n3", ruled(&snapshot.PodRules{AntiAffinity: onHostTo("none")}))).
		waiting("first", 1, asking(2, 1), priority(10), nominated("n2"))
	s := newSimulation(New(w.Snapshot, gone("n1"), false), w.evictAll("n1"))
	for order := range Orders {
		if s.run(1, order); s.placed()["first-0"] != "n2" || len(s.preempted) > 0 {
			t.Errorf("order %d: %v, and %d are preempted", order, s.placed(), len(s.preempted))
		}
	}
}

// TestNominees_ofBeforeKeepTheirNodeBesideAnotherVictim: one yields to a pod that preempts on its node, where its own terminating one
// is to free room enough for both, and preempts no other pod.
func TestNominees_ofBeforeKeepTheirNodeBesideAnotherVictim(t *testing.T) {
	t.Parallel()
	w := newWorld(having(node("n1"), 9, 9), having(node("n2"), 6, 9), having(node("n3"), 2, 9)).
		run(replicas("large", "n1", 1, asking(4, 1), priority(20))...).
		run(replicas("leaves", "n2", 1, asking(2, 1), terminating)...).run(replicas("calm", "n2", 1, asking(4, 1))...).
		run(replicas("low", "n3", 1, asking(2, 1))...).
		run(other("guard", "n3", ruled(&snapshot.PodRules{AntiAffinity: onHostTo("none")}))).
		waiting("first", 1, asking(2, 1), priority(10), nominated("n2"))
	s := newSimulation(New(w.Snapshot, gone("n1"), false), w.evictAll("n1"))
	for order := range Orders {
		if s.run(1, order); s.placed()["first-0"] != "n2" || len(s.preempted) != 1 {
			t.Errorf("order %d: %v, and %d are preempted", order, s.placed(), len(s.preempted))
		}
	}
}

// TestNominees_preemptInVainAFewTimes: what is created instead of the victim takes the other node of the zone, in which
// the nominee must be alone.
func TestNominees_preemptInVainAFewTimes(t *testing.T) {
	t.Parallel()
	in := func(n *snapshot.Node) *snapshot.Node { return labelled(n, "zone", "z") }
	w := newWorld(having(node("n1"), 9, 9), in(having(node("n2"), 2, 9)), in(having(node("n3"), 2, 9))).
		run(replicas("web", "n1", 1, asking(2, 1), priority(10), ruled(&snapshot.PodRules{AntiAffinity: toApp("zone", "side")}))...).
		run(replicas("side", "n2", 1, asking(1, 1), labelledAs("app", "side"))...)
	s := newSimulation(New(w.Snapshot, gone("n1"), false), w.evictAll("n1"))
	s.limit = 1000
	for order := range Orders {
		s.work = 0
		if s.run(1, order); s.exhausted() || s.placed()["web-0"] == "" || len(s.preempted) != 1 {
			t.Errorf("order %d: %v, %d are preempted after %d steps", order, s.placed(), len(s.preempted), s.work)
		}
	}
}
