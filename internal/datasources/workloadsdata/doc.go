// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

// Package workloadsdata is the data source kubetaint_workloads: which workloads
// tolerate taints, for how long, and by which toleration.
package workloadsdata
