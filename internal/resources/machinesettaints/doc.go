// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

// Package machinesettaints is the resource kubetaint_machine_set_taints: taints of
// the templates of OpenShift's MachineSets, and by a strategy of the machines and
// nodes that exist, beside what others have put there.
package machinesettaints
