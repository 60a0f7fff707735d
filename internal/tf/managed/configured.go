// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package managed

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/resource"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/kube"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/tf/message"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/tf/session"
)

// Resource is what every resource has: what the provider block gives to it, nil before the
// provider is configured.
type Resource struct {
	Data *session.Data
	// Name is that of the resource, without the provider's. It is also in its ids.
	Name string
	// IdentityChanges is set where an update can change what identifies the resource.
	IdentityChanges bool
}

// Metadata names the resource.
func (r *Resource) Metadata(_ context.Context, req resource.MetadataRequest, resp *resource.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + "_" + r.Name
	resp.ResourceBehavior.MutableIdentity = r.IdentityChanges
}

// Configure takes the connection from the provider.
func (r *Resource) Configure(_ context.Context, req resource.ConfigureRequest, resp *resource.ConfigureResponse) {
	r.Data = session.DataFrom(req.ProviderData, &resp.Diagnostics)
}

// DataSource is what every data source has, as Resource is.
type DataSource struct {
	Data *session.Data
	// TypeName is the name with the provider's.
	TypeName string
}

// Metadata names the data source.
func (d *DataSource) Metadata(_ context.Context, _ datasource.MetadataRequest, resp *datasource.MetadataResponse) {
	resp.TypeName = d.TypeName
}

// Configure takes the connection from the provider.
func (d *DataSource) Configure(_ context.Context, req datasource.ConfigureRequest, resp *datasource.ConfigureResponse) {
	d.Data = session.DataFrom(req.ProviderData, &resp.Diagnostics)
}

// Read reads the configuration of a data source into a model, has fill ask the cluster for the rest of it, and saves it. An
// error of fill becomes a diagnostic. Nothing is saved where there is an error.
func Read[M any](ctx context.Context, d *DataSource, req datasource.ReadRequest, resp *datasource.ReadResponse, fill func(context.Context, *kube.Cluster, *M, *diag.Diagnostics) error) {
	defer func() { d.Data.DistinguishReads(&resp.Diagnostics) }()
	var m M
	resp.Diagnostics.Append(req.Config.Get(ctx, &m)...)
	if resp.Diagnostics.HasError() {
		return
	}
	cluster := d.Data.ClusterFor(d.TypeName, &resp.Diagnostics)
	if cluster == nil {
		return
	}
	if err := fill(session.Logging(ctx), cluster, &m, &resp.Diagnostics); err != nil {
		message.UnableToRead(d.TypeName, err, &resp.Diagnostics)
	}
	if !resp.Diagnostics.HasError() {
		resp.Diagnostics.Append(resp.State.Set(ctx, &m)...)
	}
}
