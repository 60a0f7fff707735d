// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

// Package placement finds the nodes on which pods that replace others fit, by the filters of
// the scheduler: taints, cordons, node selector, required node affinity, volumes and
// requests, where pods of a lower priority can be preempted (k8s.io/kubernetes v1.37.1
// pkg/scheduler/framework/plugins).
//
// There are two questions, and two answers. A Finder looks at each pod as if it came alone: where
// it finds no node, no order of events helps. Finder.Simulate places all replacements together, as
// the scheduler does: by priority, each in the room that the ones before have left, at the moment
// at which its predecessor is evicted, in several orders where chance decides. It counts what
// happens, workload by workload: a number where all orders agree, and a range where they do not. It tries
// one where it is proved that the others come to the same.
//
// A simulation shares what nodes answer between pods of a class: those that are equal in
// scheduling, demand and rules. What pods hold of nodes is counted once; each order changes a copy
// of the nodes that it touches, and takes it back. It knows one moment for each number of seconds
// after which pods are evicted.
//
// Not modelled are other schedulers and profiles, autoscalers, scheduling gates, claims of
// dynamic resources, volumes that are bound to new claims of a class that does not wait for
// pods, limits of in-tree volumes per node, ResourceQuotas of pods with affinity to other namespaces, the selectors of Services,
// by which pods are spread by default, and the scores of images and of dynamic resources.
//
// It is pure. A snapshot holds the cluster as it is observed, a Change what is different by the
// time the pods are scheduled. Which pods are evicted is for package eviction to decide: it
// hands the decision over as Scenario.Leaving, and as the evictions that Simulate takes.
package placement
