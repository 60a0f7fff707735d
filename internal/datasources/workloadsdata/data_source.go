// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package workloadsdata

import (
	"context"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/diag"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/kube"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/preview"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/tf/managed"
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
	managed.Read(ctx, &d.DataSource, req, resp, d.fill)
}

func (d *workloads) fill(ctx context.Context, cluster *kube.Cluster, m *model, diags *diag.Diagnostics) error {
	taints, _ := tfschema.Taints(ctx, m.Taints, diags)
	concerns := m.concerns(ctx, diags)
	if diags.HasError() {
		return nil
	}
	snapshot, err := cluster.FreshSnapshot(ctx)
	if err != nil {
		return err
	}
	if len(snapshot.OwnerGaps) > 0 {
		diags.AddWarning("The workloads that tolerate "+taint.FormatAll(taints)+" are listed by ReplicaSet or Job where their owner could not be read",
			"  "+strings.Join(snapshot.OwnerGaps, ".\n  ")+".\n\nGrant the credentials list on these: the guide \"Permissions\" of the provider's documentation has the ClusterRole.")
	}
	m.Workloads = preview.Tolerances(snapshot, taints, concerns, d.Data.Comparison)
	return nil
}
