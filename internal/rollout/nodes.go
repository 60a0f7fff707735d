// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package rollout

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/kube"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/planner"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/workload"
)

const (
	// parallelWrites keeps a selector of a thousand nodes fast without filling
	// the API server's queue for one user.
	parallelWrites = 16

	// settleMoment is how long written nodes are watched. Writers without a
	// guard send back within milliseconds what they have read.
	settleMoment = 100 * time.Millisecond

	// maxRounds bounds how often a list is written again that others
	// revert: after that it is a conflict, and the user must know.
	maxRounds = 8
	// maxConflicts bounds how often a write of a rollout of machines meets a change of the same
	// object by another client.
	maxConflicts = 100
)

// RefusedError reports that nodes must not be written. Nothing more is written
// once it is returned.
type RefusedError struct {
	Refusals []planner.Refusal
}

// Error names the first node; callers word the refusals themselves.
func (e *RefusedError) Error() string {
	return fmt.Sprintf("%d nodes must not be changed, the first is %s", len(e.Refusals), e.Refusals[0].Node)
}

// switchTaints writes the taints of a step: nodes that are meant first, then those that
// leave. It waits for the watch to confirm: the next look finds what a writer without a
// guard has taken away, and nodes that have come since.
func (r *run) switchTaints(ctx context.Context, plan planner.NodePlan) error {
	for _, s := range plan.Switches {
		// Nodes that join one after the other are no conflict.
		if r.written[s.Node.Name]++; r.written[s.Node.Name] > maxRounds {
			return &RevertedError{Thing: workload.Ref{Kind: "Node", Name: s.Node.Name}}
		}
	}
	if fresh := r.unapproved(plan); len(fresh.Switches) > 0 {
		if err := r.hooks.approve(ctx, fresh); err != nil {
			return err
		}
	}
	if err := r.fromMachines(ctx, plan.Switches); err != nil {
		return err
	}
	arrivals, leavers := split(plan.Switches)
	arrived, err := switchAll(ctx, r.cluster, *r.change.Nodes, arrivals)
	if err != nil {
		return err
	}
	left, err := switchAll(ctx, r.cluster, *r.change.Nodes, leavers)
	if err != nil {
		return err
	}
	if _, err := r.cluster.Settle(ctx, append(arrived, left...), settleMoment); err != nil {
		return err
	}
	return r.removeAgain(ctx, plan.Switches)
}

// unapproved is the part of a plan that is about nodes which have not been
// looked at before; they count as looked at from then on.
func (r *run) unapproved(plan planner.NodePlan) planner.NodePlan {
	plan.Switches = slices.DeleteFunc(slices.Clone(plan.Switches), func(s planner.Switch) bool { return r.approved[s.Node.Name] })
	for _, s := range plan.Switches {
		r.approved[s.Node.Name] = true
	}
	return plan
}

func split(switches []planner.Switch) (arrivals, leavers []planner.Switch) {
	for i, s := range switches {
		if s.Leaving {
			return switches[:i], switches[i:]
		}
	}
	return switches, nil
}

// switchAll writes the taints of several nodes.
func switchAll(ctx context.Context, cluster *kube.Cluster, desired planner.NodeTaints, switches []planner.Switch) ([]*snapshot.Node, error) {
	names := make([]string, len(switches))
	for i, s := range switches {
		names[i] = s.Node.Name
	}
	return writeAll(ctx, names, func(name string) (*snapshot.Node, error) { return switchOne(ctx, cluster, desired, name) })
}

// writeAll writes several nodes in parallel. All that were begun are finished before
// it returns the first error in the nodes' order.
func writeAll(ctx context.Context, names []string, write func(name string) (*snapshot.Node, error)) ([]*snapshot.Node, error) {
	written := make([]*snapshot.Node, len(names))
	errs := make([]error, len(names))
	slots := semaphore.NewWeighted(parallelWrites)
	var wg sync.WaitGroup
	for i, name := range names {
		if slots.Acquire(ctx, 1) != nil {
			break
		}
		wg.Go(func() {
			defer slots.Release(1)
			written[i], errs[i] = write(name)
		})
	}
	wg.Wait()
	out := make([]*snapshot.Node, 0, len(written))
	for i := range names {
		if errs[i] != nil {
			return nil, errs[i]
		}
		if written[i] != nil {
			out = append(out, written[i])
		}
	}
	return out, context.Cause(ctx)
}

// switchOne merges again from the node as it is read for the write: what the
// plan saw may be old. A node that is gone has nothing left to change.
func switchOne(ctx context.Context, cluster *kube.Cluster, desired planner.NodeTaints, name string) (*snapshot.Node, error) {
	node, err := cluster.EditNode(ctx, name, func(n *snapshot.Node) (*kube.NodeEdit, error) {
		merged := planner.MergeNode(n, desired)
		if refusals := planner.Refuse(n, merged, desired); len(refusals) > 0 {
			return nil, &RefusedError{Refusals: refusals}
		}
		if !merged.Changed {
			return nil, nil
		}
		return &kube.NodeEdit{Taints: merged.Taints, Record: merged.Record}, nil
	})
	if errors.Is(err, kube.ErrNotFound) {
		return nil, nil
	}
	if err == nil {
		logger(ctx).DebugContext(ctx, "node taints are in sync", "node", name)
	}
	return node, err
}
