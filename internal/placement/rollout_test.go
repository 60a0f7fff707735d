// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package placement

import (
	"fmt"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
)

// rollout replaces the machines of nodes with others of four cores, one in each turn or all in one.
type rollout struct {
	world
	old           []string
	surges, whole bool
	taints        []string
}

// simulate returns what becomes of the pods on the machines that are replaced.
func (r rollout) simulate() *Outcome {
	replaced, turns, each := map[string]bool{}, map[string]int{}, 1
	if r.whole {
		each = len(r.old)
	}
	var evicted []Eviction
	for i, name := range r.old {
		replaced[name], turns[name] = true, i/each
		for _, e := range r.evictAll(name) {
			e.After = TurnBegins(turns[name])
			evicted = append(evicted, e)
		}
	}
	comes := Coming{Node: pooled("", r.taints...), Like: r.old[0], Of: "MachineSet gpu", Count: len(r.old), Each: each, Surges: r.surges}
	change := Scenario{Drained: replaced, Closed: replaced, Deleted: replaced, Turns: turns, Comes: []Coming{comes}}
	change.Leaving = func(node string) func(*snapshot.Pod) bool {
		return func(*snapshot.Pod) bool { return slices.Contains(r.old, node) }
	}
	return New(r.Snapshot, change, false).Simulate(evicted, Orders, 1)
}

// pooled is a node of a pool, with four cores.
func pooled(name string, taints ...string) *snapshot.Node {
	return labelled(having(node(name, taints...), 4, 16), "pool", "gpu")
}

// machines has three of them, and a node elsewhere with a pod of a low priority on it.
func machines(pods ...*snapshot.Pod) world {
	return newWorld(pooled("m0"), pooled("m1"), pooled("m2"), having(node("elsewhere"), 4, 16)).
		run(other("low", "elsewhere", asking(4, 1), priority(-5))).run(pods...)
}

// TestRollout_machineByMachine: where pods go while the machines of a set are replaced depends on the strategy.
func TestRollout_machineByMachine(t *testing.T) {
	t.Parallel()
	all := []string{"m0", "m1", "m2"}
	fill := func(nodes ...string) (out []*snapshot.Pod) {
		for i, name := range nodes {
			out = append(out, pod(fmt.Sprintf("web-%d", i), name, ownedBy("ReplicaSet", "web"), asking(4, 1)))
		}
		return out
	}
	cordoned := tolerating(exists(corev1.TaintNodeUnschedulable, corev1.TaintEffectNoSchedule))
	taken := tolerating(exists("team", corev1.TaintEffectNoExecute))
	for name, tt := range map[string]struct {
		rollout
		arriving, staying, preempted, moved Range
	}{
		"with a surge, a pod finds the new machine first":             {rollout{world: machines(fill("m0", "m1", "m2")...), old: all, surges: true}, exactly(0), exactly(0), exactly(0), exactly(0)},
		"all at the same time, a pod may preempt others first":        {rollout{world: machines(fill("m0")...), old: all, whole: true}, exactly(0), exactly(0), exactly(1), Range{0, 1}},
		"all at the same time, full ones take none of others":         {rollout{world: machines(only("gpu", fill("m0", "m1", "m2"))...), old: all, whole: true}, exactly(3), exactly(0), exactly(0), exactly(0)},
		"one after the other, old machines have room":                 {rollout{world: machines(fill("m0")...), old: all}, exactly(0), exactly(0), exactly(0), exactly(1)},
		"where these are full, a pod preempts others":                 {rollout{world: machines(fill("m0", "m1", "m2")...), old: all}, exactly(0), exactly(0), exactly(1), exactly(0)},
		"a pod that selects the pool waits for its new machine":       {rollout{world: machines(only("gpu", fill("m0", "m1", "m2"))...), old: all}, exactly(3), exactly(0), exactly(0), exactly(0)},
		"new machines that are tainted take none":                     {rollout{world: machines(only("gpu", fill("m0"))...), old: all, taints: []string{"team=a:NoExecute"}}, exactly(0), exactly(1), exactly(0), exactly(1)},
		"nor do they with a surge":                                    {rollout{world: machines(only("gpu", fill("m0"))...), old: all, taints: []string{"team=a:NoExecute"}, surges: true}, exactly(0), exactly(1), exactly(0), exactly(1)},
		"unless pods tolerate it":                                     {rollout{world: machines(only("gpu", fill("m0"), taken)...), old: all, taints: []string{"team=a:NoExecute"}, surges: true}, exactly(0), exactly(0), exactly(0), Range{0, 1}},
		"a pod that tolerates cordons returns until its node is gone": {rollout{world: machines(only("gpu", fill("m0"), cordoned)...), old: all[:1], whole: true}, exactly(0), exactly(0), exactly(0), Range{0, 1}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out := tt.simulate()
			web := out.of(t, "web")
			if web.Arriving != tt.arriving || web.Staying != tt.staying || out.Preempted != tt.preempted || web.Moved != tt.moved {
				t.Errorf("%v wait for new machines, %v stay Pending, %v are preempted, %v are evicted again", web.Arriving, web.Staying, out.Preempted, web.Moved)
			}
		})
	}
}

