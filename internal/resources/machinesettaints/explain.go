// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package machinesettaints

import (
	"errors"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/kube"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/machineset"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/rollout"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/tf/message"
)

// explain words an error of a change.
func explain(verb string, w wanted, limits message.Limits, set *machineset.Set, err error) diag.Diagnostic {
	thing := w.target.Place()
	if set != nil {
		thing = set.Title()
	}
	refused, conflict := new(rollout.SetRefusedError), new(rollout.SetConflictError)
	held, stuck := new(rollout.HoldError), new(rollout.StuckError)
	if said := message.ExplainRecord(err, thing, "", message.AtTarget(path.Empty(), &w.target)); said != nil {
		return said
	}
	if said := words(w, limits, 0).Explain(err, true); said != nil {
		return said
	}
	switch {
	case errors.As(err, &refused):
		return refuse(w, refused.Set, refused.Refusals)
	case errors.As(err, &conflict):
		return message.ExplainSetConflict(w.Claim.Owner, conflict)
	case errors.As(err, &held), errors.As(err, &stuck):
		return message.ExplainPods(thing, err)
	case errors.Is(err, kube.ErrNoMachineAPI):
		return message.NoMachineAPI(err)
	}
	return message.ExplainMachines("Unable to "+verb+" taints of "+thing, goesOn(verb), err)
}

// refuse words that a MachineSet must not be changed, or not in this way.
func refuse(w wanted, set *machineset.Set, refusals []machineset.Refusal) diag.Diagnostic {
	return message.ExplainRefusedSet(&rollout.SetRefusedError{Set: set, Refusals: refusals}, path.Empty(), &w.target)
}

// goesOn reports what the next apply does.
func goesOn(verb string) string {
	out := "Apply again: the rollout continues where it stopped. "
	if verb == "create" {
		return out + "Nothing is saved in the state, but this resource owns every written entry. To give up instead, import the resource and destroy it."
	}
	return out + "What was written stays, and this resource owns every entry."
}

// gone words that a named MachineSet went away between plan and apply.
func gone(verb string, w wanted) diag.Diagnostic {
	return diag.NewAttributeErrorDiagnostic(path.Root("name"), "Unable to "+verb+" taints of "+w.target.Place()+": it is not there",
		"Nothing has been written. Check the name and the namespace (kubectl get machinesets.machine.openshift.io -A), and plan again.")
}
