// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package message

import "github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"

// classed is a cluster with pods of a PriorityClass that is gone, and of one that now is above other pods.
func classed(classes snapshot.PriorityClasses) cluster {
	of := func(name string) podOption { return func(p *snapshot.Pod) { p.Demand.PriorityClass = name } }
	c := aCluster().node("worker-2", 4).pods("worker-1", "shop/Deployment/web", 2, 1, of("gone")).
		pods("worker-1", "ml/Deployment/train", 1, 4, of("high")).pods("worker-2", "batch/Deployment/queue", 1, 4)
	c.PriorityClasses = classes
	return c
}
