// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package evictionpreview

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework-validators/datasourcevalidator"
	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/kube"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/machineset"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/preview"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/rollout"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/tf/managed"
	tfschema "github.com/kubetaint/terraform-provider-kubetaint/internal/tf/schema"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/tf/session"
)

var (
	_ datasource.DataSource                     = (*dataSource)(nil)
	_ datasource.DataSourceWithConfigure        = (*dataSource)(nil)
	_ datasource.DataSourceWithConfigValidators = (*dataSource)(nil)
	_ datasource.DataSourceWithValidateConfig   = (*dataSource)(nil)
)

const typeName = "kubetaint_eviction_preview"

type dataSource struct {
	managed.DataSource
}

// NewDataSource returns the data source.
func NewDataSource() datasource.DataSource {
	return &dataSource{managed.DataSource{TypeName: typeName}}
}

// ConfigValidators reports which attributes go together.
func (*dataSource) ConfigValidators(context.Context) []datasource.ConfigValidator {
	return []datasource.ConfigValidator{
		datasourcevalidator.ExactlyOneOf(path.MatchRoot("node_name"), path.MatchRoot("node_selector"), path.MatchRoot("machine_sets")),
		datasourcevalidator.AtLeastOneOf(path.MatchRoot("taints"), path.MatchRoot("absent_taints")),
	}
}

// ValidateConfig refuses taints that are wanted both ways.
func (*dataSource) ValidateConfig(ctx context.Context, req datasource.ValidateConfigRequest, resp *datasource.ValidateConfigResponse) {
	var m model
	resp.Diagnostics.Append(req.Config.Get(ctx, &m)...)
	if in, known := tfschema.MachineSetsOf(ctx, m.MachineSets, &resp.Diagnostics); known {
		tfschema.RefuseRolloutParameters(ctx, path.Root("machine_sets").AtName("rollout"), in.Rollout, &resp.Diagnostics)
	}
	tfschema.RefuseOverlap(m.Taints, m.AbsentTaints, path.Root("absent_taints"), &resp.Diagnostics)
}

// Read reads the cluster.
func (d *dataSource) Read(ctx context.Context, req datasource.ReadRequest, resp *datasource.ReadResponse) {
	managed.Read(ctx, &d.DataSource, req, resp, d.fill)
}

// fill imagines the change on the cluster as it is now.
func (d *dataSource) fill(ctx context.Context, cluster *kube.Cluster, m *model, diags *diag.Diagnostics) error {
	taints, _ := tfschema.Taints(ctx, m.Taints, diags)
	absent, _ := tfschema.Absent(ctx, m.AbsentTaints, diags)
	target, _ := session.NodeTarget(m.NodeName, m.NodeSelector, diags)
	change := preview.WhatIf{Target: target, MachineSets: m.machineSets(ctx, diags), Taints: taints, Absent: absent, Added: m.added(ctx, diags)}
	if diags.HasError() {
		return nil
	}
	snapshot, err := cluster.FreshSnapshot(ctx)
	if err != nil {
		return err
	}
	var sets []machineset.Observed
	if change.MachineSets != nil {
		if sets, err = cluster.FreshMachineSets(ctx); err != nil {
			return err
		}
	}
	change, err = change.Judge(ctx, cluster, snapshot, sets, d.Data.Comparison, int(d.Data.MaxConcurrentRollouts))
	if err != nil {
		return err
	}
	change.Unmodelled = rollout.Unmodelled(ctx, cluster, change.Report)
	remark(change, diags)
	m.take(change)
	return nil
}
