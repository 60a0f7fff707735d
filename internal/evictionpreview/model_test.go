// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package evictionpreview

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/terraform-plugin-framework/types"
	corev1 "k8s.io/api/core/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/eviction"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/planner"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
)

func TestFromVerdict(t *testing.T) {
	t.Parallel()
	seconds := int64(30)
	text, null := types.StringValue, types.StringNull()
	base := podModel{
		Namespace: text("shop"), Name: text("web-1"), Node: text("a"), Owner: null, AfterSeconds: types.Int64Null(),
		Taint: null, Toleration: null, Reason: text("because"), Budget: null,
		Lost: types.BoolValue(false), Reschedulable: types.BoolValue(true), LocalData: types.BoolValue(false),
	}
	bare := &snapshot.Pod{Namespace: "shop", Name: "web-1", Node: "a"}
	data := &snapshot.Pod{Namespace: "shop", Name: "web-1", Node: "a", LocalData: true}
	cases := []struct {
		name    string
		verdict eviction.PodVerdict
		want    func(m *podModel)
	}{
		{"a pod that stays has nulls", eviction.PodVerdict{Pod: bare, Verdict: eviction.Stays, Reason: "because"}, func(m *podModel) { m.Verdict = text("stays") }},
		{"a pod that is evicted now has no seconds", eviction.PodVerdict{Pod: bare, Verdict: eviction.EvictedNow, Taint: &gpu, Lost: true, NoPlace: true, Reason: "because"}, func(m *podModel) {
			m.Verdict, m.Taint, m.Lost, m.Reschedulable = text("evicted_now"), text("dedicated=gpu:NoExecute"), types.BoolValue(true), types.BoolValue(false)
		}},
		{"a pod that is evicted later has everything", eviction.PodVerdict{
			Pod: data, Owner: snapshot.Owner{Group: "apps", Kind: "Deployment", Name: "web"}, Verdict: eviction.EvictedAfter, AfterSeconds: 30, Taint: &gpu,
			Toleration: &corev1.Toleration{Key: "dedicated", Operator: corev1.TolerationOpExists, TolerationSeconds: &seconds},
			Reason:     "because", Budget: "web is ignored",
		}, func(m *podModel) {
			m.Verdict, m.AfterSeconds, m.Owner, m.Budget = text("evicted_after"), types.Int64Value(30), text("Deployment/web"), text("web is ignored")
			m.Taint, m.Toleration, m.LocalData = text("dedicated=gpu:NoExecute"), text("dedicated Exists for 30s"), types.BoolValue(true)
		}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			want := base
			c.want(&want)
			if diff := cmp.Diff(want, fromVerdict(&eviction.Report{}, c.verdict)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestTake(t *testing.T) {
	t.Parallel()
	change := whatIf{target: planner.Target{Name: "a"}, taints: []corev1.Taint{gpu}}.evaluate(shop(), eviction.ComparisonUnknown)
	cases := []struct {
		name            string
		all             types.Bool
		pods, workloads []string
	}{
		// On node a: web-1 now, cache-1 after 30s, debug now, agent-1 stays.
		{"pods that plainly stay are left out", types.BoolNull(), []string{"ops/debug", "shop/cache-1", "shop/web-1"}, []string{"Pod/debug", "Deployment/cache", "Deployment/web"}},
		{"all pods of the node are there on request", types.BoolValue(true), []string{"ops/agent-1", "ops/debug", "shop/cache-1", "shop/web-1"}, []string{"Pod/debug", "Deployment/cache", "Deployment/web", "Deployment/agent"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			m := model{IncludeUnaffected: c.all}
			m.take(change)
			var pods, workloads []string
			for _, p := range m.Pods {
				pods = append(pods, p.Namespace.ValueString()+"/"+p.Name.ValueString())
			}
			for _, w := range m.Workloads {
				workloads = append(workloads, w.Kind.ValueString()+"/"+w.Name.ValueString())
			}
			if diff := cmp.Diff(c.pods, pods); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(c.workloads, workloads); diff != "" {
				t.Error(diff)
			}
			want := &summaryModel{Stays: number(1), EvictedNow: number(2), EvictedAfter: number(1), Drained: number(0), Unknown: number(0), Lost: number(1), Pending: number(0), PendingMax: number(0), Preempted: number(0), NotReschedulable: number(0)}
			if diff := cmp.Diff(want, m.Summary); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestTakeNothing(t *testing.T) {
	t.Parallel()
	var m model
	m.take(whatIf{target: planner.Target{Name: "a"}, taints: []corev1.Taint{gpu}}.evaluate(cluster(nil), eviction.ComparisonUnknown))
	if m.Pods == nil || m.Workloads == nil || m.Summary == nil || m.Markdown.IsNull() {
		t.Error("an empty preview must have empty results, not null ones")
	}
}
