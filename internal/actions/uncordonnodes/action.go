// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package uncordonnodes

import (
	"context"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/action"
	"github.com/hashicorp/terraform-plugin-framework/diag"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/planner"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/rollout"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/tf/managed"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/tf/message"
	tfschema "github.com/kubetaint/terraform-provider-kubetaint/internal/tf/schema"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/tf/session"
)

var (
	_ action.ActionWithConfigValidators = (*uncordonNodes)(nil)
	_ managed.ActionModel[wanted]       = model{}
)

// defaultTimeout is enough for a thousand nodes, and for the restart of an API server.
const defaultTimeout = 5 * time.Minute

// wanted is what the model wants.
type wanted struct {
	target  planner.Target
	timeout time.Duration
}

type uncordonNodes struct {
	managed.Action[model, wanted]
}

// NewAction returns the action.
func NewAction() action.Action {
	a := &uncordonNodes{}
	a.Type, a.Name = a, "uncordon_nodes"
	return a
}

// Desired returns what the model wants; false while any of it is not known.
func (m model) Desired(_ context.Context, _ *session.Data, diags *diag.Diagnostics) (wanted, bool) {
	target, known := session.NodeTarget(m.NodeName, m.NodeSelector, diags)
	return wanted{target, tfschema.TimeoutOf(m.Timeout, defaultTimeout)}, known
}

// Run uncordons the nodes.
func (a *uncordonNodes) Run(ctx context.Context, w wanted, say func(string), diags *diag.Diagnostics) {
	target := w.target
	ctx, cancel := context.WithTimeout(ctx, w.timeout)
	defer cancel()
	// Another tool may have cordoned nodes since they were read for the plan.
	release, err := a.Data.Cluster.Follow(ctx, false)
	if err != nil {
		diags.Append(message.UnableTo("uncordon "+message.Place(target), err))
		return
	}
	defer release()
	nodes, err := a.Data.Cluster.Nodes(ctx)
	if err != nil {
		diags.Append(message.UnableTo("uncordon "+message.Place(target), err))
		return
	}
	names := target.NamesOf(nodes)
	if len(names) == 0 {
		diags.Append(message.NoNodes(target, "uncordoned"))
		return
	}
	a.warnDeleted(ctx, target, nodes, diags)
	done, err := rollout.UncordonNodes(ctx, a.Data.Cluster, rollout.Uncordon{Nodes: names, Selects: target.Matches, Progress: say})
	switch {
	case err != nil:
		diags.Append(explain(target, done, err))
	case len(done.Gone) > 0 && target.Selector == nil:
		diags.Append(message.NoNodes(target, "uncordoned"))
	default:
		say(ended(done))
	}
}
