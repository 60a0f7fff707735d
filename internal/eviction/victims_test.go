// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package eviction

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/placement"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
)

// web preempts all other pods of n2. Of these, n3 has room for one, if it tolerates b.
func TestSimulate_victimsOfPreemptionAreReplacedAsEvictedPodsAre(t *testing.T) {
	t.Parallel()
	set := func(name string, options ...podOption) *snapshot.Pod {
		return pod(name, "n2", append([]podOption{ownedBy("StatefulSet", "db"), asking(2, 2)}, options...)...)
	}
	unready := func(p *snapshot.Pod) { p.Ready = false }
	toleratesB := tolerating(exists("b", ""))
	db := func() world {
		first := set("db-0", selecting("kubernetes.io/hostname", "n2"))
		return newWorld().run(first, set("db-1", toleratesB))
	}
	daemon := func(template corev1.PodSpec) world {
		w := newWorld().run(pod("logs-0", "n2", ownedBy("DaemonSet", "logs"), asking(4, 4), pinned("n2")))
		return w.template("logs", template)
	}
	pendingBefore := func(w world) world {
		w.Waiting = append(w.Waiting, pod("db-0", "", ownedBy("StatefulSet", "db"), asking(8, 8), pending, unready))
		return w
	}
	one := other("calm", "n2", asking(2, 2))
	key := snapshot.WorkloadKey{Namespace: "app", Owner: one.Controller.Owner}
	maybe := placement.Range{Max: 1}
	for _, tt := range []struct {
		name                        string
		world                       world
		workload                    string
		change                      Scenario
		placed, pending, notCreated placement.Range
	}{
		{name: "OrderedReady", world: db().policy("db", true), workload: "db", pending: number(1), notCreated: number(1)},
		{name: "Parallel", world: db().policy("db", false), workload: "db", placed: number(1), pending: number(1)},
		{name: "a podManagementPolicy that is not known", world: db(), workload: "db", placed: maybe, pending: number(1), notCreated: maybe},
		{name: "a pod before it is not ready", world: newWorld().run(set("db-1", toleratesB), pod("db-0", "n4", ownedBy("StatefulSet", "db"), unready)).policy("db", true), workload: "db", notCreated: number(1)},
		{name: "a pod before it is Pending", world: pendingBefore(newWorld().run(set("db-1", toleratesB)).policy("db", true)), workload: "db", notCreated: number(1)},
		{name: "a pod before it is ready", world: newWorld().run(set("db-1", toleratesB), pod("db-0", "n4", ownedBy("StatefulSet", "db"))).policy("db", true), workload: "db", placed: number(1)},
		{name: "a template that selects the node", world: daemon(corev1.PodSpec{}), workload: "logs", pending: number(1)},
		{name: "a template that does not select the node", world: daemon(corev1.PodSpec{NodeSelector: map[string]string{"pool": "x"}}), workload: "logs"},
		{name: "a Deployment", world: newWorld().run(one), workload: "other", pending: number(1)},
		{name: "a Deployment whose pods admission gives a toleration", world: newWorld().run(one).admitting(nil), workload: "other", placed: number(1)},
		{
			// Its pods may have been replaced before.
			name: "a Deployment that gets a toleration", world: newWorld().run(one), workload: "other", placed: maybe,
			change: Scenario{Tolerations: map[snapshot.WorkloadKey]Planned{key: {After: []corev1.Toleration{exists("b", "")}, Sure: true}}},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := tt.world
			for _, n := range []*snapshot.Node{having(node("n1"), 9, 9), having(node("n2"), 4, 4), having(node("n3", "b:NoSchedule"), 2, 2), having(node("n4", "c:NoSchedule"), 9, 9)} {
				w.Nodes[n.Name] = n
			}
			w = w.run(pod("web", "n1", asking(4, 4), priority(9), selecting("kubernetes.io/hostname", "n2")))
			tt.change.Taints = map[string][]corev1.Taint{"n1": taintsOf("a:NoExecute")}
			_, out := simulate(w, tt.change)
			got := outcomeOf(t, out, tt.workload)
			if got.Placed != tt.placed || got.Pending != tt.pending || got.NotCreated != tt.notCreated || got.Preempted.Max == 0 {
				t.Errorf("placed %v, Pending %v, not created %v, preempted %v", got.Placed, got.Pending, got.NotCreated, got.Preempted)
			}
		})
	}
}

// web preempts the pod of another controller on n2. Its replacement takes n3 from that of api, where there is one.
func TestSimulate_victimsThatMayNotBeReplacedAreARange(t *testing.T) {
	t.Parallel()
	maybe := placement.Range{Max: 1}
	for name, tt := range map[string]struct {
		group, kind string
		api         placement.Range
	}{
		"a controller that replaces them":        {"", "ReplicationController", number(1)},
		"what they run fails, or retries":        {"tekton.dev", "TaskRun", maybe},
		"a controller of which nothing is known": {"example.com", "Thing", maybe},
		"what they run fails":                    {"build.openshift.io", "Build", number(0)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			victim := pod("victim", "n2", asking(4, 4), priority(5), controlledBy(tt.group, tt.kind))
			w := newWorld(having(node("n1"), 9, 9), having(node("n2"), 4, 4), having(node("n3"), 4, 4)).run(
				pod("web", "n1", asking(4, 4), priority(9), selecting("kubernetes.io/hostname", "n2")), pod("api", "n1", ownedBy("StatefulSet", "api"), asking(4, 4)), victim)
			_, out := simulate(w, Scenario{Taints: map[string][]corev1.Taint{"n1": taintsOf("a:NoExecute")}})
			if got := outcomeOf(t, out, "api"); got.Missing != tt.api {
				t.Errorf("%v replacements of api are missing", got.Missing)
			}
			for _, one := range out.Workloads {
				if one.Name == "x" && (one.Missing != number(0) || one.Preempted != number(1)) {
					t.Errorf("of the preempted pod: %+v", one)
				}
			}
		})
	}
}
