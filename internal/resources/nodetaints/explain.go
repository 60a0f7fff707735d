// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package nodetaints

import (
	"cmp"
	"errors"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/planner"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/rollout"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/tf/message"
)

// explain words an error of a change.
func explain(verb string, desired planner.NodeTaints, limits message.Limits, err error) diag.Diagnostic {
	refused := new(rollout.RefusedError)
	held, stuck := new(rollout.HoldError), new(rollout.StuckError)
	if said := words(desired, limits).Explain(err, true); said != nil {
		return said
	}
	switch {
	case errors.As(err, &held), errors.As(err, &stuck):
		return message.ExplainPods(message.Place(desired.Target), err)
	case errors.As(err, &refused):
		return message.ExplainRefusals(desired, refused.Refusals)
	}
	thing := message.Place(desired.Target)
	giveUp := "import the resource and destroy it."
	if len(desired.Claim.Absent) > 0 {
		// An import names taints that are there, so that it is no way to these.
		giveUp = "let an apply succeed and destroy the resource: that restores the taints of absent_taints."
	}
	goesOn := message.GoesOn(verb, "The nodes are changed one by one; "+message.Owned, giveUp)
	if len(desired.Claim.Taints) == 0 {
		verb = cmp.Or(map[string]string{"create": "remove", "delete": "restore"}[verb], verb)
	}
	return message.Failed("Unable to "+verb+" taints of "+thing, goesOn, err)
}

// explainGone words that a named node went away between plan and apply.
func explainGone(name string) diag.Diagnostic {
	return diag.NewAttributeErrorDiagnostic(path.Root("node_name"), "Unable to update taints of node \""+name+"\": the node is gone",
		"The node was there when this was planned, and is not now. Nothing has been written. Plan again: the resource then leaves the state, and the plan creates it.")
}
