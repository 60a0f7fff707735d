// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package preview

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/eviction"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/planner"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
)

func TestFromVerdict(t *testing.T) {
	t.Parallel()
	seconds := int64(30)
	base := Pod{Namespace: "shop", Name: "web-1", Node: "a", Reason: "because", Reschedulable: true}
	bare := &snapshot.Pod{Namespace: "shop", Name: "web-1", Node: "a"}
	data := &snapshot.Pod{Namespace: "shop", Name: "web-1", Node: "a", LocalData: true}
	cases := []struct {
		name    string
		verdict eviction.PodVerdict
		want    func(m *Pod)
	}{
		{"a pod that stays has nulls", eviction.PodVerdict{Pod: bare, Verdict: eviction.Stays, Reason: "because"}, func(m *Pod) { m.Verdict = "stays" }},
		{"a pod that is evicted now has no seconds", eviction.PodVerdict{Pod: bare, Verdict: eviction.EvictedNow, Taint: &gpu, Lost: true, NoPlace: true, Reason: "because"}, func(m *Pod) {
			m.Verdict, m.Taint, m.Lost, m.Reschedulable = "evicted_now", orNull("dedicated=gpu:NoExecute"), true, false
		}},
		{"a pod that is evicted later has everything", eviction.PodVerdict{
			Pod: data, Owner: snapshot.Owner{Group: "apps", Kind: "Deployment", Name: "web"}, Verdict: eviction.EvictedAfter, AfterSeconds: 30, Taint: &gpu,
			Toleration: &corev1.Toleration{Key: "dedicated", Operator: corev1.TolerationOpExists, TolerationSeconds: &seconds},
			Reason:     "because", Budget: "web is ignored",
		}, func(m *Pod) {
			m.Verdict, m.AfterSeconds, m.Owner, m.Budget = "evicted_after", &seconds, orNull("Deployment/web"), orNull("web is ignored")
			m.Taint, m.Toleration, m.LocalData = orNull("dedicated=gpu:NoExecute"), orNull("dedicated Exists for 30s"), true
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

func TestResults(t *testing.T) {
	t.Parallel()
	change := WhatIf{Target: planner.Target{Name: "a"}, Taints: []corev1.Taint{gpu}}.evaluate(shop(), eviction.ComparisonUnknown)
	cases := []struct {
		name            string
		all             bool
		pods, workloads []string
	}{
		// On node a: web-1 now, cache-1 after 30s, debug now, agent-1 stays.
		{"pods that plainly stay are left out", false, []string{"ops/debug", "shop/cache-1", "shop/web-1"}, []string{"Pod/debug", "Deployment/cache", "Deployment/web"}},
		{"all pods of the node are there on request", true, []string{"ops/agent-1", "ops/debug", "shop/cache-1", "shop/web-1"}, []string{"Pod/debug", "Deployment/cache", "Deployment/web", "Deployment/agent"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			m := change.Results(c.all)
			var pods, workloads []string
			for _, p := range m.Pods {
				pods = append(pods, p.Namespace+"/"+p.Name)
			}
			for _, w := range m.Workloads {
				workloads = append(workloads, w.Kind+"/"+w.Name)
				if again := w.EvictedAgain == 1; again != (w.Name == "cache") {
					t.Errorf("%d pods of %s are evicted again", w.EvictedAgain, w.Name)
				}
			}
			if diff := cmp.Diff(c.pods, pods); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(c.workloads, workloads); diff != "" {
				t.Error(diff)
			}
			// The pod that tolerates the taint for 30s may return to the node.
			want := &Summary{Stays: 1, EvictedNow: 2, EvictedAfter: 1, Lost: 1, LostMax: 1, EvictedAgain: 1}
			if diff := cmp.Diff(want, m.Summary); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestResults_ofNothingAreEmpty(t *testing.T) {
	t.Parallel()
	m := WhatIf{Target: planner.Target{Name: "a"}, Taints: []corev1.Taint{gpu}}.evaluate(cluster(nil), eviction.ComparisonUnknown).Results(false)
	if m.Pods == nil || m.Workloads == nil || m.Summary == nil || m.Markdown == "" {
		t.Error("an empty preview must have empty results, not null ones")
	}
}
