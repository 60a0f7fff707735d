// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package eviction

import (
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/upstream"
)

// TestUpstream_daemonSets has the facts of k8s.io/kubernetes v1.37.2
// pkg/controller/daemon/daemon_controller_test.go about clusters without nodes, about pods that no
// DaemonSet owns, and about the node that each new pod is bound to.
func TestUpstream_daemonSets(t *testing.T) {
	t.Parallel()
	rows := upstream.Cases(t)
	rows.Run(t, "TestNoNodesDoesNothing", func(t *testing.T) {
		t.Parallel()
		w := newWorld()
		w.Daemons = map[types.UID]*snapshot.Daemon{"agent": {}}
		if r := Evaluate(w.Snapshot, tainting("n", "dedicated=user1:NoExecute"), ComparisonOff); len(r.Pods) > 0 {
			t.Errorf("%d pods have a verdict, want none", len(r.Pods))
		}
	})
	rows.Run(t, "TestPodIsNotDeletedByDaemonsetWithEmptyLabelSelector", func(t *testing.T) {
		t.Parallel()
		one := pod("other", "n", bare)
		w := newWorld(node("n")).run(one)
		w.Daemons = map[types.UID]*snapshot.Daemon{"agent": {Scheduling: snapshot.Scheduling{NodeSelector: map[string]string{"foo": "bar"}}}}
		if got := verdictOf(only(t, Evaluate(w.Snapshot, tainting("n", "dedicated=user1:NoSchedule"), ComparisonOff))); got != "stays" {
			t.Errorf("got %s, want stays", got)
		}
	})
	rows.Run(t, "TestSimpleDaemonSetScheduleDaemonSetPodsLaunchesPods", func(t *testing.T) {
		t.Parallel()
		var nodes []*snapshot.Node
		for n := range 5 {
			nodes = append(nodes, node(fmt.Sprintf("node-%d", n)))
		}
		e := newEvaluation(newWorld(nodes...).Snapshot, Scenario{}, ComparisonOff)
		for _, of := range nodes {
			next := e.successor(&snapshot.Scheduling{}, of.Name)
			if terms := next.Affinity.NodeSelectorTerms; len(terms) != 1 || len(terms[0].MatchFields) != 1 {
				t.Fatalf("the pod for %s requires %v", of.Name, terms)
			}
			for _, n := range nodes {
				if runs := e.nodes().Selects(next, n.Name, n.Labels); runs != (n == of) {
					t.Errorf("the pod for %s runs on %s: %t", of.Name, n.Name, runs)
				}
			}
		}
	})
}
