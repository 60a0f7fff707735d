// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package machinesettaints

import (
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/planner"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/rollout"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/tf/message"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/tf/session"
)

// words are how the steps of a change are worded.
func words(desired wanted, limits message.Limits, atOnce int64) session.StepWords {
	verbs, preposition := map[bool]string{false: "apply", true: "Applying"}, "to"
	if desired.Claim.Release {
		verbs, preposition = map[bool]string{false: "remove", true: "Removing"}, "from"
	}
	return session.StepWords{
		Limits: limits, Rescue: path.Root("tolerated_by"), AtOnce: int(atOnce), Replaces: desired.replaces,
		Refused: func(e *rollout.SetRefusedError) diag.Diagnostic { return refuse(desired, e.Set, e.Refusals) },
		About: func(doing bool, steps []planner.Step) message.Subject {
			all, where := steps[0].Switch.Affected, desired.target.Place()
			if desired.target.Selector != nil {
				where = message.Count(len(all), "MachineSet") + ` matching "` + desired.target.Selector.String() + `"`
			}
			about := message.AboutSets(verbs[doing], all, where)
			about.Preposition = preposition
			return about
		},
	}
}
