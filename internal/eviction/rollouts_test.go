// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package eviction

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/placement"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
)

// rolloutOf pins the pods of a world that a Deployment or a StatefulSet has.
func rolloutOf(surge, unavailable int, pods ...*snapshot.Pod) Rollout {
	return Rollout{Pods: pods, Planned: Planned{Labels: map[string]*string{"pool": new("gpu")}}, Surge: surge, Unavailable: unavailable}
}

// wanted is a rollout of a workload that is to have so many pods.
func wanted(pods int, r Rollout) Rollout {
	r.Wants = pods
	return r
}

// ordered is a rollout of a StatefulSet that starts its pods one after the other.
func ordered(r Rollout) Rollout {
	r.Ordered = true
	return r
}

// TestRoll has nodes g1 and g2 of the pool that each have room for two pods of one core, and c1 with room for any.
func TestRoll(t *testing.T) {
	t.Parallel()
	web := func(n int, on string, options ...podOption) *snapshot.Pod {
		return pod(fmt.Sprintf("web-%d", n), on, append([]podOption{asking(1, 0)}, options...)...)
	}
	db := func(n int, on string) *snapshot.Pod {
		return pod(fmt.Sprintf("db-%d", n), on, asking(1, 0), ownedBy("StatefulSet", "db"))
	}
	hashed := func(p *snapshot.Pod) {
		p.Rules = &snapshot.PodRules{Spread: []snapshot.SpreadConstraint{{MaxSkew: 1, MinDomains: 1, TopologyKey: corev1.LabelHostname, Selector: labels.Everything(), MatchLabelKeys: []string{"pod-template-hash"}}}}
	}
	unready := func(p *snapshot.Pod) { p.Ready = false }
	low := func(n int, on string) *snapshot.Pod {
		return pod(fmt.Sprintf("low-%d", n), on, asking(1, 0), ownedBy("ReplicaSet", "low"), selecting("pool", "gpu"))
	}
	for name, tt := range map[string]struct {
		rollouts []Rollout
		others   []*snapshot.Pod
		quota    int64
		want     []placement.Range
		all      placement.Range
		reason   string
	}{
		"all fit on the pool": {
			rollouts: []Rollout{rolloutOf(1, 0, web(1, "c1"), web(2, "c1"), web(3, "c1"), web(4, "c1"))},
			want:     []placement.Range{{}},
		},
		"a pool that is too small for all": {
			rollouts: []Rollout{rolloutOf(1, 0, web(1, "c1"), web(2, "c1"), web(3, "c1"), web(4, "c1"), web(5, "c1"))},
			want:     []placement.Range{{Min: 1, Max: 1}}, all: placement.Range{Min: 1, Max: 1}, reason: "2 lack cpu (needs 1, none free), 1 does not match its node selector",
		},
		"a surge needs room beside the old pods that stand on the pool": {
			rollouts: []Rollout{rolloutOf(1, 0, web(1, "g1"), web(2, "g1"), web(3, "g2"), web(4, "g2"))},
			want:     []placement.Range{{Min: 4, Max: 4}}, all: placement.Range{Min: 4, Max: 4}, reason: "2 lack cpu (needs 1, none free), 1 does not match its node selector",
		},
		"a pod that may be unavailable leaves its room to the next one": {
			rollouts: []Rollout{rolloutOf(0, 1, web(1, "g1"), web(2, "g1"), web(3, "g2"), web(4, "g2"))},
			want:     []placement.Range{{}},
		},
		"which old pods go first decides": {
			rollouts: []Rollout{rolloutOf(1, 0, web(1, "g1"), web(2, "g1"), web(3, "g2"), web(4, "c1"))},
			want:     []placement.Range{{Min: 0, Max: 3}}, all: placement.Range{Min: 0, Max: 3}, reason: "2 lack cpu (needs 1, none free), 1 does not match its node selector",
		},
		"old pods elsewhere take no room of the pool": {
			rollouts: []Rollout{rolloutOf(2, 0, web(1, "c1"), web(2, "c1"), web(3, "c1"), web(4, "c1"))},
			want:     []placement.Range{{}},
		},
		"pods that the taint will evict later hold their room until then": {
			rollouts: []Rollout{rolloutOf(1, 0, web(1, "c1"), web(2, "c1"))}, others: []*snapshot.Pod{other("o1", "g1", asking(2, 0)), other("o2", "g2", asking(1, 0))},
			want: []placement.Range{{Min: 1, Max: 1}}, all: placement.Range{Min: 1, Max: 1}, reason: "2 lack cpu (needs 1, none free), 1 does not match its node selector",
		},
		"a StatefulSet replaces one after the other": {
			rollouts: []Rollout{rolloutOf(0, 1, db(0, "g1"), db(1, "g1"), db(2, "g2"), db(3, "g2"))},
			want:     []placement.Range{{}},
		},
		"its last pod goes first": {
			// db-2 finds the room that none of the pool's pods has left.
			rollouts: []Rollout{rolloutOf(0, 1, db(0, "g1"), db(1, "g1"), db(2, "c1"))}, others: []*snapshot.Pod{other("o1", "g2", asking(2, 0))},
			want: []placement.Range{{Min: 3, Max: 3}}, all: placement.Range{Min: 3, Max: 3}, reason: "2 lack cpu (needs 1, none free), 1 does not match its node selector",
		},
		"one that starts its pods one after the other waits for all that it has deleted": {
			// db-2 finds room, db-3 does not, and db-1 stays where it runs.
			rollouts: []Rollout{ordered(rolloutOf(0, 2, db(0, "g1"), db(1, "g1"), db(2, "c1"), db(3, "c1")))}, others: []*snapshot.Pod{other("o1", "g2", asking(1, 0))},
			want: []placement.Range{{Min: 3, Max: 3}}, all: placement.Range{Min: 3, Max: 3}, reason: "2 lack cpu (needs 1, none free), 1 does not match its node selector",
		},
		"one that starts them in parallel goes on for each that is ready": {
			rollouts: []Rollout{rolloutOf(0, 2, db(0, "g1"), db(1, "g1"), db(2, "c1"), db(3, "c1"))}, others: []*snapshot.Pod{other("o1", "g2", asking(1, 0))},
			want: []placement.Range{{Min: 1, Max: 1}}, all: placement.Range{Min: 1, Max: 1}, reason: "2 lack cpu (needs 1, none free), 1 does not match its node selector",
		},
		"pods of a Deployment that are not ready go first": {
			rollouts: []Rollout{rolloutOf(0, 1, web(1, "c1", unready), web(2, "g1"), web(3, "g1"), web(4, "g2"))}, others: []*snapshot.Pod{other("o1", "g2", asking(1, 0))},
			want: []placement.Range{{Min: 4, Max: 4}}, all: placement.Range{Min: 4, Max: 4}, reason: "2 lack cpu (needs 1, none free), 1 does not match its node selector",
		},
		"a Deployment keeps a pod that waits until a new one is available": {
			rollouts: []Rollout{rolloutOf(1, 0, web(1, ""))}, quota: 1,
			want: []placement.Range{{Min: 1, Max: 1}}, all: placement.Range{Min: 1, Max: 1},
		},
		"a Deployment with fewer pods than are wanted deletes none": {
			rollouts: []Rollout{wanted(3, rolloutOf(0, 1, web(1, "g1"), web(2, "g1")))}, others: []*snapshot.Pod{other("o1", "g2", asking(2, 0))}, quota: 2,
			want: []placement.Range{{Min: 2, Max: 2}}, all: placement.Range{Min: 2, Max: 2},
		},
		"a Deployment with fewer pods than are wanted makes the missing one first": {
			rollouts: []Rollout{wanted(3, rolloutOf(0, 1, web(1, "g1"), web(2, "g1")))},
			want:     []placement.Range{{}},
		},
		"two rollouts compete": {
			rollouts: []Rollout{rolloutOf(1, 0, web(1, "c1"), web(2, "c1")), rolloutOf(0, 1, db(0, "c1"), db(1, "c1"), db(2, "c1"))},
			want:     []placement.Range{{Min: 0, Max: 1}, {Min: 0, Max: 1}}, all: placement.Range{Min: 1, Max: 1}, reason: "2 lack cpu (needs 1, none free), 1 does not match its node selector",
		},
		"a pace that is not known lets all go together": {
			rollouts: []Rollout{rolloutOf(0, -1, web(1, "g1"), web(2, "g1"), web(3, "g2"), web(4, "g2"))},
			want:     []placement.Range{{}},
		},
		"a pod that waits for a node is replaced as well": {
			rollouts: []Rollout{rolloutOf(1, 0, web(1, ""), web(2, "c1"), web(3, "c1"), web(4, "c1"))},
			want:     []placement.Range{{}},
		},
		"surplus pods of a rollout that is stuck are not replaced": {
			rollouts: []Rollout{wanted(4, rolloutOf(1, 0, web(1, "c1"), web(2, "c1"), web(3, "c1"), web(4, "c1"), web(5, "")))},
			want:     []placement.Range{{}},
		},
		"surplus pods that run are not replaced": {
			rollouts: []Rollout{wanted(4, rolloutOf(1, 0, web(1, "c1"), web(2, "c1"), web(3, "c1"), web(4, "c1"), web(5, "c1")))},
			want:     []placement.Range{{}},
		},
		"as many pods as are wanted find no room where it was stuck before": {
			rollouts: []Rollout{wanted(4, rolloutOf(1, 0, web(1, "g1"), web(2, "g1"), web(3, "g2"), web(4, "g2"), web(5, "")))},
			want:     []placement.Range{{Min: 4, Max: 4}}, all: placement.Range{Min: 4, Max: 4}, reason: "2 lack cpu (needs 1, none free), 1 does not match its node selector",
		},
		"a surplus pod that leaves the pool has made room": {
			rollouts: []Rollout{wanted(3, rolloutOf(1, 0, web(1, "g1"), web(2, "g1"), web(3, "g2"), web(4, "g2")))},
			want:     []placement.Range{{}},
		},
		"a surplus pod leaves its room to another rollout": {
			rollouts: []Rollout{wanted(2, rolloutOf(1, 0, web(1, "c1"), web(2, "c1"), web(3, ""))), rolloutOf(0, 1, db(0, "c1"), db(1, "c1"))},
			want:     []placement.Range{{}, {}},
		},
		"nothing is said of rules about pods of one revision": {
			rollouts: []Rollout{rolloutOf(1, 0, web(1, "g1", hashed), web(2, "g1", hashed), web(3, "g2", hashed), web(4, "g2", hashed))},
			want:     []placement.Range{{}},
		},
		"pods that pinned ones preempt are not of the rollout": {
			rollouts: []Rollout{rolloutOf(1, 0, web(1, "c1", ranked(10)), web(2, "c1", ranked(10)))}, others: []*snapshot.Pod{low(1, "g1"), low(2, "g1"), low(3, "g2"), low(4, "g2")},
			want: []placement.Range{{}},
		},
		"a quota leaves no room for a surge": {
			rollouts: []Rollout{rolloutOf(1, 0, web(1, "c1"), web(2, "c1"))}, quota: 2,
			want: []placement.Range{{Min: 2, Max: 2}}, all: placement.Range{Min: 2, Max: 2},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pool := func(name string) *snapshot.Node { return labelled(having(node(name), 2, 8), "pool", "gpu") }
			w := newWorld(pool("g1"), pool("g2"), having(node("c1"), 32, 32))
			for _, r := range tt.rollouts {
				for _, p := range r.Pods {
					if p.Node == "" {
						w.Waiting = append(w.Waiting, p)
					} else {
						w.run(p)
					}
				}
			}
			w.run(tt.others...)
			if tt.quota > 0 {
				w.Quotas = map[string][]snapshot.Quota{"app": {{Name: "pods", Limits: []snapshot.QuotaLimit{{Resource: corev1.ResourcePods, Hard: tt.quota, Used: tt.quota}}}}}
			}
			rolled, all, _ := Roll(w.Snapshot, tt.rollouts, ComparisonOff)
			var got []placement.Range
			for _, r := range rolled {
				got = append(got, r.Missing)
				if r.Missing.Max > 0 && tt.reason != "" && r.Reason != tt.reason {
					t.Errorf("the reason is %q", r.Reason)
				}
			}
			if diff := cmp.Diff(tt.want, got); diff != "" || all != tt.all {
				t.Errorf("%v in all: %s", all, diff)
			}
		})
	}
}

