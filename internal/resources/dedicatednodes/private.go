// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package dedicatednodes

import (
	"github.com/hashicorp/terraform-plugin-framework/diag"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/kube"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/tf/managed"
)

// recovered finds out again what a private state held that is lost.
func recovered(own ownership, desired wanted, observed observation, marked []kube.Marked, diags *diag.Diagnostics) ownership {
	own = own.Recover(func() string {
		return observed.generations(desired.owner()).One("Neither a node, a MachineSet nor a workload", diags)
	})
	// The update may have left what the state does not name.
	own.Drifted = true
	marks, lists := own.Find(desired.owner(), own.HeldSeal()), own.Find(desired.owner(), own.ListSeal())
	marks.Nodes(observed.nodes)
	marks.Sets(observed.sets)
	for _, s := range observed.members {
		lists.Lists(s.workload.Grouped(), s.workload.Record, s.workload.LabelRecord)
	}
	ids, target := taint.IDs(desired.nodes.Claim.Taints), desired.nodes.Target
	if target.MachineSets != nil {
		own = own.TookUnmarked(marks.UnmarkedInSets(*target.MachineSets, observed.sets, ids))
	} else {
		own = own.TookUnmarked(marks.Unmarked(target, observed.nodes, ids))
	}
	for _, m := range marked {
		// An update may have left others, which the configuration does not name any more.
		lists.Lists(m.Grouped(), m.Record, m.Pins)
	}
	return own.See(marks.Held, lists.Held)
}

// generations are those of all marks of an id.
func (o observation) generations(id string) *managed.Generations {
	found := managed.GenerationsOf(id)
	for name, p := range o.policies {
		if p != nil && p.Err == nil {
			found.Note("policy "+name, p.Owner, p.Generation)
		}
	}
	for _, s := range o.members {
		for _, mark := range s.workload.Record {
			found.Note(s.Title(), mark.Owner, mark.Generation)
		}
		for _, mark := range s.workload.LabelRecord {
			found.Note(s.Title(), mark.Owner, mark.Generation)
		}
	}
	for _, n := range o.nodes {
		for _, mark := range n.LabelRecord {
			found.Note("node "+n.Name, mark.Owner, mark.Generation)
		}
		for _, mark := range n.Record {
			found.Note("node "+n.Name, mark.Owner, mark.Generation)
		}
	}
	for _, one := range o.sets {
		for _, mark := range one.Set.Record {
			found.Note(one.Set.Title(), mark.Owner, mark.Generation)
		}
		for _, mark := range one.Set.LabelRecord {
			found.Note(one.Set.Title(), mark.Owner, mark.Generation)
		}
	}
	return found
}
