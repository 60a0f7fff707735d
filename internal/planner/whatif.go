// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package planner

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/eviction"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
)

// WhatIf is the change that puts taints on the nodes that are meant and takes
// others off them, whatever the owner of what is there: a taint takes the place of
// one with the same key and effect. Nodes that are so already are left out,
// because nothing happens to them. No resource writes this change, so that
// reserved keys are as good as any.
func WhatIf(nodes []*snapshot.Node, target Target, taints []corev1.Taint, absent []taint.ID) eviction.Scenario {
	change := eviction.Scenario{Taints: map[string][]corev1.Taint{}}
	for _, n := range nodes {
		if !target.Matches(n) {
			continue
		}
		if after, changed := imagine(n.Taints, taints, absent); changed {
			change.Taints[n.Name] = after
		}
	}
	return change
}

// imagine returns the list as it would be; entries that stay as they are keep
// their place and the time at which they were added.
func imagine(current, taints []corev1.Taint, absent []taint.ID) (after []corev1.Taint, changed bool) {
	after = slices.Clone(current)
	for _, t := range taints {
		at := taint.Find(after, taint.IDOf(t))
		switch {
		case at < 0:
			after, changed = append(after, t), true
		case after[at].Value != t.Value:
			after[at], changed = t, true
		}
	}
	for _, id := range absent {
		if at := taint.Find(after, id); at >= 0 {
			after, changed = slices.Delete(after, at, at+1), true
		}
	}
	return after, changed
}
