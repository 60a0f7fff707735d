// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

// Package eviction predicts what a change of taints does to pods: which are
// evicted, when, why, and which are not recreated or stay Pending.
//
// It is pure. A snapshot holds the cluster as it is observed, a Change what the
// nodes will look like, and Evaluate gives a verdict for every pod on the
// changed nodes, by the rules of the cluster's own controllers: the
// taint-eviction controller (k8s.io/kubernetes v1.37.1
// pkg/controller/tainteviction/taint_eviction.go), the DaemonSet controller and
// kubectl's drain. Where the replacements of all evicted pods go is asked of package
// placement, once for a report and only when a caller asks for it: Report.Outcome.
package eviction