// TestRoll_aRolloutThatIsStuckBesideALongOne: the long one is taken to come to its end, the other one is not.
func TestRoll_aRolloutThatIsStuckBesideALongOne(t *testing.T) {
	t.Parallel()
	nodes := []*snapshot.Node{labelled(having(node("g1"), 64, 64), "pool", "gpu"), labelled(having(node("g2"), 62, 64), "pool", "gpu"), having(node("c1"), 80, 64)}
	for _, n := range nodes {
		n.Allocatable.Pods = 110
	}
	w := newWorld(nodes...)
	long := rolloutOf(1, 0)
	for n := range mostStages + 10 {
		long.Pods = append(long.Pods, pod(fmt.Sprintf("long-%d", n), "c1", asking(1, 0), ownedBy("ReplicaSet", "long")))
	}
	stuck := rolloutOf(1, 0, pod("large-0", "g1", asking(64, 0), ownedBy("ReplicaSet", "large")))
	w.run(append(long.Pods, stuck.Pods...)...)
	rolled, missing, _ := Roll(w.Snapshot, []Rollout{stuck, long}, ComparisonOff)
	if one := (placement.Range{Min: 1, Max: 1}); rolled[0].Missing != one || rolled[1].Missing.Max != 0 || missing != one {
		t.Errorf("missing are %v, %v, and %v in all", rolled[0].Missing, rolled[1].Missing, missing)
	}
}

