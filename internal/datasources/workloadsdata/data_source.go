// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package workloadsdata

import (
	"context"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/datasource"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/eviction"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/tf/managed"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/tf/message"
	tfschema "github.com/kubetaint/terraform-provider-kubetaint/internal/tf/schema"
)

var (
	_ datasource.DataSource              = (*workloads)(nil)
	_ datasource.DataSourceWithConfigure = (*workloads)(nil)
)

const typeName = "kubetaint_workloads"

type workloads struct {
	managed.DataSource
}

// NewDataSource returns the data source.
func NewDataSource() datasource.DataSource {
	return &workloads{managed.DataSource{TypeName: typeName}}
}

// Read asks the running pods of all workloads.
func (d *workloads) Read(ctx context.Context, req datasource.ReadRequest, resp *datasource.ReadResponse) {
	defer func() { d.Data.DistinguishReads(&resp.Diagnostics) }()
	var m model
	resp.Diagnostics.Append(req.Config.Get(ctx, &m)...)
	if resp.Diagnostics.HasError() {
		return
	}
	taints, _ := tfschema.Taints(ctx, m.Taints, &resp.Diagnostics)
	concerns := m.concerns(ctx, &resp.Diagnostics)
	cluster := d.Data.ClusterFor(typeName, &resp.Diagnostics)
	if resp.Diagnostics.HasError() {
		return
	}
	err := cluster.Refresh(ctx)
	var snapshot *snapshot.Snapshot
	if err == nil {
		snapshot, err = cluster.Snapshot(ctx)
	}
	if err != nil {
		message.UnableToRead(typeName, err, &resp.Diagnostics)
		return
	}
	if len(snapshot.OwnerGaps) > 0 {
		resp.Diagnostics.AddWarning("The workloads that tolerate "+taint.FormatAll(taints)+" are listed by ReplicaSet or Job where their owner could not be read",
			"  "+strings.Join(snapshot.OwnerGaps, ".\n  ")+".\n\nGrant the credentials list on these: the guide \"Permissions\" of the provider's documentation has the ClusterRole.")
	}
	m.take(eviction.Answers(snapshot, taints, concerns, d.Data.Comparison))
	resp.Diagnostics.Append(resp.State.Set(ctx, &m)...)
}
