// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

// Package functions is the provider's functions, which need no cluster: taints
// to and from kubectl's notation, and which toleration matches which taint.
//
// Taints and tolerations are dynamic parameters, because a parameter of an
// object type would demand every attribute, the optional ones too.
package functions
