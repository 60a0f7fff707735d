// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

// Package workloadtolerations is the resource kubetaint_workload_tolerations:
// tolerations of workloads, beside those that others have put there.
package workloadtolerations
