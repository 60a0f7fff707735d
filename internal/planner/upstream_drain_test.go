// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package planner

import (
	"testing"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/eviction"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/upstream"
)

// TestUpstream_kubectlDrain has the facts of TestDrain in k8s.io/kubectl v0.37.2
// pkg/cmd/drain/drain_test.go, of TestSkipDeletedFilter in pkg/drain/filter_test.go, and of TestFilterPods
// in pkg/drain/drain_test.go: which pod is deleted, and which stops the drain. A forced drain is that of the Machine
// API: it evicts pods without a controller, deletes local data and ignores DaemonSets. The filters that a
// program adds in TestFilterPods are here the requirements of a pod selector, in the same order.
func TestUpstream_kubectlDrain(t *testing.T) {
	t.Parallel()
	rows := upstream.Cases(t)
	by := func(kind string) *snapshot.Controller {
		return &snapshot.Controller{Owner: snapshot.Owner{Group: "apps", Kind: kind, Name: "x"}}
	}
	ignore, local := DrainRules{IgnoreDaemonSets: true}, DrainRules{DeleteLocalData: true}
	selected := &snapshot.Pod{Controller: by("ReplicaSet"), Labels: labels.Set{"app": "web", "tier": "front"}}
	selecting := func(selector string) DrainRules {
		parsed, err := labels.Parse(selector)
		if err != nil {
			t.Fatal(err)
		}
		return DrainRules{PodSelector: parsed}
	}
	tests := []struct {
		name   string
		pod    *snapshot.Pod
		rules  DrainRules
		forced bool
		// deleted and stops exclude each other; a pod that is ignored is neither.
		deleted, stops bool
	}{
		{name: "a ReplicationController's", pod: &snapshot.Pod{Controller: by("ReplicationController")}, deleted: true},
		{name: "a DaemonSet's", pod: &snapshot.Pod{Controller: by("DaemonSet")}, stops: true},
		{name: "a DaemonSet's that has completed", pod: &snapshot.Pod{Controller: by("DaemonSet"), Completed: true}, deleted: true},
		{name: "a DaemonSet's without its owner reference", pod: &snapshot.Pod{}, stops: true},
		{name: "a DaemonSet's without its owner reference, forced", pod: &snapshot.Pod{}, forced: true, deleted: true},
		{name: "a DaemonSet's, ignored", pod: &snapshot.Pod{Controller: by("DaemonSet")}, rules: ignore},
		{name: "a DaemonSet's with an emptyDir, ignored", pod: &snapshot.Pod{Controller: by("DaemonSet"), LocalData: true}, rules: ignore},
		{name: "a Job's with an emptyDir that may go, forced", pod: &snapshot.Pod{Controller: by("Job"), LocalData: true}, rules: local, forced: true, deleted: true},
		{name: "a Job's that has completed", pod: &snapshot.Pod{Controller: by("Job"), LocalData: true, Completed: true}, deleted: true},
		{name: "a ReplicaSet's", pod: &snapshot.Pod{Controller: by("ReplicaSet")}, deleted: true},
		{name: "without a controller", pod: &snapshot.Pod{}, stops: true},
		{name: "without a controller, forced", pod: &snapshot.Pod{}, forced: true, deleted: true},
		{name: "with an emptyDir", pod: &snapshot.Pod{LocalData: true}, stops: true},
		{name: "with an emptyDir that has failed", pod: &snapshot.Pod{LocalData: true, Completed: true}, deleted: true},
		{name: "with an emptyDir that may go, forced", pod: &snapshot.Pod{LocalData: true}, rules: local, forced: true, deleted: true},
		{name: "no pods"},

		{name: "TestSkipDeletedFilter: not terminating", pod: &snapshot.Pod{Controller: by("ReplicaSet")}, deleted: true},
		{name: "TestSkipDeletedFilter: terminating", pod: &snapshot.Pod{Controller: by("ReplicaSet"), Terminating: true}, deleted: true},

		{name: "TestFilterPods: only the second label is selected", pod: selected, rules: selecting("app=db,tier=front")},
		{name: "TestFilterPods: its label is selected", pod: selected, rules: selecting("app=web"), deleted: true},
		{name: "TestFilterPods: only the first label is selected", pod: selected, rules: selecting("app=web,tier=back")},
	}
	for _, tt := range tests {
		rows.Run(t, tt.name, func(t *testing.T) {
			t.Parallel()
			var pods []*snapshot.Pod
			if tt.pod != nil {
				p := *tt.pod
				p.Node, p.Scheduling = "n", &snapshot.Scheduling{}
				pods = append(pods, &p)
			}
			leave, refusals := Drain(pods, tt.rules)
			deleted, stops := len(leave) > 0, len(refusals) > 0
			if tt.forced {
				deleted, stops = forced(pods), false
			}
			if deleted != tt.deleted || stops != tt.stops {
				t.Errorf("deleted %t and stops %t, want %t and %t", deleted, stops, tt.deleted, tt.stops)
			}
		})
	}
}

// forced reports whether the Machine API's drain evicts a pod.
func forced(pods []*snapshot.Pod) bool {
	s := &snapshot.Snapshot{Nodes: map[string]*snapshot.Node{"n": {Name: "n"}}, Pods: map[string][]*snapshot.Pod{"n": pods}}
	r := eviction.Evaluate(s, eviction.Scenario{Drains: map[string]bool{"n": true}}, eviction.ComparisonOff)
	return len(r.Pods) > 0 && r.Pods[0].Leaves()
}
