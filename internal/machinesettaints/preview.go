// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package machinesettaints

import (
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/fw"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/planner"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/rollout"
)

// words are how the steps of a change are worded.
func words(desired wanted, budget fw.Budget, atOnce int64) fw.StepWords {
	verbs, preposition := map[bool]string{false: "apply", true: "Applying"}, "to"
	if desired.Claim.Release {
		verbs, preposition = map[bool]string{false: "remove", true: "Removing"}, "from"
	}
	return fw.StepWords{
		Budget: budget, Rescue: path.Root("tolerated_by"), AtOnce: int(atOnce), Replaces: desired.replaces,
		Refused: func(e *rollout.SetRefusedError) diag.Diagnostic { return refuse(desired, e.Set, e.Refusals) },
		About: func(doing bool, steps []planner.Step) fw.Subject {
			all, where := steps[0].Switch.Affected, desired.target.Place()
			if desired.target.Selector != nil {
				where = fw.Count(len(all), "MachineSet") + ` matching "` + desired.target.Selector.String() + `"`
			}
			about := fw.AboutSets(verbs[doing], all, where)
			about.Preposition = preposition
			return about
		},
	}
}
