// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package drainnodes

import (
	"context"
	"strings"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/action"
	"github.com/hashicorp/terraform-plugin-framework/diag"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/rollout"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/tf/managed"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/tf/message"
)

var (
	_ action.ActionWithConfigValidators = (*drainNodes)(nil)
	_ managed.ActionModel[wanted]       = model{}
)

// defaultTimeout leaves pods the time that their grace periods and their PDBs ask
// for.
const defaultTimeout = 60 * time.Minute

type drainNodes struct {
	managed.Action[model, wanted]
}

// NewAction returns the action.
func NewAction() action.Action {
	a := &drainNodes{}
	a.Type, a.Name = a, "drain_nodes"
	return a
}

// Run drains the nodes.
func (a *drainNodes) Run(ctx context.Context, w wanted, say func(string), diags *diag.Diagnostics) {
	ctx, cancel := context.WithTimeout(ctx, w.timeout)
	defer cancel()
	release, err := a.Data.Cluster.Follow(ctx, true)
	if err != nil {
		diags.Append(message.UnableTo("drain "+w.place(), err))
		return
	}
	defer release()
	nodes, err := a.Data.Cluster.Nodes(ctx)
	if err != nil {
		diags.Append(message.UnableTo("drain "+w.place(), err))
		return
	}
	d := w.drain(nodes)
	if len(d.Nodes) == 0 {
		diags.Append(message.NoNodes(w.target, "drained"))
		return
	}
	d.Progress, d.Waiting = say, func(node string, pods []string) {
		say("waiting for " + message.Count(len(pods), "pod") + " of node " + node + ": " + strings.Join(shown(pods, 5), "; "))
	}
	var damaged []damagedRecord
	d.Damaged = func(node string, err error) { damaged = append(damaged, damagedRecord{node, err}) }
	_, err = rollout.Run(ctx, a.Data.Cluster, rollout.Request{Drain: &d, Limits: w.limits.Limits}, a.Data.Comparison)
	warnDamaged(damaged, diags)
	if err != nil {
		diags.Append(explain(w, d, err))
		return
	}
	say(message.Count(len(d.Nodes), "node") + " drained" + message.OfPods(w.rules.PodSelector) + " and cordoned: kubetaint_uncordon_nodes allows pods again")
}
