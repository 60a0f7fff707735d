// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package managed

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/action"
	"github.com/hashicorp/terraform-plugin-framework/diag"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/tf/session"
)

// ActionModel is an action as it is in the configuration.
type ActionModel[W any] interface {
	// Desired returns what the model wants; false while any of it is not known.
	Desired(ctx context.Context, data *session.Data, diags *diag.Diagnostics) (W, bool)
}

// ActionType is what an action has of its own.
type ActionType[W any] interface {
	// Preview refuses what must not be done, and reports what the action does.
	Preview(ctx context.Context, w W, diags *diag.Diagnostics)
	// Run does it. Terraform shows what say is given while it runs.
	Run(ctx context.Context, w W, say func(string), diags *diag.Diagnostics)
}

// Action is what Terraform calls of an action. A type embeds it, and adds its schema.
type Action[M ActionModel[W], W any] struct {
	// Data is what the provider block gives to it, nil before the provider is configured.
	Data *session.Data
	// Type is what embeds it.
	Type ActionType[W]
	// Name is that of the action, without the provider's.
	Name string
}

// Metadata names the action.
func (a *Action[M, W]) Metadata(_ context.Context, req action.MetadataRequest, resp *action.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + "_" + a.Name
}

// Configure takes the connection from the provider.
func (a *Action[M, W]) Configure(_ context.Context, req action.ConfigureRequest, resp *action.ConfigureResponse) {
	a.Data = session.DataFrom(req.ProviderData, &resp.Diagnostics)
}

// ModifyPlan reports what would happen, and refuses what must not.
func (a *Action[M, W]) ModifyPlan(ctx context.Context, req action.ModifyPlanRequest, resp *action.ModifyPlanResponse) {
	defer func() { a.Data.DistinguishActions(&resp.Diagnostics) }()
	var config M
	resp.Diagnostics.Append(req.Config.Get(ctx, &config)...)
	if a.Data == nil || resp.Diagnostics.HasError() {
		return
	}
	if w, known := config.Desired(ctx, a.Data, &resp.Diagnostics); known {
		a.Type.Preview(session.Logging(ctx), w, &resp.Diagnostics)
	}
}

// Invoke runs the action.
func (a *Action[M, W]) Invoke(ctx context.Context, req action.InvokeRequest, resp *action.InvokeResponse) {
	var config M
	resp.Diagnostics.Append(req.Config.Get(ctx, &config)...)
	if resp.Diagnostics.HasError() {
		return
	}
	if _, ok := a.Data.ConnectedToWrite(ctx, "", &resp.Diagnostics); !ok {
		return
	}
	if w, known := config.Desired(ctx, a.Data, &resp.Diagnostics); known {
		a.Type.Run(session.Logging(ctx), w, func(message string) { resp.SendProgress(action.InvokeProgressEvent{Message: message}) }, &resp.Diagnostics)
	}
}
