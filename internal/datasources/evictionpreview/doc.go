// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

// Package evictionpreview is the data source kubetaint_eviction_preview: which
// pods a change of taints would evict, when and why, without making the change.
package evictionpreview
