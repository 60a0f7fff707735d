// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package machineset

import (
	"cmp"
	"fmt"
	"slices"
)

// inPlace writes to one machine and its node at a time: NoExecute evicts as soon
// as the taint is on the node, and no PodDisruptionBudget holds it up. The Machine
// comes first, because nodelink puts back what only the node lacks.
func (v *view) inPlace() Decision {
	if len(v.old) == 0 {
		return v.finish()
	}
	m, reason := v.old[0], fmt.Sprintf("%d of %d machines differ, and one at a time is changed", len(v.old), len(v.old)+len(v.fresh))
	var out []Intent
	t := v.templateOn(m)
	if !t.Agrees(m.Taints) {
		out = append(out, Intent{Kind: WriteMachine, Machine: m, Taints: t.Apply(m.Taints), Reason: reason})
	}
	if n := v.outOfSyncNode(m); n != nil {
		out = append(out, Intent{Kind: WriteNode, Machine: m, Node: n, Taints: t.of(n).Apply(n.Taints), Reason: reason})
	}
	return Decision{Intents: out}
}

// rolling deletes as many old machines as may be missing. The controller makes
// the replacement of a deleted one immediately (machineset/controller.go,
// shouldExcludeMachine), so that what is missing are those that are going and those
// that are coming.
func (v *view) rolling() Decision {
	if len(v.old) == 0 {
		return v.settle()
	}
	waiting := v.unfinished()
	// Each that goes has one that comes.
	missing := max(len(v.going), len(waiting)-len(v.going)+v.replicaDeficit())
	var out []Intent
	for _, m := range v.inOrder() {
		// Those that do not serve go first and are counted, so that all others serve.
		if missing >= v.desired.Rollout.MaxUnavailable || v.replicaDeficit() < 0 {
			break
		}
		missing++
		out = append(out, Intent{Kind: Delete, Machine: m, Reason: fmt.Sprintf("%d of %d machines are left to replace; missing with this one: %d of at most %d", len(v.old)-len(out), v.Set.Replicas, missing, v.desired.Rollout.MaxUnavailable)})
	}
	if len(out) == 0 {
		return Decision{Waiting: waiting}
	}
	return Decision{Intents: out}
}

// inOrder are the old machines in the order in which they go: those that do not
// serve first, since no user misses them.
func (v *view) inOrder() []*Machine {
	return slices.SortedStableFunc(slices.Values(v.old), func(a, b *Machine) int {
		serves := func(m *Machine) int {
			if v.ready(m) {
				return 1
			}
			return 0
		}
		return cmp.Or(serves(a)-serves(b), byName(a, b))
	})
}

// settle waits until nothing is coming or going, and ends the rollout.
func (v *view) settle() Decision {
	if waiting := v.unfinished(); len(waiting) > 0 || v.replicaDeficit() != 0 {
		return Decision{Waiting: waiting}
	}
	return v.finish()
}

// surge replaces machines while there are more of them than there were. Old ones
// go in as many as were added; the last of them by scaling down, for which they are
// chosen by name: the delete policy would take any (delete_policy.go).
func (v *view) surge() Decision {
	low, high := v.marker.OriginalReplicas, v.marker.OriginalReplicas+v.marker.Surge
	if v.Set.Replicas == low {
		if len(v.old) > 0 && v.replicaDeficit() >= 0 {
			return v.addAgain()
		}
		return v.settle()
	}
	if waiting := v.unfinished(); len(waiting) > 0 || v.replicaDeficit() != 0 {
		return Decision{Waiting: waiting}
	}
	if len(v.old) > v.marker.Surge {
		var out []Intent
		for _, m := range v.old[:min(v.marker.Surge, len(v.old)-v.marker.Surge)] {
			out = append(out, Intent{Kind: Delete, Machine: m, Reason: fmt.Sprintf("%d of %d machines are left to replace, and %d more than these serve", len(v.old)-len(out), low, v.marker.Surge)})
		}
		return Decision{Intents: out}
	}
	var out []Intent
	for _, m := range v.old {
		if !m.MarkedForDeletion {
			out = append(out, Intent{Kind: Choose, Machine: m, Reason: fmt.Sprintf("it is one of the last %d of %d", len(v.old), low)})
		}
	}
	if len(out) > 0 {
		return Decision{Intents: out}
	}
	return v.write(&SetWrite{Replicas: &low}, fmt.Sprintf("%d of %d machines are new, and the last %d are chosen", len(v.fresh), high, len(v.old)))
}

// addAgain adds the machines of a surge once more, where another writer has scaled it down before
// all were replaced, or wants other taints by now: no more than max_surge, whatever wrote the
// marker, and than old ones are left. Scaled down, the set would lose new machines with them.
func (v *view) addAgain() Decision {
	m := *v.marker
	m.Surge = min(m.Surge, len(v.old))
	if v.desired.Rollout.Strategy == Surge {
		m.Surge = min(m.Surge, v.desired.Rollout.MaxSurge)
	}
	return v.write(&SetWrite{Replicas: new(m.OriginalReplicas + m.Surge), Marker: &m, MarkerChanges: m.Surge != v.marker.Surge},
		fmt.Sprintf("%d of %d machines differ, and %d are added", len(v.old), m.OriginalReplicas, m.Surge))
}

// scaleToZero waits at zero for the old machines, and scales back.
func (v *view) scaleToZero() Decision {
	switch original := v.marker.OriginalReplicas; {
	case v.Set.Replicas == original:
		if len(v.old) > 0 && v.replicaDeficit() >= 0 {
			return v.write(&SetWrite{Replicas: new(0)}, fmt.Sprintf("%d of %d machines differ", len(v.old), original))
		}
		return v.settle()
	case len(v.old)+len(v.fresh) > 0 || v.desired.Rollout.Removed && len(v.going) > 0:
		waiting := v.unfinished()
		for _, m := range v.old {
			waiting = append(waiting, Waiting{m, "is not being deleted yet"})
		}
		return Decision{Waiting: waiting}
	default:
		return v.write(&SetWrite{Replicas: &original}, fmt.Sprintf("none of %d machines is left that is not being deleted", original))
	}
}

// Restore is the write that brings the count back where a rollout is left at
// zero: all old machines are being deleted by then, so that the new ones can come.
// It is nil where the count is another one, which another writer has set if it is not
// what it was, and for a surge, where scaling down would drain whichever machines the
// delete policy takes.
func Restore(s *Set, id string) *SetWrite {
	if s.Marker == nil || s.Marker.ID != id || s.Marker.Strategy != ScaleToZero || s.Replicas != 0 || s.Marker.OriginalReplicas == 0 {
		return nil
	}
	return &SetWrite{Replicas: new(s.Marker.OriginalReplicas)}
}
