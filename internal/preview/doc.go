// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

// Package preview is an imagined change of taints or a drain, what it would do on a snapshot, and the
// answer in fields and in Markdown. The data source kubetaint_eviction_preview and the kubectl plugin
// give the same answer because both have it from here.
package preview
