// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package fw

import (
	"fmt"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/machineset"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/rollout"
)

// WarnSet says of one MachineSet what may go wrong, and what was interrupted.
func WarnSet(o machineset.Observed, d machineset.Desired, e machineset.Effect, diags *diag.Diagnostics) {
	if m := e.Interrupted; m != nil {
		diags.AddWarning(fmt.Sprintf("A rollout of %s is interrupted, and apply goes on with it", o.Set.Title()),
			fmt.Sprintf("It began at %s with the strategy %s, when spec.replicas was %d; now it is %d. %s still to be changed. Apply goes on where it stopped, and spec.replicas is %d at the end.",
				m.StartedAt.Format("2006-01-02 15:04:05 MST"), m.Strategy, m.OriginalReplicas, o.Set.Replicas, CountVerb(len(e.Stale), "machine is", "machines are"), m.OriginalReplicas))
	}
	if warnings := machineset.Warnings(o, d); len(warnings) > 0 {
		diags.AddWarning(fmt.Sprintf("The rollout of %s may not go through by itself", o.Set.Title()), "  "+strings.Join(warnings, "\n  "))
	}
	if e.Template.Changed && len(e.Template.TakenOver) > 0 && d.Claim.TakeOver {
		diags.AddWarning(fmt.Sprintf("Creating takes over taints of %q on %s", d.Claim.Owner, o.Set.Title()),
			"Entries with this resource's id are in its template already. An earlier create did not end, or this object replaces another one.")
	}
}

// ExplainSetConflict words that a taint of a template belongs to somebody else.
func ExplainSetConflict(owner string, e *rollout.SetConflictError) diag.Diagnostic {
	c := e.Conflicts[0]
	summary := fmt.Sprintf("Unable to claim taint %q on %s", c.ID, e.Set.Title())
	switch {
	case c.Owner == owner:
		return diag.NewAttributeErrorDiagnostic(path.Root("taints"), summary, "This resource's own id stands there with another generation: a replacement that creates before it destroys has not ended, or the same configuration is applied from a second state. Nothing has been written. Apply with -replace=ADDRESS to take the entries over.")
	case c.Owner != "":
		return diag.NewAttributeErrorDiagnostic(path.Root("taints"), summary, fmt.Sprintf("It belongs to %q. Nothing has been written. It must be given up there first.", c.Owner))
	}
	return diag.NewAttributeErrorDiagnostic(path.Root("taints"), summary, fmt.Sprintf("It is in the template already, with the value %q, and was not put there by this resource. Nothing has been written. "+
		"To take it on, set on_conflict = \"adopt\": destroying the resource will then remove it. Or import it.", c.Value))
}

// ExplainLabelConflict words that somebody else has given a label another value.
func ExplainLabelConflict(owner string, e *rollout.LabelConflictError) diag.Diagnostic {
	c := e.Conflicts[0]
	summary := fmt.Sprintf("Unable to claim label %q on %s", c.Key, c.Where)
	why := fmt.Sprintf("It is there already with the value %q, and was not put there by this resource", c.Value)
	switch c.Owner {
	case "":
	case owner:
		why = "This resource's own id stands there with another generation: a replacement that creates before it destroys has not ended, or the same configuration is applied from a second state"
	default:
		why = fmt.Sprintf("It belongs to %q", c.Owner)
	}
	return diag.NewAttributeErrorDiagnostic(path.Root("labels"), summary, why+". Nothing has been written. Choose another key, or have it taken away there first.")
}
