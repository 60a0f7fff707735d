// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

// Package cyclemachineset is the action kubetaint_cycle_machine_set: it replaces every
// machine of an OpenShift MachineSet though its template does not change.
package cyclemachineset
