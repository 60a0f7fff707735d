// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package planner

import (
	"slices"
	"sync"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/eviction"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
)

// Effect is what a plan is to the changes of other resources of the same run: what it adds to nodes, and which pods
// it evicts. Rollouts of machines are apart, since they may take turns.
type Effect struct {
	Nodes, Machines *snapshot.Others
	// MaxPending is its limit on Pending pods, nil for none.
	MaxPending *int64
}

// Does returns what the steps do.
func (p Plan) Does() Effect {
	var out Effect
	for _, s := range p.Steps {
		switch {
		case s.Report == nil:
		case s.Switch != nil:
			out.Machines = out.Machines.And(s.Report.Does())
		default:
			out.Nodes = out.Nodes.And(s.Report.Does())
		}
	}
	return out
}

// Effects is what the plans of the resources of one provider configuration do, in the order of planning within
// one process. Each resource counts what those before it do: of any two, one counts the other.
type Effects struct {
	mu      sync.Mutex
	planned []planned
}

type planned struct {
	owner string
	does  Effect
}

// Note notes what the plan of the resource of this id does, and returns what those before it do. A resource
// that is planned again keeps its place. Where one rollout of machines runs at a time (turns), a plan with one counts
// none of the others: pods of one are placed before the next begins.
func (e *Effects) Note(owner string, does Effect, turns bool) *snapshot.Others {
	e.mu.Lock()
	defer e.mu.Unlock()
	at := e.find(owner)
	if at < 0 {
		at = len(e.planned)
		e.planned = append(e.planned, planned{owner: owner})
	}
	e.planned[at].does = does
	return joined(e.planned[:at], turns && !does.Machines.Empty())
}

// Before returns what the resources that were planned before the one of this id do: of one that was not planned
// in this process, all. It leaves out rollouts of machines for one that takes turns with them.
func (e *Effects) Before(owner string, turns bool) *snapshot.Others {
	if e == nil {
		return nil
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	at := e.find(owner)
	if at < 0 {
		at = len(e.planned)
	}
	return joined(e.planned[:at], turns)
}

// Exceeded returns the max_pending of resources that were planned before the one of this id, where its plan exceeds them:
// each is compared with what the resource would leave Pending if it were planned last. Then the order of planning does
// not decide whether one of them is refused. The snapshot is the one of the plan, and order makes the plan of others.
func (e *Effects) Exceeded(owner string, turns bool, s *snapshot.Snapshot, plan Plan, order func(*snapshot.Snapshot) Plan) []eviction.Excess {
	limited := e.limited(owner, turns)
	if len(limited) == 0 {
		return nil
	}
	all, alone := plan.pending(), s.With(nil, nil)
	alone.Others = nil
	var out []eviction.Excess
	for _, one := range limited {
		if int64(all.Max) <= one.most {
			continue
		}
		before := order(alone.Beside(one.without)).pending()
		if count := all.Max - before.Max; int64(count) > one.most {
			out = append(out, eviction.Excess{Limit: eviction.MaxPending, Count: count, Allowed: int(one.most), Of: one.owner, Certain: int64(all.Min-before.Max) > one.most})
		}
	}
	return out
}

// pending is how many replacements stay Pending of the plan and of others.
func (p Plan) pending() eviction.Range {
	_, report := p.Impact()
	out := report.Outcome()
	if out.Others.Replacements > 0 {
		return out.Others.All
	}
	return out.Staying
}

// limited is a resource that was planned before, its max_pending, and what those before do without it.
type limited struct {
	owner   string
	most    int64
	without *snapshot.Others
}

func (e *Effects) limited(owner string, turns bool) []limited {
	e.mu.Lock()
	defer e.mu.Unlock()
	at := e.find(owner)
	if at < 0 {
		return nil
	}
	turns = turns && !e.planned[at].does.Machines.Empty()
	var out []limited
	for i, one := range e.planned[:at] {
		nothing := one.does.Nodes.Empty() && (turns || one.does.Machines.Empty())
		if one.does.MaxPending != nil && !nothing {
			without := slices.Delete(slices.Clone(e.planned[:at]), i, i+1)
			out = append(out, limited{one.owner, *one.does.MaxPending, joined(without, turns)})
		}
	}
	return out
}

// Drop forgets what a resource was to do, since it was stopped before it wrote anything.
func (e *Effects) Drop(owner string) {
	if e == nil {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if at := e.find(owner); at >= 0 {
		e.planned[at].does = Effect{}
	}
}

func (e *Effects) find(owner string) int {
	return slices.IndexFunc(e.planned, func(one planned) bool { return one.owner == owner })
}

func joined(all []planned, turns bool) *snapshot.Others {
	var out []*snapshot.Others
	for _, one := range all {
		if out = append(out, one.does.Nodes); !turns {
			out = append(out, one.does.Machines)
		}
	}
	return snapshot.Together(out...)
}
