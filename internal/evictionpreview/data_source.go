// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package evictionpreview

import (
	"context"
	"fmt"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework-validators/datasourcevalidator"
	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/fw"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
)

var (
	_ datasource.DataSource                     = (*preview)(nil)
	_ datasource.DataSourceWithConfigure        = (*preview)(nil)
	_ datasource.DataSourceWithConfigValidators = (*preview)(nil)
	_ datasource.DataSourceWithValidateConfig   = (*preview)(nil)
)

const typeName = "kubetaint_eviction_preview"

type preview struct {
	fw.DataSource
}

// NewDataSource returns the data source.
func NewDataSource() datasource.DataSource {
	return &preview{}
}

// Metadata names the data source.
func (*preview) Metadata(_ context.Context, _ datasource.MetadataRequest, resp *datasource.MetadataResponse) {
	resp.TypeName = typeName
}

// ConfigValidators reports which attributes go together.
func (*preview) ConfigValidators(context.Context) []datasource.ConfigValidator {
	return []datasource.ConfigValidator{
		datasourcevalidator.ExactlyOneOf(path.MatchRoot("node_name"), path.MatchRoot("node_selector"), path.MatchRoot("machine_sets")),
		datasourcevalidator.AtLeastOneOf(path.MatchRoot("taints"), path.MatchRoot("absent_taints")),
	}
}

// ValidateConfig refuses taints that are wanted both ways.
func (*preview) ValidateConfig(ctx context.Context, req datasource.ValidateConfigRequest, resp *datasource.ValidateConfigResponse) {
	var m model
	resp.Diagnostics.Append(req.Config.Get(ctx, &m)...)
	if in, known := fw.MachineSetsOf(ctx, m.MachineSets, &resp.Diagnostics); known {
		fw.RefuseRolloutParameters(ctx, path.Root("machine_sets").AtName("rollout"), in.Rollout, &resp.Diagnostics)
	}
	fw.RefuseOverlap(m.Taints, m.AbsentTaints, path.Root("absent_taints"), &resp.Diagnostics)
}

// Read imagines the change on the cluster as it is now.
func (d *preview) Read(ctx context.Context, req datasource.ReadRequest, resp *datasource.ReadResponse) {
	defer func() { d.Data.DistinguishReads(&resp.Diagnostics) }()
	var m model
	resp.Diagnostics.Append(req.Config.Get(ctx, &m)...)
	if resp.Diagnostics.HasError() {
		return
	}
	taints, _ := fw.Taints(ctx, m.Taints, &resp.Diagnostics)
	absent, _ := fw.Absent(ctx, m.AbsentTaints, &resp.Diagnostics)
	change := whatIf{target: m.target(&resp.Diagnostics), fleet: m.fleet(ctx, &resp.Diagnostics), taints: taints, absent: absent, added: m.added(ctx, &resp.Diagnostics)}
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
		fw.UnableToRead(typeName, err, &resp.Diagnostics)
		return
	}
	change = change.inGroups(snapshot)
	if change.fleet != nil {
		sets := observe(ctx, cluster, &resp.Diagnostics)
		if resp.Diagnostics.HasError() {
			return
		}
		change = change.imagine(snapshot, sets, d.Data.Comparison, int(d.Data.MaxConcurrentRollouts)).strange(snapshot)
	} else {
		change = change.evaluate(snapshot, d.Data.Comparison)
	}
	change.remark(&resp.Diagnostics)
	if resp.Diagnostics.HasError() {
		return
	}
	m.take(change)
	resp.Diagnostics.Append(resp.State.Set(ctx, &m)...)
}

// remark reports what makes the preview worth less than it looks.
func (w whatIf) remark(diags *diag.Diagnostics) {
	if w.fleet != nil {
		w.fleet.remark(w.nothing(), diags)
	}
	switch {
	case w.fleet != nil, w.matched > 0:
	case w.target.Selector == nil:
		diags.AddAttributeError(path.Root("node_name"), fmt.Sprintf("Unable to preview node %q", w.target.Name),
			"The cluster has no node of this name. Check the name (kubectl get nodes). If this apply makes the node, add depends_on to the data source.")
		return
	default:
		diags.AddAttributeWarning(path.Root("node_selector"), w.nothing(),
			"The preview is empty. Check the selector (kubectl get nodes --show-labels).")
	}
	for _, name := range w.strangers {
		diags.AddAttributeWarning(path.Root("added_tolerations"), "No pod belongs to "+name,
			"The tolerations that are added to it change nothing in this preview. Check kind, namespace and name: pods are counted by Deployment rather than by ReplicaSet, and by CronJob rather than by Job.")
	}
	if len(w.report.Gaps) > 0 {
		diags.AddWarning("The preview is not complete: "+w.subject().String(), " "+strings.Join(w.report.Gaps, ".\n ")+".")
	}
}
