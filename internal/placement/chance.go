// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package placement

import (
	"cmp"
	"hash/fnv"
	"math/rand/v2"
	"slices"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
)

// chance decides in one order what nothing else does, by what is decided and by the names of pods and nodes:
// one sequence for all would give a pod other numbers as soon as the change adds a pod before it, and what
// happens with and without the change would differ by chance alone.
type chance uint64

// Matters that chance decides.
const (
	ofOrders uint64 = iota
	ofRanks
	ofNodes
	ofStarts
	ofVictims
	ofEvictions
	ofVolumes
	ofAges
	ofGraces
	ofTurns
	ofWaves
)

func newChance(seed uint64, order int) chance { return chance(seed).of(ofOrders, uint64(order)) } //nolint:gosec // Orders count from 0.

// of returns the chance of something with a name.
func (c chance) of(what, name uint64) chance {
	var source rand.PCG
	source.Seed(uint64(c)+what, name)
	return chance(source.Uint64())
}

// source returns a sequence of chance for something with a name.
func (c chance) source(what, name uint64) *rand.Rand {
	return rand.New(rand.NewPCG(uint64(c)+what, name)) //nolint:gosec // Chance must be repeatable.
}

// below returns a number from 0 on that is less than n.
func (c chance) below(n int) int { return int(uint64(c) % uint64(n)) } //nolint:gosec // n counts nodes.

// pick returns the index of one of several nodes with these names, the same one when others are added that lose.
func (c chance) pick(n int, name func(int) uint64) int {
	best, most := 0, chance(0)
	for i := range n {
		if draw := c.of(ofNodes, name(i)); draw >= most {
			best, most = i, draw
		}
	}
	return best
}

// nameOf returns a name as a number.
func nameOf(parts ...string) uint64 {
	h := fnv.New64a()
	for _, part := range parts {
		_, _ = h.Write([]byte(part)) // A hash takes everything.
		_, _ = h.Write([]byte{0})
	}
	return h.Sum64()
}

func nameOfPod(pod *snapshot.Pod) uint64 { return nameOf(pod.Namespace, pod.Name) }

// shuffle sorts pods by chance.
func (c chance) shuffle(pods []*replacement) {
	type drawn struct {
		*replacement
		draw chance
		at   int
	}
	draws := make([]drawn, len(pods))
	for i, r := range pods {
		draws[i] = drawn{r, c.of(ofRanks, r.name), i}
	}
	slices.SortFunc(draws, func(a, b drawn) int { return cmp.Or(cmp.Compare(a.draw, b.draw), cmp.Compare(a.at, b.at)) })
	for i := range draws {
		pods[i] = draws[i].replacement
	}
}
