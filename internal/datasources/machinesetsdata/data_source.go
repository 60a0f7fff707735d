// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package machinesetsdata

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/kube"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/machineset"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/tf/managed"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/tf/message"
	tfschema "github.com/kubetaint/terraform-provider-kubetaint/internal/tf/schema"
)

var (
	_ datasource.DataSource              = (*machineSets)(nil)
	_ datasource.DataSourceWithConfigure = (*machineSets)(nil)
)

const typeName = "kubetaint_machine_sets"

type machineSets struct {
	managed.DataSource
}

// NewDataSource returns the data source.
func NewDataSource() datasource.DataSource {
	return &machineSets{managed.DataSource{TypeName: typeName}}
}

// Read lists the MachineSets.
func (d *machineSets) Read(ctx context.Context, req datasource.ReadRequest, resp *datasource.ReadResponse) {
	managed.Read(ctx, &d.DataSource, req, resp, d.fill)
}

func (*machineSets) fill(ctx context.Context, cluster *kube.Cluster, m *model, diags *diag.Diagnostics) error {
	selector, err := labels.Parse(m.Selector.ValueString())
	if err != nil {
		diags.Append(tfschema.NoSelector(path.Root("selector"), m.Selector.ValueString(), err))
		return nil
	}
	all, err := cluster.FreshMachineSets(ctx)
	if err != nil {
		return err
	}
	slices.SortFunc(all, func(a, b machineset.Observed) int { return strings.Compare(a.Set.Key(), b.Set.Key()) })
	m.MachineSets = []setModel{}
	for _, o := range all {
		if o.Set.Namespace == cmp.Or(m.Namespace.ValueString(), message.MachineAPINamespace) && selector.Matches(labels.Set(o.Set.Labels)) {
			m.MachineSets = append(m.MachineSets, fromObserved(o))
			warnDamaged(o.Set, diags)
		}
	}
	return nil
}

// warnDamaged reports which annotations of a MachineSet cannot be read.
func warnDamaged(s *machineset.Set, diags *diag.Diagnostics) {
	if s.RecordErr != nil {
		diags.AddWarning("Unable to determine who owns the taints of "+s.Title(),
			"The record of owned taints on the MachineSet is damaged, so owner is null for all of its taints. The annotation was edited; repair it or remove it.\n\nOriginal error: "+s.RecordErr.Error())
	}
	if s.MarkerErr != nil {
		diags.AddWarning("Unable to determine whether a rollout of "+s.Title()+" is running",
			fmt.Sprintf("The annotation that records it is damaged, so rollout is null. It may hold the number of replicas, which is %d now: read it before you remove it.\n\nOriginal error: %s", s.Replicas, s.MarkerErr))
	}
}
