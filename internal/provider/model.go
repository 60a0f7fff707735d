// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package provider

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-framework/types/basetypes"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/eviction"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/tf/message"
	tfschema "github.com/kubetaint/terraform-provider-kubetaint/internal/tf/schema"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/tf/session"
)

// model is the provider block. Nested blocks are objects, because any part of
// them can be unknown while a cluster is made in the same apply.
type model struct {
	ConfigPath            types.String `tfsdk:"config_path"`
	ConfigPaths           types.List   `tfsdk:"config_paths"`
	ConfigContext         types.String `tfsdk:"config_context"`
	ConfigContextCluster  types.String `tfsdk:"config_context_cluster"`
	ConfigContextAuthInfo types.String `tfsdk:"config_context_auth_info"`

	Host                 types.String `tfsdk:"host"`
	Token                types.String `tfsdk:"token"`
	Username             types.String `tfsdk:"username"`
	Password             types.String `tfsdk:"password"`
	ClientCertificate    types.String `tfsdk:"client_certificate"`
	ClientKey            types.String `tfsdk:"client_key"`
	ClusterCACertificate types.String `tfsdk:"cluster_ca_certificate"`
	TLSServerName        types.String `tfsdk:"tls_server_name"`
	Insecure             types.Bool   `tfsdk:"insecure"`
	ProxyURL             types.String `tfsdk:"proxy_url"`
	Exec                 types.Object `tfsdk:"exec"`

	Snapshot types.String `tfsdk:"snapshot"`

	Owner                 types.String         `tfsdk:"owner"`
	Evictions             types.Object         `tfsdk:"evictions"`
	ComparisonOperators   types.Bool           `tfsdk:"comparison_operators"`
	MaxConcurrentRollouts tfschema.WholeNumber `tfsdk:"max_concurrent_rollouts"`
	Unreachable           types.String         `tfsdk:"unreachable"`
}

// execModel is the command that prints credentials.
type execModel struct {
	APIVersion types.String `tfsdk:"api_version"`
	Command    types.String `tfsdk:"command"`
	Args       types.List   `tfsdk:"args"`
	Env        types.Map    `tfsdk:"env"`
}

// data returns what resources share apart from the connection. Values that are
// not known yet count as left out: the provider is configured again at apply.
func (m model) data(ctx context.Context, diags *diag.Diagnostics) *session.Data {
	data := &session.Data{
		Owner:           defaultOwner,
		Evictions:       m.limits(ctx, diags),
		Comparison:      eviction.ComparisonUnknown,
		FailUnreachable: m.Unreachable.ValueString() == unreachableFail,
		Claims:          &session.Claims{},

		MaxConcurrentRollouts: defaultRollouts,
	}
	if n := m.MaxConcurrentRollouts; !n.IsNull() && !n.IsUnknown() {
		data.MaxConcurrentRollouts = n.ValueInt64()
	}
	if !m.Owner.IsNull() {
		data.Owner = m.Owner.ValueString()
	}
	switch {
	case m.ComparisonOperators.IsNull() || m.ComparisonOperators.IsUnknown():
	case m.ComparisonOperators.ValueBool():
		data.Comparison = eviction.ComparisonOn
	default:
		data.Comparison = eviction.ComparisonOff
	}
	return data
}

func (m model) limits(ctx context.Context, diags *diag.Diagnostics) message.Limits {
	if m.Evictions.IsNull() || m.Evictions.IsUnknown() {
		return message.Limits{}
	}
	var block *tfschema.EvictionsModel
	diags.Append(m.Evictions.As(ctx, &block, basetypes.ObjectAsOptions{})...)
	if diags.HasError() || !block.Known() {
		return message.Limits{}
	}
	limits, found := block.Limits(ctx, message.Limits{})
	diags.Append(found...)
	return limits
}
