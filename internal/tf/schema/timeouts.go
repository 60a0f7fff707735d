// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package tfschema

import (
	"context"
	"time"

	"github.com/hashicorp/terraform-plugin-framework-timeouts/resource/timeouts"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
)

// TimeoutsAttribute is the timeouts attribute of a resource, with what its parts mean
// there. The module describes the parts and not the whole.
func TimeoutsAttribute(ctx context.Context, create, update, destroy string) schema.Attribute {
	attribute := timeouts.Attributes(ctx, timeouts.Opts{
		Create: true, Update: true, Delete: true,
		CreateDescription: create, UpdateDescription: update, DeleteDescription: destroy,
	})
	if nested, ok := attribute.(schema.SingleNestedAttribute); ok {
		nested.MarkdownDescription = "How long operations may take, such as `90s`, `10m` or `1h30m`."
		nested.Validators = timeoutsValidators
		attribute = nested
	}
	return attribute
}

// Timeout returns how long a create, an update or a delete may take, usual where nothing is said.
func Timeout(ctx context.Context, of timeouts.Value, verb string, usual time.Duration, diags *diag.Diagnostics) time.Duration {
	ask := map[string]func(context.Context, time.Duration) (time.Duration, diag.Diagnostics){"create": of.Create, "update": of.Update, "delete": of.Delete}[verb]
	timeout, found := ask(ctx, usual)
	diags.Append(found...)
	return timeout
}
