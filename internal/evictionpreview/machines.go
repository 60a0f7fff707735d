// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package evictionpreview

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework-validators/int64validator"
	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/datasource/schema"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/eviction"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/fw"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/kube"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/machineset"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
)

func machineSetsAttribute() schema.Attribute {
	return schema.SingleNestedAttribute{
		Optional:            true,
		MarkdownDescription: "MachineSets whose template changes, and their rollout. Required without `node_name` and `node_selector`.",
		Attributes: map[string]schema.Attribute{
			"namespace": schema.StringAttribute{
				Optional:            true,
				MarkdownDescription: "Namespace of the MachineSets. Default: `" + fw.MachineAPINamespace + "`.",
				Validators:          []validator.String{stringvalidator.LengthBetween(1, 63)},
			},
			"name": schema.StringAttribute{
				Optional:            true,
				MarkdownDescription: "Name of the MachineSet. Either this or `selector` is required.",
				Validators:          []validator.String{stringvalidator.LengthBetween(1, 253), stringvalidator.ExactlyOneOf(path.MatchRelative().AtParent().AtName("name"), path.MatchRelative().AtParent().AtName("selector"))},
			},
			"selector": schema.StringAttribute{
				Optional:            true,
				MarkdownDescription: "Label selector, in kubectl's syntax, of the MachineSets.",
				Validators:          []validator.String{fw.Selector()},
			},
			"rollout": schema.SingleNestedAttribute{
				Required:            true,
				MarkdownDescription: "How existing machines would get the taints.",
				Attributes: map[string]schema.Attribute{
					"strategy":        schema.StringAttribute{Required: true, MarkdownDescription: fw.StrategyDescription, Validators: []validator.String{stringvalidator.OneOf(fw.Strategies...)}},
					"max_unavailable": schema.Int64Attribute{CustomType: fw.WholeNumberType{}, Optional: true, MarkdownDescription: fw.MaxUnavailableDescription, Validators: []validator.Int64{int64validator.AtLeast(1)}},
					"max_surge":       schema.Int64Attribute{CustomType: fw.WholeNumberType{}, Optional: true, MarkdownDescription: fw.MaxSurgeDescription, Validators: []validator.Int64{int64validator.AtLeast(1)}},
					"wait_for":        schema.StringAttribute{Optional: true, MarkdownDescription: fw.WaitForDescription, Validators: []validator.String{stringvalidator.OneOf(fw.WaitMarkedDeleted, fw.WaitRemoved)}},
				},
			},
		},
	}
}

// fleet is MachineSets whose templates change in an imagined way.
type fleet struct {
	target  machineset.Target
	rollout machineset.Rollout
	// atOnce is how many may roll out at the same time.
	atOnce int

	sets []machineset.Affected
	// impact is what it would do; doubts is what may go wrong with it.
	impact machineset.Impact
	doubts []string
}

// fleet returns the MachineSets that are meant, nil where nodes are.
func (m *model) fleet(ctx context.Context, diags *diag.Diagnostics) *fleet {
	in, there := fw.MachineSetsOf(ctx, m.MachineSets, diags)
	if !there {
		return nil
	}
	f := &fleet{}
	f.target, _ = in.Target(diags)
	f.rollout, _ = fw.RolloutOf(ctx, in.Rollout, diags)
	return f
}

// where names the MachineSets.
func (f *fleet) where() string {
	if f.target.Selector != nil {
		return fmt.Sprintf("%s matching %q", fw.Count(len(f.sets), "MachineSet"), f.target.Selector)
	}
	return f.target.Place()
}

// imagine fills in what the change would do: with the same judgement as the plan of
// kubetaint_machine_set_taints.
func (w whatIf) imagine(s *snapshot.Snapshot, all []machineset.Observed, comparison eviction.Comparison, atOnce int) whatIf {
	f := *w.fleet
	for _, o := range slices.SortedFunc(slices.Values(all), func(a, b machineset.Observed) int { return strings.Compare(a.Set.Key(), b.Set.Key()) }) {
		if !f.target.Matches(o.Set) {
			continue
		}
		a, d := machineset.Imagine(o, w.taints, w.absent, f.rollout)
		f.sets = append(f.sets, a)
		for _, r := range machineset.Refuse(a.Observed, d) {
			f.doubts = append(f.doubts, o.Set.Title()+" is refused: "+r.Why)
		}
		for _, warning := range machineset.Warnings(a.Observed, d) {
			f.doubts = append(f.doubts, o.Set.Title()+": "+warning)
		}
	}
	f.impact = machineset.Evaluate(s, f.sets, w.added, comparison, atOnce)
	for _, r := range f.impact.Refusals {
		f.doubts = append(f.doubts, f.impact.Refused.Title()+" is refused: "+r.Why)
	}
	for _, d := range f.impact.Deadlocks {
		if !slices.ContainsFunc(f.impact.Refusals, func(r machineset.Refusal) bool { return r.Why == d.Why }) {
			f.doubts = append(f.doubts, d.Why)
		}
	}
	f.atOnce = atOnce
	w.fleet, w.matched, w.report = &f, len(f.sets), f.impact.Report
	return w
}

// remark reports what makes the preview worth less than it looks; nothing is the summary
// where no MachineSet is there.
func (f *fleet) remark(nothing string, diags *diag.Diagnostics) {
	at := path.Root("machine_sets")
	switch {
	case len(f.sets) > 0:
	case f.target.Selector == nil:
		diags.AddAttributeError(at.AtName("name"), "Unable to preview "+f.where(),
			"The cluster has no MachineSet of this name. Check the name and the namespace (kubectl get machinesets.machine.openshift.io -A). If this apply makes the MachineSet, add depends_on to the data source.")
	default:
		diags.AddAttributeWarning(at.AtName("selector"), nothing,
			"The preview is empty. Check the selector (kubectl get machinesets.machine.openshift.io -n "+f.target.Namespace+" --show-labels).")
	}
	if len(f.doubts) > 0 {
		diags.AddAttributeWarning(at, "The rollout of "+f.where()+" may not go through", "  "+strings.Join(f.doubts[:min(len(f.doubts), maxDoubts)], "\n  "))
	}
}

// observe reads the MachineSets; an error of a cluster that has none is in the diagnostics.
func observe(ctx context.Context, cluster *kube.Cluster, diags *diag.Diagnostics) []machineset.Observed {
	sets, err := cluster.FreshMachineSets(ctx)
	switch {
	case errors.Is(err, kube.ErrNoMachineAPI):
		diags.Append(fw.NoMachineAPI(err))
	case err != nil:
		fw.UnableToRead(typeName, err, diags)
	}
	return sets
}
