// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package fw

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-log/tflog"
	corev1 "k8s.io/api/core/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/machineset"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/rollout"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
)

// RefusedSet says that a MachineSet must not be changed.
type RefusedSet struct {
	Set      *machineset.Set
	Refusals []machineset.Refusal
	// Labels says that it is about labels alone.
	Labels bool
}

// Error returns the first reason.
func (e *RefusedSet) Error() string { return e.Refusals[0].Why }

// AtTarget is where a block says which MachineSets are meant; nowhere for none.
func AtTarget(block path.Path, t *machineset.Target) path.Path {
	switch {
	case t == nil:
		return path.Empty()
	case t.Selector != nil:
		return block.AtName("selector")
	}
	return block.AtName("name")
}

// Diagnostic words it; the block is the one that says which MachineSets are meant, and
// how they are rolled out.
func (e *RefusedSet) Diagnostic(block path.Path, t *machineset.Target) diag.Diagnostic {
	first := e.Refusals[0]
	// Other MachineSets of the resource may have been changed before.
	detail := "Nothing has been written to it: " + first.Why + ". " + first.Instead + "."
	if first.Attribute != "" {
		return diag.NewAttributeErrorDiagnostic(block.AtName("rollout").AtName(first.Attribute), "Unable to roll "+e.Set.Title()+" out with this "+first.Attribute, detail)
	}
	summary := "Unable to change the " + map[bool]string{false: "taints", true: "labels"}[e.Labels] + " of " + e.Set.Title()
	at := AtTarget(block, t)
	if len(at.Steps()) == 0 {
		return diag.NewErrorDiagnostic(summary, detail)
	}
	return diag.NewAttributeErrorDiagnostic(at, summary, detail)
}

// AboutSets words what a change of MachineSets is about.
func AboutSets(verb string, all []machineset.Affected, where string) Subject {
	s := Subject{Verb: verb, Preposition: "to", Where: where}
	var stay, going []corev1.Taint
	for _, a := range all {
		for _, id := range a.Effect.Template.Ours {
			if at := taint.Find(a.Effect.Template.Taints, id); at >= 0 {
				stay = append(stay, a.Effect.Template.Taints[at])
			} else if at := taint.Find(a.Set.Taints, id); at >= 0 {
				going = append(going, a.Set.Taints[at])
			}
		}
		s.Many = s.Many || len(a.Effect.Stale) > 1
	}
	// What goes is what it is about where nothing comes in its place.
	if s.Taints = stay; len(stay) == 0 {
		s.Taints = going
	}
	s.Taints = slices.CompactFunc(taint.Sort(s.Taints), func(a, b corev1.Taint) bool { return a.MatchTaint(&b) && a.Value == b.Value })
	return s
}

// SetRollouts is the change of the taints of all MachineSets of a resource, on as many
// at once in a run as the provider block allows.
type SetRollouts struct {
	Data  *Data
	Meant []machineset.Observed
	// Of says what is wanted of one of them.
	Of func(*machineset.Set) machineset.Desired
	// Place names them all.
	Place  string
	Budget Budget
	// Ours says that the budget is the resource's own; Tolerations is the attribute that
	// says whose tolerations count.
	Ours        bool
	Tolerations path.Path
	// Timeout is how long one rollout may take from when its turn has come, 0 for as long
	// as the context allows.
	Timeout time.Duration
	// Ready is asked before a rollout that changes something, nil for nothing.
	Ready func(context.Context) error

	// checked is set once the change of all of them together has been.
	checked sync.Once
	over    error
}

// All changes each MachineSet when its turn has come, in the order of their names, those
// first whose rollout was interrupted: they may have no machine. It sorts Meant, and returns
// the error of each. Where one fails, those that have begun go on to their end, and no other
// one begins.
func (r *SetRollouts) All(ctx context.Context) []error {
	slices.SortStableFunc(r.Meant, func(a, b machineset.Observed) int { return cmp.Compare(r.turn(a), r.turn(b)) })
	errs := make([]error, len(r.Meant))
	var failed atomic.Bool
	var begun sync.WaitGroup
	for n, o := range r.Meant {
		done, err := r.Data.Rollouts.Begin(ctx, o.Set.Key(), r.Data.MaxConcurrentRollouts, func() {
			tflog.Info(ctx, "waiting for another rollout to end", map[string]any{"machine_set": o.Set.Key(), "at_once": r.Data.MaxConcurrentRollouts})
		})
		if err != nil {
			errs[n] = err
			break
		}
		if failed.Load() {
			done()
			break
		}
		begun.Go(func() {
			defer done()
			errs[n] = r.rollOut(ctx, o)
			if errs[n] != nil {
				failed.Store(true)
			}
		})
	}
	begun.Wait()
	return errs
}

func (r *SetRollouts) turn(o machineset.Observed) int {
	if machineset.Plan(o, r.Of(o.Set)).Interrupted != nil {
		return 0
	}
	return 1
}

// rollOut changes one MachineSet. The clock starts now.
func (r *SetRollouts) rollOut(ctx context.Context, o machineset.Observed) error {
	if r.Timeout > 0 {
		bounded, cancel := context.WithTimeout(ctx, r.Timeout)
		defer cancel()
		ctx = bounded
	}
	d := r.Of(o.Set)
	if r.Ready != nil && !d.Claim.Release && machineset.Plan(o, d).Changes() {
		if err := rollout.Replenish(ctx, r.Data.Cluster, o.Set, d.Claim.Owner); err != nil {
			return err
		}
		if err := r.Ready(ctx); err != nil {
			return err
		}
	}
	return rollout.RollOut(ctx, r.Data.Cluster, o.Set.Key(), d, rollout.MachineHooks{
		Approve: func(now machineset.Observed) error {
			if refusals := machineset.Refuse(now, d); len(refusals) > 0 {
				return &RefusedSet{Set: now.Set, Refusals: refusals}
			}
			if machineset.Plan(now, d).Interrupted != nil {
				// What was allowed goes on, whatever the others are refused for: it may have
				// no machine by now.
				return nil
			}
			r.checked.Do(func() { r.over = r.allowed(ctx, r.Meant, r.Place) })
			if r.over != nil || len(r.Meant) == 1 {
				return r.over
			}
			return r.allowed(ctx, []machineset.Observed{now}, now.Set.Title())
		},
	})
}

// allowed checks changes against what is there right before the first write: those of
// all MachineSets together before the first of all, since a budget is the resource's.
func (r *SetRollouts) allowed(ctx context.Context, sets []machineset.Observed, place string) error {
	var all []machineset.Affected
	for _, o := range sets {
		now, there := r.Data.Cluster.MachineSet(o.Set.Key())
		if !there {
			continue
		}
		a := machineset.Affected{Observed: now, Effect: machineset.Plan(now, r.Of(now.Set))}
		if len(a.Effect.Stale)+len(a.Effect.Mends) > 0 {
			all = append(all, a)
		}
	}
	if all = machineset.Beginning(all); len(all) == 0 {
		return nil
	}
	snapshot, err := r.Data.Cluster.SnapshotToDecide(ctx)
	if err != nil {
		return err
	}
	impact := machineset.Evaluate(snapshot, all, nil, r.Data.Comparison, int(r.Data.MaxConcurrentRollouts))
	if impact.Refused != nil {
		return &RefusedSet{Set: impact.Refused, Refusals: impact.Refusals}
	}
	about := AboutSets("apply", all, place)
	about.Began = true
	return r.Budget.Allow(impact.Report, about, r.Tolerations, r.Ours)
}
