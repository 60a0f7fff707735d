// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package provider

import (
	"context"
	"net/http"
	"os"

	"github.com/hashicorp/terraform-plugin-framework/action"
	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/function"
	"github.com/hashicorp/terraform-plugin-framework/list"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/provider"
	"github.com/hashicorp/terraform-plugin-framework/resource"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/actions/cyclemachineset"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/actions/drainnodes"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/actions/uncordonnodes"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/datasources/evictionpreview"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/datasources/machinesetsdata"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/datasources/nodesdata"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/datasources/workloadsdata"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/functions"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/kube"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/resources/dedicatednodes"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/resources/machinesettaints"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/resources/namespacetolerations"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/resources/nodetaints"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/resources/tolerationpolicy"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/resources/workloadtolerations"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/tf/session"
)

var (
	_ provider.Provider                  = (*kubetaint)(nil)
	_ provider.ProviderWithActions       = (*kubetaint)(nil)
	_ provider.ProviderWithFunctions     = (*kubetaint)(nil)
	_ provider.ProviderWithListResources = (*kubetaint)(nil)
)

// kubetaint is the provider.
type kubetaint struct {
	version string
	// lookup reads the environment; tests put their own in its place.
	lookup func(string) (string, bool)
	// transport takes the place of the network in tests, and reading of what is cheaper.
	transport http.RoundTripper
	reading   kube.Reading
	// label is that of the block, once it is configured.
	label string
}

// New returns what makes the provider. The version is told to the API server
// as a part of the user agent.
func New(version string) func() provider.Provider {
	return func() provider.Provider { return &kubetaint{version: version, lookup: os.LookupEnv} }
}

// NewWithTransport returns what makes a provider whose requests all go to a transport
// instead of the network, for tests.
func NewWithTransport(version string, transport http.RoundTripper) func() provider.Provider {
	return func() provider.Provider {
		return &kubetaint{version: version, lookup: func(string) (string, bool) { return "", false }, transport: transport}
	}
}

// Reading returns what makes the same provider with another way of reading pods, for tests.
func Reading(makes func() provider.Provider, reading kube.Reading) func() provider.Provider {
	return func() provider.Provider {
		made := makes()
		if p, is := made.(*kubetaint); is {
			p.reading = reading
		}
		return made
	}
}

// Metadata names the provider.
func (p *kubetaint) Metadata(_ context.Context, _ provider.MetadataRequest, resp *provider.MetadataResponse) {
	resp.TypeName = "kubetaint"
	resp.Version = p.version
}

// Configure makes the connection and the defaults that every resource shares.
// It sends nothing to the cluster. A connection that is not known yet, because
// the cluster is made in the same apply, is no error: resources then plan as if
// the cluster were out of reach.
func (p *kubetaint) Configure(ctx context.Context, req provider.ConfigureRequest, resp *provider.ConfigureResponse) {
	var m model
	resp.Diagnostics.Append(req.Config.Get(ctx, &m)...)
	if resp.Diagnostics.HasError() {
		return
	}
	if m.Owner.IsUnknown() {
		resp.Diagnostics.AddAttributeError(path.Root("owner"), "Unable to plan with an unknown owner",
			"The value of owner is known only after apply, and the ids of all resources begin with it: the plan could not show them. Set it to a constant, or to a variable.")
		return
	}
	data := m.data(ctx, &resp.Diagnostics)
	p.label = m.label(p.lookup)
	data.Label = p.label
	if !m.Snapshot.IsNull() {
		if p.fromSnapshot(m.Snapshot, data, &resp.Diagnostics); !resp.Diagnostics.HasError() {
			p.share(data, resp)
		}
		return
	}
	c := m.connection(ctx, p.lookup, &resp.Diagnostics)
	if resp.Diagnostics.HasError() {
		return
	}
	if c.known {
		c.config.UserAgent, c.config.Transport = "terraform-provider-kubetaint/"+p.version, p.transport
		c.config.Reading = p.reading
		cluster, err := kube.New(c.config)
		if err != nil {
			c.report(err, &resp.Diagnostics)
			return
		}
		data.Cluster = cluster
	}
	p.share(data, resp)
}

// share hands the data to everything that is registered.
func (p *kubetaint) share(data *session.Data, resp *provider.ConfigureResponse) {
	resp.ResourceData = data
	resp.DataSourceData = data
	resp.ActionData = data
	resp.ListResourceData = data
}

// Resources lists the resources.
func (p *kubetaint) Resources(context.Context) []func() resource.Resource {
	return []func() resource.Resource{
		dedicatednodes.NewResource,
		machinesettaints.NewResource,
		namespacetolerations.NewResource,
		nodetaints.NewResource,
		tolerationpolicy.NewResource,
		workloadtolerations.NewResource,
	}
}

// DataSources lists the data sources.
func (p *kubetaint) DataSources(context.Context) []func() datasource.DataSource {
	return []func() datasource.DataSource{
		evictionpreview.NewDataSource,
		machinesetsdata.NewDataSource,
		nodesdata.NewDataSource,
		workloadsdata.NewDataSource,
	}
}

// Actions lists the actions, which Terraform 1.14 and later can invoke.
func (p *kubetaint) Actions(context.Context) []func() action.Action {
	return []func() action.Action{
		cyclemachineset.NewAction,
		drainnodes.NewAction,
		uncordonnodes.NewAction,
	}
}

// ListResources lists what Terraform 1.14 and later can query.
func (p *kubetaint) ListResources(context.Context) []func() list.ListResource {
	return []func() list.ListResource{
		machinesettaints.NewListResource,
		nodetaints.NewListResource,
	}
}

// Functions lists the functions.
func (p *kubetaint) Functions(context.Context) []func() function.Function {
	return []func() function.Function{
		functions.NewFormatTaint,
		functions.NewParseTaint,
		functions.NewTolerates,
		functions.NewTolerationsFor,
		functions.NewUntolerated,
	}
}
