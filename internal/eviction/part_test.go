// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package eviction

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
)

// TestSettled is about single pods; that the rest of the cluster adds nothing is shown in package
// planner.
func TestSettled(t *testing.T) {
	t.Parallel()
	claims := &snapshot.Pod{Claims: []string{"data"}}
	for name, tc := range map[string]struct {
		verdict             PodVerdict
		settled, asIs, open bool
	}{
		"stays":                          {PodVerdict{Verdict: Stays}, true, true, false},
		"evicted":                        {PodVerdict{Verdict: EvictedNow}, false, false, false},
		"may be evicted":                 {PodVerdict{Verdict: Unknown}, false, false, false},
		"stranded":                       {PodVerdict{Verdict: Stays, Stranded: true}, false, false, false},
		"mis-scheduled":                  {PodVerdict{Verdict: Stays, Misscheduled: true}, false, false, false},
		"being deleted":                  {PodVerdict{Verdict: Stays, Pod: &snapshot.Pod{Terminating: true}}, false, false, false},
		"fits on another node":           {PodVerdict{Verdict: Stays, OtherNodes: true}, false, true, true},
		"fits on no node that is known":  {PodVerdict{Verdict: Stays, OtherNodes: true, NoPlace: true}, false, false, true},
		"fits on another node by chance": {PodVerdict{Verdict: Stays, OtherNodes: true, Pod: claims}, false, false, false},
		"it has an ephemeral volume":     {PodVerdict{Verdict: Stays, OtherNodes: true, Pod: &snapshot.Pod{Ephemeral: true}}, false, false, false},
		"its volume is on no known node": {PodVerdict{Verdict: Stays, OtherNodes: true, NoPlace: true, Pod: claims}, false, false, false},
	} {
		if tc.verdict.Pod == nil {
			tc.verdict.Pod = &snapshot.Pod{}
		}
		r := &Report{Pods: []PodVerdict{{Pod: &snapshot.Pod{}, Verdict: Stays}, tc.verdict}}
		if settled, asIs, open := r.Settled(false), r.Settled(true), r.OpenPlaces(); settled != tc.settled || asIs != tc.asIs || open != tc.open {
			t.Errorf("%s: settled %v, %v where admission gives nothing, open places %v", name, settled, asIs, open)
		}
	}
}

// TestSettled_notWithoutThePodsOfAChangedNode: a node may have joined since the names of the changed nodes were
// taken.
func TestSettled_notWithoutThePodsOfAChangedNode(t *testing.T) {
	t.Parallel()
	s := &snapshot.Snapshot{Nodes: map[string]*snapshot.Node{"old": {Name: "old"}, "new": {Name: "new"}}, Only: map[string]bool{"old": true}}
	taints := []corev1.Taint{{Key: "k", Effect: corev1.TaintEffectNoExecute}}
	for name, want := range map[string]bool{"old": true, "new": false} {
		report := Evaluate(s, Scenario{Taints: map[string][]corev1.Taint{name: taints}}, ComparisonOff)
		if got := Join(report).Settled(true); got != want || report.Settled(true) != want {
			t.Errorf("node %s: %v", name, got)
		}
	}
}
