// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

// Package rollout carries out the planner's steps against a cluster. Whatever
// it does can be killed at any moment and begun again: every step is decided
// from what the cluster shows then.
//
// Run is the one way in. It asks the planner, takes the first step, and asks again. The limits
// on evictions are checked before the first write and before each step that evicts pods. It knows
// no Terraform: its errors are types, which tf/message words.
package rollout
