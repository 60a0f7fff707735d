// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package rollout

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/kube"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/planner"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
)

// Uncordon is nodes that take pods again.
type Uncordon struct {
	// Nodes are their names, in the order in which they are written.
	Nodes []string
	// Selects reports whether a node is meant: one that is recreated under the same name may not be.
	Selects func(*snapshot.Node) bool
	// Progress is told what is done with each node; a nil one is not.
	Progress func(string)
}

// Uncordoned has each node of an uncordon once.
type Uncordoned struct {
	// Written take pods again, and Already did so before. Gone are deleted, or not selected any more.
	Written, Already, Gone []string
	// Left could not be written, or their turn has not come.
	Left []string
}

// UncordonError is the error of an uncordon that ended early, after a node that could not be written.
type UncordonError struct {
	// Err ended it. Before is the error of the first node that could not be written.
	Err, Before error
}

// Error returns both.
func (e *UncordonError) Error() string {
	return e.Err.Error() + "; before that: " + e.Before.Error()
}

// Unwrap makes errors.Is work for both.
func (e *UncordonError) Unwrap() []error { return []error{e.Err, e.Before} }

// UncordonNodes lets pods in again, node after node, and removes what an interrupted drain has recorded
// there: it is given up. As kubectl uncordon does, it goes on where one node cannot be written. It ends
// where the same would happen to all nodes that are left. The error is what ended it, and otherwise that of
// the first node that could not be written; an UncordonError has both.
func UncordonNodes(ctx context.Context, cluster *kube.Cluster, u Uncordon) (Uncordoned, error) {
	var out Uncordoned
	var first error
	for i, name := range u.Nodes {
		err := u.one(ctx, cluster, name, &out)
		if err == nil {
			continue
		}
		if ctx.Err() != nil || kube.OutOfReach(err) {
			out.Left = append(out.Left, u.Nodes[i:]...)
			u.say("the uncordon ends at node %s: %s", name, err)
			if first != nil {
				err = &UncordonError{Err: err, Before: first}
			}
			return out, err
		}
		out.Left = append(out.Left, name)
		first = cmp.Or(first, err)
		u.say("node %s could not be uncordoned: %s", name, err)
	}
	return out, first
}

// one uncordons a node. Its cordon and its record go in one write: a process that is killed leaves both
// or none.
func (u Uncordon) one(ctx context.Context, cluster *kube.Cluster, name string, out *Uncordoned) error {
	var meant, cordoned, recorded bool
	_, err := cluster.EditNode(ctx, name, func(n *snapshot.Node) (*kube.NodeEdit, error) {
		if meant = u.Selects(n); !meant || !planner.Uncordons(n) {
			return nil, nil
		}
		cordoned, recorded = n.Unschedulable, n.Awaited != ""
		return &kube.NodeEdit{Uncordon: true}, nil
	})
	switch {
	case errors.Is(err, kube.ErrNotFound):
		out.Gone = append(out.Gone, name)
		u.say("node %s is deleted", name)
		return nil
	case err != nil:
		return err
	case !meant:
		out.Gone = append(out.Gone, name)
		u.say("node %s is not selected any more", name)
		return nil
	case cordoned:
		out.Written = append(out.Written, name)
		u.say("node %s is uncordoned%s", name, forgotten(recorded))
	default:
		out.Already = append(out.Already, name)
		u.say("node %s takes pods already%s", name, forgotten(recorded))
	}
	logger(ctx).DebugContext(ctx, "node is uncordoned", "node", name)
	return nil
}

// forgotten words that the record of an interrupted drain is removed.
func forgotten(recorded bool) string {
	if !recorded {
		return ""
	}
	return ", and the record of its interrupted drain is removed"
}

func (u Uncordon) say(format string, args ...any) {
	if u.Progress != nil {
		u.Progress(fmt.Sprintf(format, args...))
	}
}
