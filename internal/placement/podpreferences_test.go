// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package placement

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
)

// cloned is a pod of a kind whose pods the scheduler does not spread by default unless a Service selects them.
func cloned(p *snapshot.Pod) {
	p.Controller = &snapshot.Controller{Owner: snapshot.Owner{Group: "apps.kruise.io", Kind: "CloneSet", Name: p.Controller.Name}, UID: p.Controller.UID}
}

// withRules are pods with these labels and rules.
func withRules(set labels.Set, rules *snapshot.PodRules) podOption {
	return func(p *snapshot.Pod) { p.Labels, p.Rules = set, rules }
}

// TestSimulate_podsFollowOtherPods: four pods find room on a small node and on a large one. By free resources alone, all of them go
// to the large one, where other pods run already.
func TestSimulate_podsFollowOtherPods(t *testing.T) {
	t.Parallel()
	const host = corev1.LabelHostname
	web, cache := labels.Set{"app": "web"}, labels.Set{"app": "cache"}
	term := func(of labels.Set) snapshot.PodTerm {
		return snapshot.PodTerm{TopologyKey: host, Selector: of.AsSelector(), OwnNamespace: true}
	}
	prefers := func(weight int32, of labels.Set) *snapshot.PodRules {
		return &snapshot.PodRules{Preferred: []snapshot.WeightedTerm{{PodTerm: term(of), Weight: weight}}}
	}
	constraint := func(key string, of labels.Set) []snapshot.SpreadConstraint {
		return []snapshot.SpreadConstraint{{MaxSkew: 1, MinDomains: 1, TopologyKey: key, Selector: of.AsSelector(), HonorAffinity: true}}
	}
	onAnyNode := &snapshot.PodRules{Spread: constraint("region", cache)}
	for name, tt := range map[string]struct {
		web, cache []podOption
		want       int
	}{
		"pods that nothing spreads":                          {web: []podOption{cloned}},
		"pods of a ReplicaSet":                               {want: 2},
		"pods of a StatefulSet":                              {web: []podOption{ownedBy("StatefulSet", "web")}, want: 2},
		"pods of a Job":                                      {web: []podOption{ownedBy("Job", "web")}},
		"pods with constraints of their own":                 {web: []podOption{withRules(web, onAnyNode)}},
		"ScheduleAnyway":                                     {web: []podOption{cloned, withRules(web, &snapshot.PodRules{SoftSpread: constraint(host, web)})}, want: 2},
		"ScheduleAnyway, over a label that one node has not": {web: []podOption{cloned, withRules(web, &snapshot.PodRules{SoftSpread: constraint("small", web)})}, want: 4},
		"preferred anti-affinity to each other":              {web: []podOption{cloned, withRules(web, prefers(-1, web))}, want: 2},
		"preferred anti-affinity to other pods":              {web: []podOption{cloned, withRules(web, prefers(-1, cache))}, want: 4},
		"preferred affinity to other pods":                   {web: []podOption{cloned, withRules(web, prefers(1, cache))}},
		"pods that other pods prefer":                        {web: []podOption{cloned, withRules(web, nil)}, cache: []podOption{withRules(cache, prefers(1, web))}},
		"pods that other pods prefer not to have beside them": {
			web: []podOption{cloned, withRules(web, nil)}, cache: []podOption{withRules(cache, prefers(-1, web))}, want: 4,
		},
		// Both weigh the same, and free resources decide.
		"pods of a ReplicaSet that other pods require": {
			web: []podOption{withRules(web, nil)}, cache: []podOption{withRules(cache, &snapshot.PodRules{Affinity: []snapshot.PodTerm{term(web)}})},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(having(node("n1"), 99, 99), labelled(having(node("n2"), 8, 16), "small", "yes"), having(node("n3"), 64, 128))
			for _, n := range w.Nodes {
				n.Labels["region"] = "one"
			}
			w = w.run(replicas("web", "n1", 4, append([]podOption{withRules(web, nil), asking(1, 1), scored(1, 1)}, tt.web...)...)...)
			w = w.run(replicas("cache", "n3", 1, append([]podOption{cloned, withRules(cache, nil)}, tt.cache...)...)...)
			s := newSimulation(New(w.Snapshot, gone("n1"), false), w.evictAll("n1"))
			s.run(1, 0)
			got := 0
			for _, r := range s.replacements {
				if r.node == 1 {
					got++
				}
			}
			if got != tt.want {
				t.Errorf("%d pods are on the small node, want %d", got, tt.want)
			}
		})
	}
}

// TestSimulate_constraintsOfOnePodAreNotThoseOfAnother: during a rollout, one pod of a StatefulSet has a constraint of its own, and the
// other one has none. This one is spread by default, whichever is evicted first.
func TestSimulate_constraintsOfOnePodAreNotThoseOfAnother(t *testing.T) {
	t.Parallel()
	own := &snapshot.PodRules{Spread: []snapshot.SpreadConstraint{{MaxSkew: 9, MinDomains: 1, TopologyKey: "region", Selector: labels.Everything()}}}
	for _, first := range []int{0, 1} {
		pods := replicas("db", "n1", 2, ownedBy("StatefulSet", "db"))
		pods[1].Rules, pods[1].Labels = own, labels.Set{"pod": "db-1"}
		w := newWorld(node("n1"), node("n2")).run(pods...)
		evicted := w.evictAll("n1")
		evicted[0], evicted[first] = evicted[first], evicted[0]
		s := newSimulation(New(w.Snapshot, gone("n1"), false), evicted)
		for _, r := range s.replacements {
			if spread := len(r.prefers.spread) > 0; spread != (r.pod == pods[0]) {
				t.Errorf("with pod %d first, %s is spread by default: %t", first, r.pod.Name, spread)
			}
		}
	}
}

// TestSimulate_podsOfANewTemplateAreSpreadByThemselves: three old pods are on the large node, and two new ones are created. These belong
// to another ReplicaSet, and to the same StatefulSet.
func TestSimulate_podsOfANewTemplateAreSpreadByThemselves(t *testing.T) {
	t.Parallel()
	for kind, want := range map[string]int{"ReplicaSet": 1, "StatefulSet": 2} {
		w := newWorld(having(node("n1"), 99, 99), having(node("n2"), 16, 16), having(node("n3"), 16, 16))
		w = w.run(replicas("web", "n3", 3, ownedBy(kind, "web"))...)
		var evicted []Eviction
		for i, like := range replicas("new", "n1", 2, ownedBy(kind, "web"), asking(1, 1), scored(1, 1)) {
			like.Node = ""
			evicted = append(evicted, Eviction{Pod: like, Scheduling: like.Scheduling, Surplus: i == 0, Next: true})
		}
		s := newSimulation(New(w.Snapshot, gone("n1"), false), evicted)
		s.run(1, 0)
		got := 0
		for _, r := range s.replacements {
			if r.node == 1 {
				got++
			}
		}
		if got != want {
			t.Errorf("%s: %d of the new pods are on the node without old ones, want %d", kind, got, want)
		}
	}
}
