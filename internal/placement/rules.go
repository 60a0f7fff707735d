// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package placement

import "github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"

type rules struct{}

type podRules struct{ affinity, spread []int }

func (*rules) init(*simulation, []Eviction)                    {}
func (*rules) reset()                                          {}
func (*rules) any() bool                                       { return false }
func (*rules) of(*simulation, *class, *snapshot.Pod) *podRules { return nil }
func (*rules) update(*simulation, int32, occupant, int64)      {}
func (*podRules) ask(*simulation, int32) (kind, answer)        { return 0, takes }
func (*simulation) preempt(*replacement) (int32, bool)         { return -1, false }
