// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package nodetaints

import (
	"context"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/list"
	"github.com/hashicorp/terraform-plugin-framework/list/schema"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/planner"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/tf/managed"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/tf/message"
	tfschema "github.com/kubetaint/terraform-provider-kubetaint/internal/tf/schema"
)

var _ list.ListResourceWithConfigure = (*nodeTaints)(nil)

// NewListResource returns the list resource.
func NewListResource() list.ListResource {
	return newNodeTaints()
}

// listModel is what a list block asks for.
type listModel struct {
	Selector      types.String `tfsdk:"selector"`
	UnmanagedOnly types.Bool   `tfsdk:"unmanaged_only"`
}

// ListResourceConfigSchema describes the list resource.
func (*nodeTaints) ListResourceConfigSchema(_ context.Context, _ list.ListResourceSchemaRequest, resp *list.ListResourceSchemaResponse) {
	resp.Schema = schema.Schema{
		MarkdownDescription: "Taints of nodes, for `terraform query`: one result for each node and owner, and one for the taints without an owner. Taints of controllers are omitted. So are taints of a node's OpenShift Machine, which are managed in its MachineSet.",
		Attributes: map[string]schema.Attribute{
			"selector": schema.StringAttribute{
				Optional:            true,
				MarkdownDescription: "Label selector of the nodes. Default: all nodes.",
				Validators:          []validator.String{tfschema.Selector()},
			},
			"unmanaged_only": managed.UnmanagedOnlyAttribute(),
		},
	}
}

// List finds taints on nodes.
func (r *nodeTaints) List(ctx context.Context, req list.ListRequest, stream *list.ListResultsStream) {
	var diags diag.Diagnostics
	all := r.list(ctx, req, &diags)
	*stream = *managed.Stream(ctx, req, all, diags)
}

func (r *nodeTaints) list(ctx context.Context, req list.ListRequest, diags *diag.Diagnostics) []managed.Listed {
	var config listModel
	selector, cluster, ok := managed.Selected(ctx, r.Data, req, &config, &config.Selector, diags)
	if !ok {
		return nil
	}
	nodes, machines, err := r.listable(ctx, selector)
	if err != nil {
		diags.Append(message.UnableTo("list taints of nodes", err))
		return nil
	}
	var out []managed.Listed
	for _, n := range nodes {
		own := slices.DeleteFunc(slices.Clone(n.Taints), func(t corev1.Taint) bool { return machines.HasTaint(n, taint.IDOf(t)) })
		for _, owned := range taint.ByOwner(own, n.Record) {
			if owned.Owner == "" || !config.UnmanagedOnly.ValueBool() {
				out = append(out, r.listed(ctx, n, owned, cluster, diags))
			}
		}
	}
	return out
}

// listable are the nodes that match, by name, and the taints of their Machines: these
// are asked for only where a node has one.
func (r *nodeTaints) listable(ctx context.Context, selector labels.Selector) ([]*snapshot.Node, planner.Machines, error) {
	all, err := r.Data.Cluster.Nodes(ctx)
	if err != nil {
		return nil, nil, err
	}
	nodes := slices.DeleteFunc(all, func(n *snapshot.Node) bool { return !selector.Matches(labels.Set(n.Labels)) })
	slices.SortFunc(nodes, func(a, b *snapshot.Node) int { return strings.Compare(a.Name, b.Name) })
	if !slices.ContainsFunc(nodes, func(n *snapshot.Node) bool { return n.Machine != "" }) {
		return nodes, nil, nil
	}
	machines, err := r.Data.Cluster.Machines(ctx)
	return nodes, machines, err
}

// listed is what an import of these taints would give.
func (r *nodeTaints) listed(ctx context.Context, n *snapshot.Node, owned taint.Owned, cluster string, diags *diag.Diagnostics) managed.Listed {
	target := planner.Target{Name: n.Name}
	found, _ := managed.InspectTaints([]*snapshot.Node{n}, target, taint.IDs(owned.Taints), diags)
	m, _ := r.imported(ctx, cluster, target, found, diags)
	return managed.Listed{DisplayName: n.Name + ": " + taint.FormatAll(owned.Taints), Identity: m.Identity(ctx, diags), Resource: m}
}
