// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

// Package machineset decides how the taints of an OpenShift MachineSet's template
// reach the machines that exist: which machines are stale, and what a strategy
// writes next.
//
// It is pure. What it is given is what the cluster shows at one moment, the
// MachineSet, its Machines and their Nodes; what it answers is the next writes, each
// with the numbers that led to it, or what is waited for. Nothing is remembered
// between two questions but the marker on the MachineSet itself, so that a process
// that is killed at any moment is followed by one that goes on.
//
// The habits of the controllers that it reckons with are those of
// openshift/machine-api-operator, pkg/controller/machineset and
// pkg/controller/nodelink, of August 2026.
package machineset
