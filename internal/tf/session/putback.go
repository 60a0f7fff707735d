// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package session

import (
	"context"
	"errors"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/kube"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/machineset"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/planner"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
)

// WithMachines adds OpenShift's Machines to changes of nodes, where any of these has one and it
// matters, and their MachineSets where a taint is given up. Credentials without permission for them can
// remove entries all the same, and the plan warns; only with it can a plan keep taints away from nodes,
// and an apply do what was planned with it.
func (d *Data) WithMachines(ctx context.Context, nodes []*snapshot.Node, taints planner.NodeTaints, labels planner.NodeLabels) (planner.NodeTaints, planner.NodeLabels, error) {
	if !planner.NeedMachines(nodes, taints, labels) {
		return taints, labels, nil
	}
	machines, err := d.Cluster.Machines(ctx)
	if errors.Is(err, kube.ErrForbidden) && !taints.MachinesPlanned && (len(taints.Claim.Absent) == 0 || taints.Claim.Release) {
		taints.MachinesUnread = true
		return taints, labels, nil
	}
	taints.Machines, labels.Machines = machines, machines
	if err == nil && planner.NeedSets(nodes, taints) {
		taints, err = d.withSets(ctx, taints)
	}
	return taints, labels, err
}

// withSets adds the MachineSets, whose records may name owners of taints.
func (d *Data) withSets(ctx context.Context, taints planner.NodeTaints) (planner.NodeTaints, error) {
	sets, err := d.Cluster.MachineSets(ctx)
	switch {
	case errors.Is(err, kube.ErrForbidden) && !taints.MachinesPlanned:
		taints.SetsUnread = true
		return taints, nil
	case errors.Is(err, kube.ErrNoMachineAPI):
		return taints, nil
	}
	if err != nil {
		return taints, err
	}
	taints.Sets = make(map[types.UID]*machineset.Set, len(sets))
	for _, o := range sets {
		taints.Sets[o.Set.UID] = o.Set
	}
	return taints, nil
}
