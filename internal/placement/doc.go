// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

// Package placement finds the nodes on which pods that replace others fit, by the filters of
// the scheduler: taints, cordons, node selector, required node affinity, bound volumes and
// requests, where pods of a lower priority can be preempted (k8s.io/kubernetes v1.37.1
// pkg/scheduler/framework/plugins).
//
// It is pure. A snapshot holds the cluster as it is observed, a Change what is different by the
// time the pods are scheduled. Which pods are evicted is for package eviction to decide: it
// hands the decision over as Change.Leaving, and each pod is looked at as if it came alone.
package placement
