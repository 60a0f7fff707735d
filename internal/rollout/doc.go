// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

// Package rollout carries out the planner's steps against a cluster. Whatever
// it does can be killed at any moment and begun again: every step is decided
// from what the cluster shows then.
package rollout
