// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package machinesettaints

import (
	"errors"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/fw"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/kube"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/machineset"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/rollout"
)

// explain words an error of a change.
func explain(verb string, w wanted, set *machineset.Set, err error) diag.Diagnostic {
	thing := w.target.Place()
	if set != nil {
		thing = set.Title()
	}
	refused, over, stranded, conflict := new(fw.RefusedSet), new(fw.Exceeded), new(fw.Stranded), new(rollout.SetConflictError)
	held, stuck := new(rollout.HoldError), new(rollout.StuckError)
	switch {
	case errors.As(err, &refused):
		return refused.Diagnostic(path.Root("rollout"))
	case errors.As(err, &over):
		return over.Diagnostic()
	case errors.As(err, &stranded):
		return stranded.Diagnostic()
	case errors.As(err, &conflict):
		return fw.ExplainSetConflict(w.Claim.Owner, conflict)
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

// gone words that a named MachineSet went away between plan and apply.
func gone(verb string, w wanted) diag.Diagnostic {
	return diag.NewAttributeErrorDiagnostic(path.Root("name"), "Unable to "+verb+" taints of "+w.target.Place()+": it is not there",
		"Nothing has been written. Check the name and the namespace (kubectl get machinesets -A), and plan again.")
}
