// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package machinesettaints

import (
	"errors"
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/fw"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/kube"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/machineset"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/rollout"
)

// refusedError says that a MachineSet must not be changed.
type refusedError struct {
	set      *machineset.Set
	refusals []machineset.Refusal
}

// Error returns the first reason.
func (e *refusedError) Error() string { return e.refusals[0].Why }

func (e *refusedError) diagnostic() diag.Diagnostic {
	first := e.refusals[0]
	if first.Attribute != "" {
		return diag.NewAttributeErrorDiagnostic(path.Root("rollout").AtName(first.Attribute), "Unable to roll "+e.set.Title()+" out with this "+first.Attribute,
			"Nothing has been written: "+first.Why+". "+first.Instead+".")
	}
	return diag.NewErrorDiagnostic("Unable to change the taints of "+e.set.Title(), "Nothing has been written: "+first.Why+".")
}

// explain words an error of a change.
func explain(verb string, w wanted, set *machineset.Set, err error) diag.Diagnostic {
	thing := w.target.place()
	if set != nil {
		thing = set.Title()
	}
	refused, over, stranded, conflict := new(refusedError), new(fw.Exceeded), new(fw.Stranded), new(rollout.SetConflictError)
	held, stuck := new(rollout.HoldError), new(rollout.StuckError)
	switch {
	case errors.As(err, &refused):
		return refused.diagnostic()
	case errors.As(err, &over):
		return over.Diagnostic()
	case errors.As(err, &stranded):
		return stranded.Diagnostic()
	case errors.As(err, &conflict):
		return explainConflict(w, conflict)
	case errors.As(err, &held), errors.As(err, &stuck):
		return fw.ExplainPods(thing, err)
	case errors.Is(err, kube.ErrNoMachineAPI):
		return fw.NoMachineAPI(err)
	}
	return fw.ExplainMachines("Unable to "+verb+" taints of "+thing, goesOn(verb), err)
}

// goesOn says what the next apply does.
func goesOn(verb string) string {
	out := "What is done stays, and each entry is marked as this resource's. Apply again to go on where it stopped"
	if verb == "create" {
		return out + ". Nothing is saved in the state; to give up instead, import the resource and destroy it."
	}
	return out + ", or allow it more time in timeouts."
}

func explainConflict(w wanted, e *rollout.SetConflictError) diag.Diagnostic {
	c := e.Conflicts[0]
	summary := fmt.Sprintf("Unable to claim taint %q on %s", c.ID, e.Set.Title())
	switch {
	case c.Owner == w.Claim.Owner:
		return diag.NewAttributeErrorDiagnostic(path.Root("taints"), summary, "This resource's own id stands there with another generation: a replacement that creates before it destroys has not ended, or the same configuration is applied from a second state. Nothing has been written. Apply with -replace=ADDRESS to take the entries over.")
	case c.Owner != "":
		return diag.NewAttributeErrorDiagnostic(path.Root("taints"), summary, fmt.Sprintf("It belongs to %q. Nothing has been written. It must be given up there first.", c.Owner))
	}
	return diag.NewAttributeErrorDiagnostic(path.Root("taints"), summary, fmt.Sprintf("It is in the template already, with the value %q, and was not put there by this resource. Nothing has been written. "+
		"To take it on, set on_conflict = \"adopt\": destroying the resource will then remove it. Or import it.", c.Value))
}

// gone words that a named MachineSet went away between plan and apply.
func gone(verb string, w wanted) diag.Diagnostic {
	return diag.NewAttributeErrorDiagnostic(path.Root("name"), "Unable to "+verb+" taints of "+w.target.place()+": it is not there",
		"Nothing has been written. Check the name and the namespace (kubectl get machinesets -A), and plan again.")
}
