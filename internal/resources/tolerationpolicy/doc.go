// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

// Package tolerationpolicy is the resource kubetaint_toleration_policy: tolerations for
// pods that do not exist yet, given by the API server itself.
package tolerationpolicy
