// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package planner

import (
	"slices"
	"sync"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
)

// Does returns what the steps are to the changes of other resources of the same run: what they add to nodes, and
// which pods they evict.
func (p Plan) Does() *snapshot.Others {
	var out *snapshot.Others
	for _, s := range p.Steps {
		if s.Report != nil {
			out = out.And(s.Report.Does())
		}
	}
	return out
}

// Effects is what the plans of the resources of one provider configuration do, in the order of planning within
// one process. Each resource counts what those before it do: of any two, one counts the other.
type Effects struct {
	mu      sync.Mutex
	planned []effect
}

type effect struct {
	owner string
	// before is what all resources before it do.
	before, does *snapshot.Others
}

// Note notes what the plan of the resource of this id does, and returns what those before it do. A resource
// that is planned again keeps its place.
func (e *Effects) Note(owner string, does *snapshot.Others) *snapshot.Others {
	e.mu.Lock()
	defer e.mu.Unlock()
	at := e.find(owner)
	if at < 0 {
		at = len(e.planned)
		e.planned = append(e.planned, effect{owner: owner, before: e.until(at)})
	}
	e.planned[at].does = does
	for i := at + 1; i < len(e.planned); i++ {
		e.planned[i].before = e.until(i)
	}
	return e.planned[at].before
}

// Before returns what the resources that were planned before the one of this id do: of one that was not planned
// in this process, all.
func (e *Effects) Before(owner string) *snapshot.Others {
	if e == nil {
		return nil
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if at := e.find(owner); at >= 0 {
		return e.planned[at].before
	}
	return e.until(len(e.planned))
}

func (e *Effects) find(owner string) int {
	return slices.IndexFunc(e.planned, func(one effect) bool { return one.owner == owner })
}

// until is what the first n resources do.
func (e *Effects) until(n int) *snapshot.Others {
	if n == 0 {
		return nil
	}
	return e.planned[n-1].before.And(e.planned[n-1].does)
}
