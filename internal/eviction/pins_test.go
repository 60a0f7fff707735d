// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package eviction

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
)

func TestRepin_daemonSetPodsAreDeletedFromNodesNoLongerSelected(t *testing.T) {
	t.Parallel()
	nodes := func() world {
		return newWorld(
			&snapshot.Node{Name: "n1", Labels: map[string]string{"zone": "a", "dedicated": "gpu"}}, &snapshot.Node{Name: "n2", Labels: map[string]string{"zone": "a"}},
			&snapshot.Node{Name: "n3", Labels: map[string]string{"zone": "b"}},
		)
	}
	on := func(node string) *snapshot.Pod {
		return pod("agent-"+node, node, ownedBy("DaemonSet", "agent"), pinned(node))
	}
	inZone := corev1.PodSpec{NodeSelector: map[string]string{"zone": "a"}}
	dying := on("n2")
	dying.Terminating = true
	for name, tt := range map[string]struct {
		world world
		pods  []*snapshot.Pod
		want  []string
	}{
		"those on other nodes leave, and are not made again": {nodes().template("agent", inZone), []*snapshot.Pod{on("n2"), on("n1")}, []string{"n2 agent-n2"}},
		"one that leaves already is not made to leave":       {nodes().template("agent", inZone), []*snapshot.Pod{dying}, nil},
		"nor is one that was not selected before":            {nodes().template("agent", inZone), []*snapshot.Pod{on("n3")}, nil},
		"of a template that is not known nothing is said":    {nodes(), []*snapshot.Pod{on("n2")}, nil},
		"nor of a node that is not known":                    {nodes().template("agent", corev1.PodSpec{}), []*snapshot.Pod{on("n9")}, nil},
		"they are sorted":                                    {nodes().template("agent", corev1.PodSpec{}), []*snapshot.Pod{on("n3"), on("n2")}, []string{"n2 agent-n2", "n3 agent-n3"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			report := Repin(tt.world.Snapshot, tt.pods, map[string]string{"zone": "a", "dedicated": "gpu"}, ComparisonOff)
			var got []string
			for _, v := range report.Pods {
				got = append(got, v.Pod.Node+" "+v.Pod.Name)
				if v.Verdict != EvictedNow || !v.NoPlace || v.Reason != "pin makes its DaemonSet require labels that the node does not have; not recreated until the node's taints and labels allow it" {
					t.Errorf("%s: %+v", v.Pod.Name, v)
				}
			}
			if diff := cmp.Diff(tt.want, got, cmpopts.EquateEmpty()); diff != "" {
				t.Error(diff)
			}
			if total := report.Summary(); total.Daemons != len(tt.want) || len(report.Nodes) != len(tt.want) {
				t.Errorf("%d pods of DaemonSets on %v", total.Daemons, report.Nodes)
			}
		})
	}
}
