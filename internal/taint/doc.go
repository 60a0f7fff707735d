// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

// Package taint holds what can be said about taints and tolerations without a
// cluster: their identity, kubectl's notation, Kubernetes' validation rules,
// the keys that belong to others, which toleration matches, the record of who
// owns an entry, and the merge that changes only owned entries of a list.
//
// The package is pure: it reads no clock, opens no connection and knows
// nothing of Terraform.
package taint
