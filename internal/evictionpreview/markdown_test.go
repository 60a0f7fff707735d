// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package evictionpreview

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/eviction"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/golden"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/planner"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
)

func TestMarkdown(t *testing.T) {
	t.Parallel()
	pool := planner.Target{Selector: labels.SelectorFromSet(labels.Set{"pool": "gpu"})}
	taints := []corev1.Taint{gpu}
	hostile := pod("odd", "x|y", "a`b|c", "a")
	hostile.Controller.Kind = "<Kind>"
	minute := int64(60)
	cases := []struct {
		name     string
		golden   string
		change   whatIf
		snapshot *eviction.Snapshot
	}{
		{"a pod of every kind is told at its time", "every-kind", whatIf{target: pool, taints: taints}, shop()},
		{"one node is named", "one-node", whatIf{target: planner.Target{Name: "a"}, taints: taints}, shop()},
		{"a countdown that runs already is told as perhaps", "perhaps", whatIf{target: planner.Target{Name: "a"}, taints: []corev1.Taint{{Key: "more", Effect: corev1.TaintEffectNoExecute}}},
			cluster([]*eviction.Node{node("a", gpu)}, pod("ops", "slow", "slow-1", "a", corev1.Toleration{Operator: corev1.TolerationOpExists, Effect: gpu.Effect, TolerationSeconds: &minute}))},
		{"a NoSchedule taint has pods that stay with something to note", "no-schedule", whatIf{target: pool, taints: []corev1.Taint{{Key: "full", Effect: corev1.TaintEffectNoSchedule}}}, cluster([]*eviction.Node{node("a")}, pod("shop", "web", "web-1", "a"))},
		{"nothing to evict is said in one sentence", "nothing", whatIf{target: pool, absent: []taint.ID{taint.IDOf(gpu)}}, cluster([]*eviction.Node{node("a", gpu)}, pod("shop", "web", "web-1", "a", patient(5)))},
		{"removing and applying are told together", "both", whatIf{target: pool, taints: []corev1.Taint{{Key: "new", Effect: corev1.TaintEffectNoExecute}}, absent: []taint.ID{taint.IDOf(gpu)}}, cluster([]*eviction.Node{node("a", gpu), node("b")}, pod("shop", "web", "web-1", "a"))},
		{"nodes that are so already are counted", "partly", whatIf{target: pool, taints: taints}, cluster([]*eviction.Node{node("a", gpu), node("b")}, pod("shop", "web", "web-1", "b"))},
		{"a change that is made already changes nothing", "already", whatIf{target: pool, taints: taints}, cluster([]*eviction.Node{node("a", gpu)}, pod("shop", "web", "web-1", "a"))},
		{"no node at all is said in one sentence", "no-node", whatIf{target: pool, taints: taints}, cluster(nil)},
		{"a crowd is cut and counted", "crowd", whatIf{target: pool, taints: taints}, crowd()},
		{"what Markdown gives a meaning is escaped", "escaped", whatIf{target: planner.Target{Name: "a"}, taints: taints}, cluster([]*eviction.Node{node("a")}, hostile)},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got := c.change.evaluate(c.snapshot, eviction.ComparisonUnknown).markdown()
			golden.Check(t, c.golden+".golden.md", got)
		})
	}
}

// TestMarkdownBounded holds the text to what a forge takes as a comment.
func TestMarkdownBounded(t *testing.T) {
	t.Parallel()
	got := whatIf{target: planner.Target{Name: "a"}, taints: []corev1.Taint{gpu}}.evaluate(crowd(), eviction.ComparisonUnknown).markdown()
	if len(got) > 30_000 {
		t.Errorf("the text has %d characters", len(got))
	}
	if n := strings.Count(got, "\n- `"); n != maxPods {
		t.Errorf("the text lists %d pods, want %d", n, maxPods)
	}
}
