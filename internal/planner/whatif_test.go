// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package planner_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/planner"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
)

func TestWhatIf(t *testing.T) {
	t.Parallel()
	added := metav1.NewTime(time.Unix(0, 0))
	gpu := corev1.Taint{Key: "dedicated", Value: "gpu", Effect: corev1.TaintEffectNoExecute}
	cpu := corev1.Taint{Key: "dedicated", Value: "cpu", Effect: corev1.TaintEffectNoExecute, TimeAdded: &added}
	other := corev1.Taint{Key: "other", Effect: corev1.TaintEffectNoSchedule, TimeAdded: &added}
	unreachable := corev1.Taint{Key: corev1.TaintNodeUnreachable, Effect: corev1.TaintEffectNoExecute}
	node := func(name string, taints ...corev1.Taint) *snapshot.Node {
		return &snapshot.Node{Name: name, Labels: map[string]string{"name": name}, Taints: taints}
	}
	all := planner.Target{Selector: labels.Everything()}
	cases := []struct {
		name   string
		nodes  []*snapshot.Node
		target planner.Target
		taints []corev1.Taint
		absent []taint.ID
		want   map[string][]corev1.Taint
	}{
		{"a new taint comes last", []*snapshot.Node{node("a", other)}, all, []corev1.Taint{gpu}, nil, map[string][]corev1.Taint{"a": {other, gpu}}},
		{"a new value takes the place of the old one", []*snapshot.Node{node("a", cpu, other)}, all, []corev1.Taint{gpu}, nil, map[string][]corev1.Taint{"a": {gpu, other}}},
		{"another effect is another taint", []*snapshot.Node{node("a", cpu)}, all, []corev1.Taint{{Key: "dedicated", Value: "gpu", Effect: corev1.TaintEffectNoSchedule}}, nil, map[string][]corev1.Taint{"a": {cpu, {Key: "dedicated", Value: "gpu", Effect: corev1.TaintEffectNoSchedule}}}},
		{"an absent one is dropped whatever its value", []*snapshot.Node{node("a", cpu, other)}, all, nil, []taint.ID{taint.IDOf(gpu)}, map[string][]corev1.Taint{"a": {other}}},
		{"the last one can be dropped", []*snapshot.Node{node("a", other)}, all, nil, []taint.ID{taint.IDOf(other)}, map[string][]corev1.Taint{"a": {}}},
		{"a node that is so already is left out", []*snapshot.Node{node("a", gpu), node("b")}, all, []corev1.Taint{gpu}, []taint.ID{taint.IDOf(other)}, map[string][]corev1.Taint{"b": {gpu}}},
		{"a node that is not meant is left out", []*snapshot.Node{node("a"), node("b")}, planner.Target{Name: "b"}, []corev1.Taint{gpu}, nil, map[string][]corev1.Taint{"b": {gpu}}},
		{"a selector means the nodes that it matches", []*snapshot.Node{node("a"), node("b")}, planner.Target{Selector: labels.SelectorFromSet(labels.Set{"name": "a"})}, []corev1.Taint{gpu}, nil, map[string][]corev1.Taint{"a": {gpu}}},
		{"a reserved key is as good as any", []*snapshot.Node{node("a")}, all, []corev1.Taint{unreachable}, nil, map[string][]corev1.Taint{"a": {unreachable}}},
		{"no node means no change", nil, all, []corev1.Taint{gpu}, nil, map[string][]corev1.Taint{}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var before [][]corev1.Taint
			for _, n := range c.nodes {
				before = append(before, append([]corev1.Taint{}, n.Taints...))
			}
			got := planner.WhatIf(c.nodes, c.target, c.taints, c.absent)
			if diff := cmp.Diff(c.want, got.Taints); diff != "" {
				t.Error(diff)
			}
			for i, n := range c.nodes {
				if diff := cmp.Diff(before[i], append([]corev1.Taint{}, n.Taints...)); diff != "" {
					t.Errorf("the shared snapshot has changed: %s", diff)
				}
			}
		})
	}
}
