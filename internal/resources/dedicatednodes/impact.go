// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package dedicatednodes

import (
	"fmt"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/machineset"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/planner"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/rollout"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/tf/message"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/tf/session"
)

// words are how the steps of a change are worded.
func (w wanted) words(limits message.Limits, atOnce int64) session.StepWords {
	return session.StepWords{
		Limits: limits, Rescue: path.Root("workloads"), AtOnce: int(atOnce), Replaces: w.replaces,
		Refused: func(e *rollout.SetRefusedError) diag.Diagnostic {
			return message.ExplainRefusedSet(e, machineSets, w.nodes.Target.MachineSets)
		},
		About: func(doing bool, steps []planner.Step) message.Subject {
			if doing {
				return w.aboutStep(true, steps[0])
			}
			return w.aboutSteps(steps)
		},
	}
}

// aboutSteps words what several steps are about: the taints where these evict or strand pods
// them, and else the first step that makes them leave. What more of it there is, whose pods
// are counted as well, is named beside it.
func (w wanted) aboutSteps(steps []planner.Step) message.Subject {
	pins := 0
	for _, s := range steps {
		if s.Kind == planner.Expand && s.Moves() {
			pins++
		}
	}
	switched := slices.IndexFunc(steps, func(s planner.Step) bool { return s.Kind == planner.ApplyTaints && (s.Moves() || s.Strands()) })
	cause := switched
	if cause < 0 {
		cause = slices.IndexFunc(steps, planner.Step.Moves)
	}
	if cause < 0 {
		return message.Subject{}
	}
	about := w.aboutStep(false, steps[cause])
	switch {
	case pins > 0 && switched >= 0:
		about.Where += " and pin " + message.Count(pins, "DaemonSet")
		about.Instead = "Add tolerations to the pods that must stay, choose other nodes, leave out pin for DaemonSets whose pods are to stay elsewhere"
	case pins > 0:
		if pins > 1 {
			about.Where += fmt.Sprintf(" and %d more", pins-1)
		}
		// Tolerations keep no pod on its node.
		about.Instead = "Choose other nodes, leave out pin for DaemonSets whose pods are to stay elsewhere"
	}
	return about
}

// aboutStep words what a step is about: what is done, or what would have been.
func (w wanted) aboutStep(done bool, step planner.Step) message.Subject {
	if step.Switch != nil {
		return w.aboutRollout(done, step.Switch.Affected)
	}
	if step.Kind == planner.ApplyTaints {
		return w.about(done, step.Nodes)
	}
	if step.Kind == planner.Expand {
		return message.AboutRollout(done, step)
	}
	about := message.Subject{Verb: "apply", Preposition: "to", What: step.Labels.Words(), Where: message.Where(w.labels.Target, len(step.Labels.Switches))}
	switch {
	case step.Kind == planner.Unlabel && done:
		about.Verb, about.Preposition = "Removing", "from"
	case step.Kind == planner.Unlabel:
		about.Verb, about.Preposition = "remove", "from"
	case done:
		about.Verb = "Applying"
	}
	return about
}

// aboutRollout words what a rollout of machines is about.
func (w wanted) aboutRollout(done bool, all []machineset.Affected) message.Subject {
	verb := map[bool]string{false: "apply", true: "Applying"}[done]
	if w.releases() {
		verb = map[bool]string{false: "remove", true: "Removing"}[done]
	}
	where := w.nodes.Target.MachineSets.Place()
	if len(all) == 1 {
		where = all[0].Set.Title()
	}
	about := message.AboutSets(verb, all, where)
	if w.releases() {
		about.Preposition = "from"
	}
	about.Rescue = "name their workload in workloads of this resource"
	return about
}

// about words what a change of taints is about.
func (w wanted) about(done bool, plan planner.NodePlan) message.Subject {
	verb, preposition := "apply", "to"
	if done {
		verb = "Applying"
	}
	about := message.About(verb, preposition, w.nodes.Target, plan)
	about.Rescue = "name their workload in workloads of this resource"
	return about
}
