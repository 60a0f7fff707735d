// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package machinesettaints

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/list"
	"github.com/hashicorp/terraform-plugin-framework/list/schema"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/kube"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/machineset"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/tf/managed"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/tf/message"
	tfschema "github.com/kubetaint/terraform-provider-kubetaint/internal/tf/schema"
)

var _ list.ListResourceWithConfigure = (*machineSetTaints)(nil)

// NewListResource returns the list resource.
func NewListResource() list.ListResource {
	return newMachineSetTaints()
}

// listModel is what a list block asks for.
type listModel struct {
	Namespace     types.String `tfsdk:"namespace"`
	Selector      types.String `tfsdk:"selector"`
	UnmanagedOnly types.Bool   `tfsdk:"unmanaged_only"`
}

// ListResourceConfigSchema describes the list resource.
func (*machineSetTaints) ListResourceConfigSchema(_ context.Context, _ list.ListResourceSchemaRequest, resp *list.ListResourceSchemaResponse) {
	resp.Schema = schema.Schema{
		MarkdownDescription: "Taints in the templates of OpenShift MachineSets, for `terraform query`. There is one result for each MachineSet and owner, and one for the taints without an owner. Taints of controllers are omitted.",
		Attributes: map[string]schema.Attribute{
			"namespace": schema.StringAttribute{
				Optional:            true,
				MarkdownDescription: "Namespace of the MachineSets. Default: `" + message.MachineAPINamespace + "`.",
				Validators:          []validator.String{stringvalidator.LengthBetween(1, 63)},
			},
			"selector": schema.StringAttribute{
				Optional:            true,
				MarkdownDescription: "Label selector of the MachineSets. Default: all of the namespace.",
				Validators:          []validator.String{tfschema.Selector()},
			},
			"unmanaged_only": managed.UnmanagedOnlyAttribute(),
		},
	}
}

// List finds taints in templates.
func (r *machineSetTaints) List(ctx context.Context, req list.ListRequest, stream *list.ListResultsStream) {
	var diags diag.Diagnostics
	all := r.list(ctx, req, &diags)
	*stream = *managed.Stream(ctx, req, all, diags)
}

func (r *machineSetTaints) list(ctx context.Context, req list.ListRequest, diags *diag.Diagnostics) []managed.Listed {
	var config listModel
	selector, cluster, ok := managed.Selected(ctx, r.Data, req, &config, &config.Selector, diags)
	if !ok {
		return nil
	}
	sets, err := r.Data.Cluster.MachineSets(ctx)
	if errors.Is(err, kube.ErrNoMachineAPI) {
		diags.Append(message.NoMachineAPI(err))
		return nil
	}
	if err != nil {
		diags.Append(message.UnableTo("list taints of MachineSets", err))
		return nil
	}
	namespace := cmp.Or(config.Namespace.ValueString(), message.MachineAPINamespace)
	slices.SortFunc(sets, func(a, b machineset.Observed) int { return strings.Compare(a.Set.Key(), b.Set.Key()) })
	var out []managed.Listed
	for _, o := range sets {
		if o.Set.Namespace != namespace || !selector.Matches(labels.Set(o.Set.Labels)) {
			continue
		}
		for _, owned := range taint.ByOwner(o.Set.Taints, o.Set.Record) {
			if owned.Owner == "" || !config.UnmanagedOnly.ValueBool() {
				out = append(out, r.listed(ctx, o, owned, cluster, diags))
			}
		}
	}
	return out
}

// listed is what an import of these taints would give.
func (r *machineSetTaints) listed(ctx context.Context, o machineset.Observed, owned taint.Owned, cluster string, diags *diag.Diagnostics) managed.Listed {
	m := importedModel()
	m.Namespace, m.Name = types.StringValue(o.Set.Namespace), types.StringValue(o.Set.Name)
	t, _ := m.targets(diags)
	found := inspect([]machineset.Observed{o}, t, taint.IDs(owned.Taints), diags)
	m, desired := r.imported(ctx, m, found, found.owned(cluster), diags)
	m.noteDrift(ctx, []machineset.Observed{o}, desired, diags)
	return managed.Listed{DisplayName: o.Set.Key() + ": " + taint.FormatAll(owned.Taints), Identity: m.Identity(ctx, diags), Resource: m}
}