// TestRoll_findsPodsWhoseVolumesAreElsewhere has a volume on the node c1, and the nodes g1 and g2 in the pool.
func TestRoll_findsPodsWhoseVolumesAreElsewhere(t *testing.T) {
	t.Parallel()
	on := func(key string, values ...string) *snapshot.Volume {
		return &snapshot.Volume{Name: "pv", Affinity: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{expression(key, corev1.NodeSelectorOpIn, values...)}}}
	}
	const host = "kubernetes.io/hostname"
	for name, tt := range map[string]struct {
		volumes []*snapshot.Volume
		pool    string
		want    string
	}{
		"a volume of another node":                         {[]*snapshot.Volume{on(host, "c1")}, "gpu", "db-0: its volume pv is bound to node c1"},
		"a volume of a node that is gone":                  {[]*snapshot.Volume{on(host, "c9")}, "gpu", ""},
		"a volume of a zone whose nodes may join the pool": {[]*snapshot.Volume{on("zone", "b")}, "gpu", ""},
		"a volume of a node of the pool":                   {[]*snapshot.Volume{on(host, "c1", "g2")}, "gpu", ""},
		"a volume of a zone with one":                      {[]*snapshot.Volume{on("zone", "a", "b")}, "gpu", ""},
		"two volumes that no node of the pool can use together": {
			[]*snapshot.Volume{on(host, "c1", "g1"), on(host, "c1", "g2")}, "gpu",
			"db-0: its volume pv is bound to nodes with kubernetes.io/hostname=c1 or g1, its volume pv is bound to nodes with kubernetes.io/hostname=c1 or g2",
		},
		"a pool without nodes":      {[]*snapshot.Volume{on(host, "c1")}, "none", ""},
		"a pod without any volumes": {nil, "gpu", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(labelled(labelled(node("g1"), "pool", "gpu"), "zone", "a"), labelled(labelled(node("g2"), "pool", "gpu"), "zone", "a"), labelled(node("c1"), "zone", "b"))
			db := pod("db-0", "c1", ownedBy("StatefulSet", "db"))
			w.Volumes = map[string]map[string]*snapshot.Volume{"app": {}}
			for i, v := range tt.volumes {
				claim := fmt.Sprintf("data-%d", i)
				db.Claims, w.Volumes["app"][claim] = append(db.Claims, claim), v
			}
			rollout := rolloutOf(0, 1, db)
			rollout.Planned.Labels["pool"] = &tt.pool
			rolled, _, _ := Roll(w.run(db).Snapshot, []Rollout{rollout}, ComparisonOff)
			var got []string
			for _, a := range rolled[0].Away {
				got = append(got, a.Pod.Name+": "+a.Where)
			}
			if joined := strings.Join(got, "; "); joined != tt.want {
				t.Errorf("%s", joined)
			}
		})
	}
}
