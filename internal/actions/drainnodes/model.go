// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package drainnodes

import (
	"context"
	"slices"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/planner"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/rollout"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/tf/message"
	tfschema "github.com/kubetaint/terraform-provider-kubetaint/internal/tf/schema"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/tf/session"
)

// model is the action as it is in the configuration.
type model struct {
	NodeName            types.String         `tfsdk:"node_name"`
	NodeSelector        types.String         `tfsdk:"node_selector"`
	PodSelector         types.String         `tfsdk:"pod_selector"`
	IgnoreDaemonSets    types.Bool           `tfsdk:"ignore_daemon_sets"`
	DeleteLocalData     types.Bool           `tfsdk:"delete_local_data"`
	DisableEviction     types.Bool           `tfsdk:"disable_eviction"`
	GracePeriodSeconds  tfschema.WholeNumber `tfsdk:"grace_period_seconds"`
	WaitForReplacements types.Bool           `tfsdk:"wait_for_replacements"`
	Evictions           types.Object         `tfsdk:"evictions"`
	Timeout             types.String         `tfsdk:"timeout"`
}

// wanted is what the model wants.
type wanted struct {
	target      planner.Target
	limits      message.Limits
	rules       planner.DrainRules
	gracePeriod *int64
	// awaits is set where the drain ends once the evicted pods run elsewhere.
	awaits  bool
	timeout time.Duration
}

// place names the nodes in messages.
func (w wanted) place() string { return message.Place(w.target) }

// drain is the drain of the nodes that are meant now, sorted by name.
func (w wanted) drain(nodes []*snapshot.Node) rollout.Drain {
	d := rollout.Drain{NodeDrain: planner.NodeDrain{Rules: w.rules}, GracePeriod: w.gracePeriod, AwaitReplacements: w.awaits, Selects: w.target.Matches}
	d.Nodes = w.target.NamesOf(nodes)
	return d
}

// removes words what the drain does with pods.
func (w wanted) removes() string {
	if w.rules.DisableEviction {
		return "deletes"
	}
	return "evicts"
}

// subject words what a drain is about.
func (w wanted) subject(verb string, d rollout.Drain) message.Subject {
	return message.Subject{Verb: verb, What: message.Where(w.target, len(d.Nodes)) + message.OfPods(w.rules.PodSelector)}
}

// Desired returns what the model wants; false while any of it is not known.
func (m model) Desired(ctx context.Context, data *session.Data, diags *diag.Diagnostics) (wanted, bool) {
	limits, known := tfschema.ActionLimitsOf(ctx, m.Evictions, data.Evictions, diags)
	target, targetKnown := session.NodeTarget(m.NodeName, m.NodeSelector, diags)
	unknown := slices.ContainsFunc([]attr.Value{
		m.PodSelector, m.IgnoreDaemonSets, m.DeleteLocalData, m.DisableEviction, m.WaitForReplacements, m.GracePeriodSeconds,
	}, attr.Value.IsUnknown)
	if !known || !targetKnown || unknown || diags.HasError() {
		return wanted{}, false
	}
	w := wanted{
		target: target, limits: limits, gracePeriod: m.GracePeriodSeconds.ValueInt64Pointer(),
		rules: planner.DrainRules{
			IgnoreDaemonSets: m.IgnoreDaemonSets.IsNull() || m.IgnoreDaemonSets.ValueBool(), DeleteLocalData: m.DeleteLocalData.ValueBool(),
			PodSelector: m.podSelector(diags), DisableEviction: m.DisableEviction.ValueBool(),
		},
		awaits:  m.WaitForReplacements.IsNull() || m.WaitForReplacements.ValueBool(),
		timeout: tfschema.TimeoutOf(m.Timeout, defaultTimeout),
	}
	return w, !diags.HasError()
}

// podSelector returns which pods are considered, nil for all.
func (m model) podSelector(diags *diag.Diagnostics) labels.Selector {
	if m.PodSelector.IsNull() {
		return nil
	}
	selector, err := labels.Parse(m.PodSelector.ValueString())
	if err != nil {
		diags.Append(tfschema.NoSelector(path.Root("pod_selector"), m.PodSelector.ValueString(), err))
		return nil
	}
	return selector
}
