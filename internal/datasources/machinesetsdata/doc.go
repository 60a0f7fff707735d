// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

// Package machinesetsdata is data.kubetaint_machine_sets: MachineSets with their
// taints and the owner of each, and the machines and nodes that differ from the
// template.
package machinesetsdata
