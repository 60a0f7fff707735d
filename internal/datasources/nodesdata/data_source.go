// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package nodesdata

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/kube"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/tf/managed"
	tfschema "github.com/kubetaint/terraform-provider-kubetaint/internal/tf/schema"
)

var (
	_ datasource.DataSource              = (*nodes)(nil)
	_ datasource.DataSourceWithConfigure = (*nodes)(nil)
)

const typeName = "kubetaint_nodes"

type nodes struct {
	managed.DataSource
}

// NewDataSource returns the data source.
func NewDataSource() datasource.DataSource {
	return &nodes{managed.DataSource{TypeName: typeName}}
}

// Read lists the nodes.
func (d *nodes) Read(ctx context.Context, req datasource.ReadRequest, resp *datasource.ReadResponse) {
	managed.Read(ctx, &d.DataSource, req, resp, d.fill)
}

func (*nodes) fill(ctx context.Context, cluster *kube.Cluster, m *model, diags *diag.Diagnostics) error {
	selector, err := labels.Parse(m.Selector.ValueString())
	if err != nil {
		diags.Append(tfschema.NoSelector(path.Root("selector"), m.Selector.ValueString(), err))
		return nil
	}
	if err := cluster.Refresh(ctx); err != nil {
		return err
	}
	all, err := cluster.Nodes(ctx)
	if err != nil {
		return err
	}
	slices.SortFunc(all, func(a, b *snapshot.Node) int { return strings.Compare(a.Name, b.Name) })
	m.Nodes = []nodeModel{}
	for _, n := range pick(all, selector, m.Taint) {
		m.Nodes = append(m.Nodes, fromNode(n))
		if n.RecordErr != nil {
			diags.AddWarning(fmt.Sprintf("Unable to determine who owns the taints of node %q", n.Name),
				"The record of owned taints on the node is damaged, so owner is null for all of its taints. The annotation was edited; repair it or remove it.\n\nOriginal error: "+n.RecordErr.Error())
		}
	}
	return nil
}
