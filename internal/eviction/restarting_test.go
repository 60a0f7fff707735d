// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package eviction

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
)

// TestRestarting has pods of StatefulSet web on nodes a and b, of which the change taints a. The run restarts them.
// Evaluate, for the change itself, and Restarted, for changes of other resources, return the same.
func TestRestarting(t *testing.T) {
	t.Parallel()
	web := snapshot.WorkloadKey{Namespace: "app", Owner: snapshot.Owner{Group: "apps", Kind: "StatefulSet", Name: "web"}}
	tainted, gpu := exists("x", ""), "gpu"
	for name, tt := range map[string]struct {
		// taints are those that a has before.
		taints []string
		// change is what the change makes of node a, a NoExecute taint unless it is set.
		change  Scenario
		planned Planned
		pod     podOption
		node    func(*snapshot.Node)
		want    int
	}{
		"pods elsewhere": {want: 2},
		"tolerations that come tolerate the taint": {planned: Planned{After: []corev1.Toleration{tainted}}},
		"for a time":                                 {planned: Planned{After: []corev1.Toleration{lasting(tainted, 30)}}, want: 2},
		"tolerations that go":                        {planned: Planned{Before: []corev1.Toleration{tainted}}, pod: tolerating(tainted), want: 2},
		"NoSchedule evicts no pod":                   {change: tainting("a", "x:NoSchedule")},
		"a drain evicts them":                        {change: draining("a"), want: 2},
		"a drain evicts those that tolerate as well": {change: draining("a"), pod: tolerating(tainted), want: 2},
		"another taint keeps them off before":        {taints: []string{"y:NoSchedule"}, change: tainting("a", "y:NoSchedule", "x:NoExecute")},
		"a cordon keeps them off":                    {node: func(n *snapshot.Node) { n.Unschedulable = true }},
		"a node selector keeps them off":             {pod: selecting("pool", "gpu")},
		"labels that they come to require do":        {planned: Planned{Labels: map[string]*string{"pool": &gpu}}},
		"a node that has these labels":               {planned: Planned{Labels: map[string]*string{"pool": &gpu}}, node: func(n *snapshot.Node) { labelled(n, "pool", "gpu") }, want: 2},
		"labels that they no longer require":         {pod: selecting("pool", "gpu"), planned: Planned{Labels: map[string]*string{"pool": nil}}, want: 2},
		"volumes keep them off":                      {pod: func(p *snapshot.Pod) { p.Claims = []string{"data"} }},
		"completed pods restart no more":             {pod: completed},
		"pods that are being deleted are replaced":   {pod: terminating},
		"pods of a DaemonSet stay on their nodes":    {pod: ownedBy("DaemonSet", "web")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a, b := node("a", tt.taints...), node("b")
			if tt.node != nil {
				tt.node(a)
			}
			var pods []*snapshot.Pod
			for _, name := range []string{"web-0", "web-1"} {
				p := pod(name, "b", ownedBy("StatefulSet", "web"))
				if tt.pod != nil {
					tt.pod(p)
				}
				pods = append(pods, p)
			}
			here := pod("web-2", "a", ownedBy("StatefulSet", "web"))
			w := newWorld(a, b).run(append(pods, here)...)
			w.Volumes = map[string]map[string]*snapshot.Volume{"app": {"data": {Name: "pv", Affinity: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{expression("kubernetes.io/hostname", "In", "b")}}}}}
			change := tt.change
			if change.Taints == nil && change.Drains == nil {
				change = tainting("a", "x:NoExecute")
			}
			key := web
			key.Owner = pods[0].Controller.Owner
			tt.planned.Restarts = true
			change.Tolerations = map[snapshot.WorkloadKey]Planned{key: tt.planned}
			count := func(all []Restarting) (n int) {
				for _, r := range all {
					n += r.Pods
				}
				return n
			}
			if got := count(Evaluate(w.Snapshot, change, ComparisonOff).Restarting); got != tt.want {
				t.Errorf("%d pods may be evicted as well, want %d", got, tt.want)
			}
			others := &snapshot.Others{Taints: change.Taints, Closed: change.Drains, Evicted: map[string]map[types.UID]snapshot.Departure{"a": {here.UID: {}}}}
			by, nodes := Restarted(w.Snapshot, others, change.Tolerations, ComparisonOff)
			if got := count(by); got != tt.want || got > 0 && !slices.Equal(nodes, []string{"a"}) {
				t.Errorf("%d pods may be evicted by others on %v, want %d", got, nodes, tt.want)
			}
			tt.planned.Restarts = false
			change.Tolerations[key] = tt.planned
			if got := Evaluate(w.Snapshot, change, ComparisonOff).Restarting; got != nil {
				t.Errorf("of pods that do not restart: %v", got)
			}
		})
	}
}

// TestJoin_ofRestarting counts pods once that may be placed on nodes of several steps.
func TestJoin_ofRestarting(t *testing.T) {
	t.Parallel()
	of := func(names ...string) *Report {
		r := &Report{}
		for _, n := range names {
			r.Restarting = append(r.Restarting, Restarting{snapshot.WorkloadKey{Namespace: "app", Owner: snapshot.Owner{Kind: "Deployment", Name: strings.TrimRight(n, "+")}}, len(n)})
		}
		return r
	}
	want := []Restarting{of("a+++").Restarting[0], of("b").Restarting[0], of("c").Restarting[0]}
	if got := Join(of("a", "c"), of("a+++", "b")).Restarting; !slices.Equal(got, want) {
		t.Errorf("joined: %v, want %v", got, want)
	}
}
