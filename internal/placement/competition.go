// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package placement

import "github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"

// rival is the pods of a search and a demand that compete for nodes with others.
type rival struct {
	*class
	asks asks
	pods int64
	// never is set where no node ever has room for one of them.
	never bool
	pool  *pool
}

// pool is the nodes that take the pods of some searches, if they have room.
type pool struct {
	nodes []int32
	bits  []uint64
	// unknown is set where one does not report what it has: it counts as one that has enough for all.
	unknown bool
	// rivals are the kinds of pods that any of these nodes takes.
	rivals []*rival
}

// mostPools and mostAnswers bound what the proof costs, in pools that are compared and nodes that are asked.
const mostPools, mostAnswers = 256, 20_000_000

// competition is of all pods that are to be placed.
type competition struct {
	*simulation
	kinds    []rival
	pools    map[string]*pool
	searches map[*nodeSearch]*pool
	answers  int
	costs    []int64
}

func newCompetition(s *simulation) *competition {
	return &competition{simulation: s, pools: map[string]*pool{}, searches: map[*nodeSearch]*pool{}}
}

// gather collects the rivals of each pool. It reports whether that was not too much.
func (a *competition) gather() bool {
	for i := range a.kinds {
		if k := &a.kinds[i]; !k.never {
			if k.pool = a.poolOf(k.search); len(a.pools) > mostPools || a.answers > mostAnswers {
				return false
			}
		}
	}
	for _, p := range a.pools {
		shares := map[*pool]bool{}
		for _, other := range a.pools {
			shares[other] = p.overlaps(other)
		}
		for i := range a.kinds {
			if k := &a.kinds[i]; k.pool != nil && shares[k.pool] {
				p.rivals = append(p.rivals, k)
			}
		}
	}
	return true
}

func (a *competition) poolOf(l *nodeSearch) *pool {
	if known := a.searches[l]; known != nil {
		return known
	}
	a.answers += len(l.candidates)
	one, key := &pool{bits: make([]uint64, (len(a.places)+63)/64)}, make([]byte, (len(a.places)+7)/8)
	for _, p := range l.candidates {
		if i := int32(p.index); a.static(l, i) { //nolint:gosec // A cluster has no two thousand million nodes.
			one.nodes, one.unknown = append(one.nodes, i), one.unknown || p.has == nil
			one.bits[i/64] |= 1 << (i % 64)
			key[i/8] |= 1 << (i % 8)
		}
	}
	if known := a.pools[string(key)]; known != nil {
		one = known
	}
	a.pools[string(key)], a.searches[l] = one, one
	return one
}

func (p *pool) overlaps(other *pool) bool {
	for i := range p.bits {
		if p.bits[i]&other.bits[i] != 0 {
			return true
		}
	}
	return false
}

// fits reports whether a node takes a pod of a kind wherever all others are. To close a node to it, others must take up
// one resource there, but for less than the pod asks for. Resources have prices, so that those of different ones add
// up: a node costs what its cheapest resource does, and a pod is worth the dearest that it asks for. The
// others cannot close all nodes if they are worth less than these cost. That holds for any prices; those by which
// an average node costs as much by each resource tell most.
func (a *competition) fits(k *rival) bool {
	if k.pool.unknown {
		return true
	}
	prices, open := a.prices(k)
	if !open {
		return false
	}
	worth := -prices.dearest(k) // It does not keep itself away.
	for _, other := range k.pool.rivals {
		worth += float64(other.pods) * prices.dearest(other)
	}
	worth = worth*rounding + minWorth
	for _, i := range k.pool.nodes {
		if costs, open := a.toClose(k, i); open {
			if worth -= prices.cheapest(costs); worth < 0 {
				return true
			}
		}
	}
	return false
}

// rounding and minWorth are more than sums of floating-point numbers can be wrong by.
const rounding, minWorth = 1 + 1e-6, 1e-6

// asks are amounts of pods, CPU, memory and local storage, and then of other resources.
type asks [4]int64

func asksOf(d *snapshot.Demand) asks {
	return asks{1, d.Asks.MilliCPU, d.Asks.Memory, d.Asks.EphemeralStorage}
}

// toClose returns how much others must take up of each resource on a node until it has too little left for a pod of a
// kind, 0 for what the pod does not ask for. A node that does not take the pod is not open.
func (a *competition) toClose(k *rival, i int32) (costs []int64, open bool) {
	n, has := a.state(i), a.places[i].has
	if _, _, lacks := n.short(k.demand); lacks {
		return nil, false
	}
	left := asks{has.Pods - n.pods, has.MilliCPU - n.milliCPU, has.Memory - n.memory, has.EphemeralStorage - n.ephemeral}
	costs = a.costs[:0]
	for r, amount := range k.asks {
		if amount > 0 {
			costs = append(costs, left[r]-amount+1)
		} else {
			costs = append(costs, 0)
		}
	}
	for _, ask := range k.demand.Asks.Others {
		free := int64(0)
		for j := range has.Others {
			if has.Others[j].Name == ask.Name {
				free = has.Others[j].Value - n.others[j]
			}
		}
		costs = append(costs, free-ask.Value+1)
	}
	a.costs = costs
	return costs, true
}

// prices are those of resources in the eyes of a kind of pods, in the order of what it costs to close a node to it.
type prices struct {
	of     []float64
	others []snapshot.Amount
}

// sampled is how many nodes prices are made of.
const sampled = 64

// prices are made of the first nodes that are open to a kind of pods. It reports whether any is.
func (a *competition) prices(k *rival) (prices, bool) {
	out, open := prices{make([]float64, len(k.asks)+len(k.demand.Asks.Others)), k.demand.Asks.Others}, 0
	for _, i := range k.pool.nodes {
		costs, is := a.toClose(k, i)
		if !is {
			continue
		}
		for r := range costs {
			out.of[r] += float64(costs[r])
		}
		if open++; open == sampled {
			break
		}
	}
	for r := range out.of {
		if out.of[r] > 0 {
			out.of[r] = float64(open) / out.of[r]
		}
	}
	return out, open > 0
}

// dearest is what a pod of another kind is worth.
func (p *prices) dearest(other *rival) float64 {
	most := 0.0
	for r, amount := range other.asks {
		most = max(most, float64(amount)*p.of[r])
	}
	for r := range p.others {
		most = max(most, float64(other.demand.Asks.Other(p.others[r].Name))*p.of[len(other.asks)+r])
	}
	return most
}

// cheapest is what it takes to close a node.
func (p *prices) cheapest(costs []int64) float64 {
	least := 0.0
	for r, amount := range costs {
		if cost := float64(amount) * p.of[r]; amount > 0 && (least == 0 || cost < least) {
			least = cost
		}
	}
	return least
}