// only has pods select a pool, and gives them more options.
func only(in string, pods []*snapshot.Pod, options ...podOption) []*snapshot.Pod {
	for _, p := range pods {
		for _, option := range append(options, selecting("pool", in)) {
			option(p)
		}
	}
	return pods
}

// TestRollout_newHostsAreDomainsOnceTheyAreThere: three pods that spread over three hosts run on three again.
func TestRollout_newHostsAreDomainsOnceTheyAreThere(t *testing.T) {
	t.Parallel()
	rules := &snapshot.PodRules{Spread: []snapshot.SpreadConstraint{{
		MaxSkew: 1, MinDomains: 1, TopologyKey: corev1.LabelHostname, Selector: labels.SelectorFromSet(labels.Set{"app": "web"}), HonorAffinity: true,
	}}}
	for _, surges := range []bool{true, false} {
		w := newWorld(pooled("m0"), pooled("m1"), pooled("m2"))
		for i := range 3 {
			w.run(pod(fmt.Sprintf("web-%d", i), fmt.Sprintf("m%d", i), ruled(rules), selecting("pool", "gpu"), asking(1, 1)))
		}
		out := rollout{world: w, old: []string{"m0", "m1", "m2"}, surges: surges}.simulate()
		if out.Staying != exactly(0) || out.Preempted != exactly(0) {
			t.Errorf("surges %t: %v stay Pending", surges, out.Staying)
		}
	}
}

// TestRollout_nominationsOfMachinesThatAreDrained end: a Pending pod may be nominated for one of them.
func TestRollout_nominationsOfMachinesThatAreDrained(t *testing.T) {
	t.Parallel()
	apart := ruled(&snapshot.PodRules{AntiAffinity: []snapshot.PodTerm{{TopologyKey: corev1.LabelHostname, Selector: labels.Everything(), OwnNamespace: true}}})
	for _, whole := range []bool{true, false} {
		w := machines(pod("web-0", "m1", asking(2, 1)), other("ends", "m1", asking(2, 1), terminating, priority(-1)), other("alone", "elsewhere", asking(0, 0), apart))
		w.Waiting = append(w.Waiting, pod("urgent", "", asking(4, 1), priority(10), nominated("m1")))
		out := rollout{world: w, old: []string{"m0", "m1", "m2"}, whole: whole}.simulate()
		if web := out.of(t, "web-5d"); web.Staying != exactly(0) {
			t.Errorf("%v stay Pending", web.Staying)
		}
	}
}

// TestRollout_podsThatAPoolAndANewOneTake: labels of several values lead to machines that are there and to new ones.
func TestRollout_podsThatAPoolAndANewOneTake(t *testing.T) {
	t.Parallel()
	w := newWorld(labelled(having(node("m0"), 4, 16), "pool", "gpu"), labelled(having(node("small"), 1, 16), "pool", "infra"))
	w.run(pod("web-0", "m0", asking(4, 1), requiring(expression("pool", corev1.NodeSelectorOpIn, "gpu", "infra"))))
	out := rollout{world: w, old: []string{"m0"}}.simulate()
	if web := out.of(t, "web-5d"); web.Arriving != exactly(1) || web.Reason != "1 is drained, 1 lacks cpu (needs 4, 1 free)" {
		t.Errorf("%v wait for new machines: %s", web.Arriving, web.Reason)
	}
}

// TestRollout_podsOfTheFirstTurnCountUntilTheyAreDrained: for topology spread and for quotas.
func TestRollout_podsOfTheFirstTurnCountUntilTheyAreDrained(t *testing.T) {
	t.Parallel()
	spread := ruled(&snapshot.PodRules{Spread: []snapshot.SpreadConstraint{{
		MaxSkew: 1, MinDomains: 1, TopologyKey: "zone", Selector: labels.SelectorFromSet(labels.Set{"app": "web"}), HonorAffinity: true,
	}}})
	zoned := func(name, zone string) *snapshot.Node { return labelled(pooled(name), "zone", zone) }
	w := newWorld(zoned("m0", "a"), zoned("b0", "b"), zoned("a1", "a"))
	for i := range 3 {
		w.run(pod(fmt.Sprintf("web-%d", i), "m0", spread, asking(1, 1)), pod(fmt.Sprintf("stays-%d", i), "b0", labelledAs("app", "web"), asking(1, 1)))
	}
	if out := (rollout{world: w, old: []string{"m0"}}).simulate(); out.Missing != exactly(0) {
		t.Errorf("spread over zones: %v are missing", out.Missing)
	}
	w = newWorld(pooled("m0"), having(node("free"), 9, 9)).run(pod("web-0", "m0", asking(1, 1)))
	w.Quotas = map[string][]snapshot.Quota{"app": {quota("few", nil, of("pods", 2, 3))}}
	if out := (rollout{world: w, old: []string{"m0"}}).simulate(); out.Refused != exactly(1) {
		t.Errorf("a quota of which more is used than it allows: %v are refused", out.Refused)
	}
}
