// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package placement

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/upstream"
)

// TestUpstream_taintToleration has the facts of k8s.io/kubernetes v1.37.2
// pkg/scheduler/framework/plugins/tainttoleration/taint_toleration_test.go: which taints
// keep a pod from a node.
func TestUpstream_taintToleration(t *testing.T) {
	t.Parallel()
	rows := upstream.Cases(t)
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

		// TestIsSchedulableAfterNodeChange: a pod is tried again where the new taints let it in.
		{name: "added node that is not tolerated", tolerations: list{user2}, taints: []string{"dedicated=user1:NoSchedule"}, away: true},
		{name: "added node that is tolerated", tolerations: list{user2}, taints: []string{"dedicated=user2:NoSchedule"}},
		{name: "a change that does not help", tolerations: list{user2}, taints: []string{"dedicated=user1:NoSchedule", "other=user3:NoSchedule"}, away: true},
		{name: "a change that helps", tolerations: list{user2}, taints: []string{"dedicated=user2:NoSchedule"}},

		// Test_isSchedulableAfterTargetPodTolerationChange.
		{name: "a pod without a toleration", taints: []string{"foo:NoSchedule"}, away: true},
		{name: "the pod with a toleration", tolerations: list{{Key: "foo", Effect: sched}}, taints: []string{"foo:NoSchedule"}},
	}
	for _, tt := range tests {
		rows.Run(t, tt.name, func(t *testing.T) {
			t.Parallel()
			if away := UntoleratedTaint(tt.tolerations, taintsOf(tt.taints...), tt.gate); (away != nil) != tt.away {
				t.Errorf("kept away by %v, want %t", away, tt.away)
			}
		})
	}
}

// TestUpstream_taintTolerationScore has the facts of TestTaintTolerationScore there: fewer taints that a pod does
// not tolerate make a higher score, and none keeps the pod away.
func TestUpstream_taintTolerationScore(t *testing.T) {
	t.Parallel()
	rows := upstream.Cases(t)
	const sched, prefer = corev1.TaintEffectNoSchedule, corev1.TaintEffectPreferNoSchedule
	const sla = "node.kubernetes.io/sla"
	type list = []corev1.Toleration
	arm, ssd := equal("cpu-type", "arm64", prefer), equal("disk-type", "ssd", prefer)
	for _, tt := range []struct {
		name        string
		tolerations list
		nodes       [][]string
		want        []int64
	}{
		{"another value", list{equal("foo", "bar", prefer)}, [][]string{{"foo=bar:PreferNoSchedule"}, {"foo=blah:PreferNoSchedule"}}, []int64{100, 0}},
		{"all tolerated", list{arm, ssd}, [][]string{nil, {"cpu-type=arm64:PreferNoSchedule"}, {"cpu-type=arm64:PreferNoSchedule", "disk-type=ssd:PreferNoSchedule"}}, []int64{100, 100, 100}},
		{"none tolerated", list{equal("foo", "bar", prefer)}, [][]string{nil, {"cpu-type=arm64:PreferNoSchedule"}, {"cpu-type=arm64:PreferNoSchedule", "disk-type=ssd:PreferNoSchedule"}}, []int64{100, 50, 0}},
		{"tolerations and taints of NoSchedule", list{equal("cpu-type", "arm64", sched), equal("disk-type", "ssd", sched)}, [][]string{nil, {"cpu-type=arm64:NoSchedule"}, {"cpu-type=arm64:PreferNoSchedule", "disk-type=ssd:PreferNoSchedule"}}, []int64{100, 100, 0}},
		{"no tolerations", nil, [][]string{nil, {"cpu-type=arm64:PreferNoSchedule"}}, []int64{100, 0}},
		{"Gt", list{{Key: sla, Operator: "Gt", Value: "950", Effect: prefer}}, [][]string{{sla + "=800:PreferNoSchedule"}, {sla + "=960:PreferNoSchedule"}}, []int64{0, 100}},
		{"Lt", list{{Key: sla, Operator: "Lt", Value: "800", Effect: prefer}}, [][]string{{sla + "=950:PreferNoSchedule"}, {sla + "=750:PreferNoSchedule"}}, []int64{0, 100}},
	} {
		rows.Run(t, tt.name, func(t *testing.T) {
			t.Parallel()
			w, p := newWorld(), pod("p", "", tolerating(tt.tolerations...))
			for i, taints := range tt.nodes {
				n := node(fmt.Sprintf("n%d", i), taints...)
				w.Nodes[n.Name] = n
			}
			s := newSimulation(New(w.Snapshot, Scenario{}, true), nil)
			l, most := s.search(p, p.Scheduling), int32(0)
			for i := range tt.nodes {
				most = max(most, s.untolerated(l, int32(i)))
			}
			var got []int64
			for i, taints := range tt.nodes {
				got = append(got, taintScore(s.untolerated(l, int32(i)), most))
				if away := UntoleratedTaint(tt.tolerations, taintsOf(taints...), true); away != nil {
					t.Errorf("%s keeps the pod from node %d", taint.Format(*away), i)
				}
			}
			compare(t, got, tt.want)
		})
	}
}
