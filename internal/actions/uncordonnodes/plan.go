// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package uncordonnodes

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-log/tflog"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/kube"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/planner"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/rollout"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/tf/message"
)

// Preview warns of nodes that are better left cordoned, and refuses a node that does not exist. It is
// silent otherwise: an uncordon evicts no pod. It reads the nodes, and nothing else of a cluster
// without the Machine API.
func (a *uncordonNodes) Preview(ctx context.Context, w wanted, diags *diag.Diagnostics) {
	target := w.target
	_, err := a.Data.Identify(ctx, "", diags)
	var nodes []*snapshot.Node
	if err == nil {
		nodes, err = a.Data.Cluster.Nodes(ctx)
	}
	switch {
	case kube.OutOfReach(err):
		a.Data.Unreachable(err, diags)
	case err != nil:
		diags.AddWarning("Unable to check "+message.Place(target)+" before apply",
			strings.TrimSpace("The plan does not warn of missing nodes, or of nodes that are being deleted. Apply reads the nodes again. "+message.Advise(err))+"\n\nOriginal error: "+err.Error())
	case len(target.NamesOf(nodes)) == 0:
		diags.Append(message.NoNodes(target, "uncordoned"))
	default:
		a.warnDeleted(ctx, target, nodes, diags)
	}
}

// warnDeleted names nodes that are being deleted. Machines that cannot be read are no reason to fail: without
// them, a node whose Machine is being deleted is not named.
func (a *uncordonNodes) warnDeleted(ctx context.Context, target planner.Target, nodes []*snapshot.Node, diags *diag.Diagnostics) {
	nodes = slices.DeleteFunc(slices.Clone(nodes), func(n *snapshot.Node) bool { return !target.Matches(n) })
	var machines planner.Machines
	if planner.NeedMachinesOf(nodes) {
		var err error
		if machines, err = a.Data.Cluster.Machines(ctx); err != nil {
			tflog.Warn(ctx, "the Machines of nodes could not be read", map[string]any{"error": err.Error()})
		}
	}
	var rows []string
	for _, one := range machines.BeingDeleted(nodes) {
		row := one.Node
		if one.Machine != "" {
			row += " (Machine " + one.Machine + ")"
		}
		rows = append(rows, row)
	}
	if len(rows) > 0 {
		diags.AddWarning("Uncordoning "+message.Place(target)+" allows pods on "+message.CountVerb(len(rows), "node that is being deleted", "nodes that are being deleted"),
			"New pods there are evicted again, or end with the node. A deletion cannot be undone: wait until the nodes are gone, or select others. Being deleted: "+message.Some(rows)+".")
	}
}

// ended words what an uncordon has done.
func ended(done rollout.Uncordoned) string {
	out := message.Count(len(done.Written), "node") + " uncordoned"
	if n := len(done.Already); n > 0 {
		out += fmt.Sprintf(", %d took pods already", n)
	}
	return out
}

// explain words an error of an uncordon.
func explain(target planner.Target, done rollout.Uncordoned, err error) diag.Diagnostic {
	original, before := err, ""
	if ended := new(rollout.UncordonError); errors.As(err, &ended) {
		err, before = ended.Err, strings.TrimSpace("Another node failed before that. "+message.Advise(ended.Before))
	}
	summary, advice := "Unable to uncordon "+message.Place(target), message.Advise(err)
	if all := len(done.Written) + len(done.Already) + len(done.Left); target.Selector != nil {
		summary = fmt.Sprintf("Unable to uncordon %d of %s", len(done.Left), message.Where(target, all))
	}
	again := "To continue, invoke the action again: it continues with the nodes that are left."
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		summary, advice, again = summary+": "+message.Ended("the action", err), "", "Set a longer timeout, and invoke the action again: it continues with the nodes that are left."
	case errors.Is(err, context.Canceled):
		summary, advice = summary+": "+message.Ended("the action", err), ""
	}
	standing := "No node has been uncordoned."
	if len(done.Written) > 0 {
		standing = "Uncordoned: " + message.Some(done.Written) + "."
	}
	standing += " Not uncordoned: " + message.Some(done.Left) + ". " + again
	return diag.NewErrorDiagnostic(summary, message.Paragraphs(advice, before, standing, "Original error: "+original.Error()))
}
