// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package rollout

import (
	"context"
	"errors"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/kube"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/machineset"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/planner"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/workload"
)

// fromMachines removes the taints that nodes give up from their Machines. It comes before the nodes are
// written: a run after a kill finds them by the records of the nodes. Another resource may have begun to
// own one in the MachineSet since the plan, so these are read again first. Errors: *RevertedError, those of
// kube.
func (r *run) fromMachines(ctx context.Context, switches []planner.Switch) error {
	switches = slices.DeleteFunc(slices.Clone(switches), func(s planner.Switch) bool { return len(s.FromMachine) == 0 })
	if len(switches) == 0 {
		return nil
	}
	byKey, names, read := map[string]planner.Switch{}, []string(nil), map[types.UID]bool{}
	for _, s := range switches {
		byKey[s.Machine.Key()], names = s, append(names, s.Machine.Key())
		if read[s.Machine.Set] {
			continue
		}
		read[s.Machine.Set] = true
		// The nodes are merged with what is found here.
		desired, err := rereadSet(ctx, r.cluster, *r.change.Nodes, s.Machine)
		if err != nil {
			return err
		}
		r.change.Nodes = &desired
	}
	if _, err := writeAll(ctx, names, func(key string) (*snapshot.Node, error) {
		return nil, fromMachine(ctx, r.cluster, *r.change.Nodes, byKey[key])
	}); err != nil {
		return err
	}
	hear(ctx)
	return context.Cause(ctx)
}

// rereadSet returns a change with the MachineSet of a Machine as it is now.
func rereadSet(ctx context.Context, cluster *kube.Cluster, desired planner.NodeTaints, machine *machineset.Machine) (planner.NodeTaints, error) {
	known := desired.Sets[machine.Set]
	if known == nil {
		return desired, nil
	}
	now, err := cluster.RereadSet(ctx, known)
	if err = ignore(err, kube.ErrNotFound); err != nil {
		return desired, err
	}
	return desired.WithSet(known, now), nil
}

// fromMachine removes taints from one Machine. One that is gone, or recreated under its name, has none
// of them for this node.
func fromMachine(ctx context.Context, cluster *kube.Cluster, desired planner.NodeTaints, s planner.Switch) error {
	machine := s.Machine
	for range maxConflicts {
		left := planner.Without(machine.Taints, desired.WithoutOwner(s.Node, s.FromMachine))
		if len(left) == len(machine.Taints) {
			return nil
		}
		err := cluster.PatchMachineTaints(ctx, machine, left)
		if !errors.Is(err, kube.ErrConflict) {
			return ignore(err, kube.ErrNotFound)
		}
		if desired, err = rereadSet(ctx, cluster, desired, machine); err != nil {
			return err
		}
		if machine, err = rereadMachine(ctx, cluster, machine); err != nil || machine == nil {
			return err
		}
	}
	return busyAbout(nil, machineset.Intent{Machine: machine})
}

// rereadMachine returns a Machine as it is now, nil for one that is gone or has another node.
func rereadMachine(ctx context.Context, cluster *kube.Cluster, machine *machineset.Machine) (*machineset.Machine, error) {
	if err := cluster.RereadMachine(ctx, machine.Key()); err != nil {
		return nil, err
	}
	machines, err := cluster.Machines(ctx)
	if err != nil {
		return nil, err
	}
	now, there := machines[machine.Key()]
	if !there || now.UID != machine.UID || now.Node != machine.Node {
		return nil, nil
	}
	return now, nil
}

// removeAgain removes from nodes what nodelink has restored there because it had not yet heard of the
// change of the Machine. Errors: *RevertedError, those of kube.
func (r *run) removeAgain(ctx context.Context, switches []planner.Switch) error {
	byNode, names := map[string]planner.Switch{}, []string(nil)
	for _, s := range switches {
		if s.FromMachine = r.change.Nodes.WithoutOwner(s.Node, s.FromMachine); len(s.FromMachine) > 0 {
			byNode[s.Node.Name], names = s, append(names, s.Node.Name)
		}
	}
	for range maxRounds {
		again, err := writeAll(ctx, names, func(name string) (*snapshot.Node, error) { return removeRestored(ctx, r.cluster, byNode[name]) })
		if err != nil || len(again) == 0 {
			return err
		}
		if _, err := r.cluster.Settle(ctx, again, settleMoment); err != nil {
			return err
		}
	}
	return &RevertedError{Thing: workload.Ref{Kind: "Node", Name: names[0]}}
}

// removeRestored removes taints from a node. One that its record or its Machine has by now is another
// writer's, and stays. It returns the node as it was written, nil where nothing was.
func removeRestored(ctx context.Context, cluster *kube.Cluster, s planner.Switch) (*snapshot.Node, error) {
	known, there := cluster.Node(s.Node.Name)
	if !there || len(restored(known, s.FromMachine)) == 0 {
		return nil, nil
	}
	machine, err := rereadMachine(ctx, cluster, s.Machine)
	if err != nil || machine == nil {
		return nil, err
	}
	wrote := false
	node, err := cluster.EditNode(ctx, s.Node.Name, func(n *snapshot.Node) (*kube.NodeEdit, error) {
		gone := slices.DeleteFunc(restored(n, s.FromMachine), func(id taint.ID) bool { return taint.Find(machine.Taints, id) >= 0 })
		if wrote = len(gone) > 0; !wrote {
			return nil, nil
		}
		return &kube.NodeEdit{Taints: planner.Without(n.Taints, gone), Unrecorded: true}, nil
	})
	if err != nil || !wrote {
		return nil, ignore(err, kube.ErrNotFound)
	}
	return node, nil
}

// restored returns those of some taints that a node has without an owner.
func restored(n *snapshot.Node, ids []taint.ID) []taint.ID {
	return slices.DeleteFunc(slices.Clone(ids), func(id taint.ID) bool {
		_, owned := n.Record.Of(id)
		return owned || taint.Find(n.Taints, id) < 0
	})
}
