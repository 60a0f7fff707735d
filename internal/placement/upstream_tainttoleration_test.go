// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package placement

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// TestUpstream_taintToleration has the facts of k8s.io/kubernetes v1.37.2
// pkg/scheduler/framework/plugins/tainttoleration/taint_toleration_test.go: which taints
// keep a pod from a node. Of a score nothing is predicted but that it keeps no pod away.
func TestUpstream_taintToleration(t *testing.T) {
	t.Parallel()
	const sched, prefer = corev1.TaintEffectNoSchedule, corev1.TaintEffectPreferNoSchedule
	const sla = "node.kubernetes.io/sla"
	compare := func(key string, operator corev1.TolerationOperator, value string, effect corev1.TaintEffect) corev1.Toleration {
		return corev1.Toleration{Key: key, Operator: operator, Value: value, Effect: effect}
	}
	user1, user2 := equal("dedicated", "user1", sched), equal("dedicated", "user2", sched)
	type list = []corev1.Toleration
	tests := []struct {
		name        string
		tolerations list
		taints      []string
		gate, away  bool
	}{
		// TestTaintTolerationFilter.
		{name: "no tolerations", taints: []string{"dedicated=user1:NoSchedule"}, away: true},
		{name: "no operator", tolerations: list{{Key: "dedicated", Value: "user1", Effect: sched}}, taints: []string{"dedicated=user1:NoSchedule"}},
		{name: "another value", tolerations: list{user2}, taints: []string{"dedicated=user1:NoSchedule"}, away: true},
		{name: "Exists", tolerations: list{exists("foo", sched)}, taints: []string{"foo=bar:NoSchedule"}},
		{name: "several taints, all tolerated", tolerations: list{user2, exists("foo", sched)}, taints: []string{"dedicated=user2:NoSchedule", "foo=bar:NoSchedule"}},
		{name: "another effect", tolerations: list{equal("foo", "bar", prefer)}, taints: []string{"foo=bar:NoSchedule"}, away: true},
		{name: "no effect", tolerations: list{equal("foo", "bar", "")}, taints: []string{"foo=bar:NoSchedule"}},
		{name: "PreferNoSchedule, another value", tolerations: list{user2}, taints: []string{"dedicated=user1:PreferNoSchedule"}},
		{name: "PreferNoSchedule, no tolerations", taints: []string{"dedicated=user1:PreferNoSchedule"}},
		{name: "Gt, less", tolerations: list{compare("node.example.com/priority-level", "Gt", "950", sched)}, taints: []string{"node.example.com/priority-level=800:NoSchedule"}, gate: true, away: true},
		{name: "Gt, more", tolerations: list{compare(sla, "Gt", "750", sched)}, taints: []string{sla + "=950:NoSchedule"}, gate: true},
		{name: "Lt, more", tolerations: list{compare("node.example.com/priority-level", "Lt", "800", sched)}, taints: []string{"node.example.com/priority-level=950:NoSchedule"}, gate: true, away: true},
		{name: "Lt, less", tolerations: list{compare(sla, "Lt", "950", sched)}, taints: []string{sla + "=800:NoSchedule"}, gate: true},
		{name: "Gt, a word", tolerations: list{compare(sla, "Gt", "950", sched)}, taints: []string{sla + "=high:NoSchedule"}, gate: true, away: true},

		// TestTaintTolerationFilterWithFeatureGate.
		{name: "gate on, Gt", tolerations: list{compare(sla, "Gt", "750", sched)}, taints: []string{sla + "=950:NoSchedule"}, gate: true},
		{name: "gate off, Gt", tolerations: list{compare(sla, "Gt", "750", sched)}, taints: []string{sla + "=950:NoSchedule"}, away: true},
		{name: "gate on, Lt", tolerations: list{compare(sla, "Lt", "950", sched)}, taints: []string{sla + "=800:NoSchedule"}, gate: true},
		{name: "gate off, Lt", tolerations: list{compare(sla, "Lt", "950", sched)}, taints: []string{sla + "=800:NoSchedule"}, away: true},
		{name: "gate off, Gt is not needed", tolerations: list{user1, compare(sla, "Gt", "750", sched)}, taints: []string{"dedicated=user1:NoSchedule"}},
		{name: "gate off, Gt is needed", tolerations: list{user1, compare(sla, "Gt", "750", sched)}, taints: []string{"dedicated=user1:NoSchedule", sla + "=950:NoSchedule"}, away: true},

		// TestTaintTolerationScore: the node with the lowest score of each case.
		{name: "score: another value", tolerations: list{equal("foo", "bar", prefer)}, taints: []string{"foo=blah:PreferNoSchedule"}},
		{name: "score: two taints, both tolerated", tolerations: list{equal("cpu-type", "arm64", prefer), equal("disk-type", "ssd", prefer)}, taints: []string{"cpu-type=arm64:PreferNoSchedule", "disk-type=ssd:PreferNoSchedule"}},
		{name: "score: two taints, none tolerated", tolerations: list{equal("foo", "bar", prefer)}, taints: []string{"cpu-type=arm64:PreferNoSchedule", "disk-type=ssd:PreferNoSchedule"}},
		{name: "score: tolerations of NoSchedule", tolerations: list{equal("cpu-type", "arm64", sched), equal("disk-type", "ssd", sched)}, taints: []string{"cpu-type=arm64:PreferNoSchedule", "disk-type=ssd:PreferNoSchedule"}},
		{name: "score: no tolerations", taints: []string{"cpu-type=arm64:PreferNoSchedule"}},
		{name: "score: Gt, less", tolerations: list{compare(sla, "Gt", "950", prefer)}, taints: []string{sla + "=800:PreferNoSchedule"}, gate: true},
		{name: "score: Lt, more", tolerations: list{compare(sla, "Lt", "800", prefer)}, taints: []string{sla + "=950:PreferNoSchedule"}, gate: true},

		// TestIsSchedulableAfterNodeChange: a pod is tried again where the new taints let it in.
		{name: "added node that is not tolerated", tolerations: list{user2}, taints: []string{"dedicated=user1:NoSchedule"}, away: true},
		{name: "added node that is tolerated", tolerations: list{user2}, taints: []string{"dedicated=user2:NoSchedule"}},
		{name: "a change that does not help", tolerations: list{user2}, taints: []string{"dedicated=user1:NoSchedule", "other=user3:NoSchedule"}, away: true},
		{name: "a change that helps", tolerations: list{user2}, taints: []string{"dedicated=user2:NoSchedule"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if away := UntoleratedTaint(tt.tolerations, taintsOf(tt.taints...), tt.gate); (away != nil) != tt.away {
				t.Errorf("kept away by %v, want %t", away, tt.away)
			}
		})
	}
	leftOut{
		"TestIsSchedulableAfterNodeChange/backoff-wrong-new-object":                  "an event with another type of object",
		"TestIsSchedulableAfterNodeChange/backoff-wrong-old-object":                  "an event with another type of object",
		"Test_isSchedulableAfterTargetPodTolerationChange/queue-on-toleration-added": "the scheduler's queue is not modelled",
	}.share(t, len(tests))
	// TestTaintToleration_DeferredResizeSkipped is about pods that are resized in place.
}
