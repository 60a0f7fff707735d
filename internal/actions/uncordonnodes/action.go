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
	_ action.Action                     = (*uncordonNodes)(nil)
	_ action.ActionWithConfigure        = (*uncordonNodes)(nil)
	_ action.ActionWithModifyPlan       = (*uncordonNodes)(nil)
	_ action.ActionWithConfigValidators = (*uncordonNodes)(nil)
)

// defaultTimeout is enough for a thousand nodes, and for the restart of an API server.
const defaultTimeout = 5 * time.Minute

type uncordonNodes struct {
	managed.Action
}

// NewAction returns the action.
func NewAction() action.Action {
	return &uncordonNodes{}
}

// Metadata names the action.
func (*uncordonNodes) Metadata(_ context.Context, req action.MetadataRequest, resp *action.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + "_uncordon_nodes"
}

// Invoke uncordons the nodes.
func (a *uncordonNodes) Invoke(ctx context.Context, req action.InvokeRequest, resp *action.InvokeResponse) {
	var config model
	resp.Diagnostics.Append(req.Config.Get(ctx, &config)...)
	if resp.Diagnostics.HasError() {
		return
	}
	if _, ok := a.Data.ConnectedToWrite(ctx, "", &resp.Diagnostics); !ok {
		return
	}
	target, known := session.NodeTarget(config.NodeName, config.NodeSelector, &resp.Diagnostics)
	if !known {
		return
	}
	say := func(message string) { resp.SendProgress(action.InvokeProgressEvent{Message: message}) }
	ctx, cancel := context.WithTimeout(ctx, tfschema.TimeoutOf(config.Timeout, defaultTimeout))
	defer cancel()
	a.uncordon(ctx, target, say, &resp.Diagnostics)
}

func (a *uncordonNodes) uncordon(ctx context.Context, target planner.Target, say func(string), diags *diag.Diagnostics) {
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
