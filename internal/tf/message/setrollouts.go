// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package message

import (
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	corev1 "k8s.io/api/core/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/machineset"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/rollout"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
)

// AtTarget is where a block reports which MachineSets are meant; nowhere for none.
func AtTarget(block path.Path, t *machineset.Target) path.Path {
	switch {
	case t == nil:
		return path.Empty()
	case t.Selector != nil:
		return block.AtName("selector")
	}
	return block.AtName("name")
}

// ExplainRefusedSet words that a MachineSet must not be changed; the block is the one that
// reports which MachineSets are meant, and how they are rolled out.
func ExplainRefusedSet(e *rollout.SetRefusedError, block path.Path, t *machineset.Target) diag.Diagnostic {
	first := e.Refusals[0]
	// Other MachineSets of the resource may have been changed before.
	detail := "Nothing has been written to it: " + first.Why + ". " + first.Instead + "."
	if first.Attribute != "" {
		return diag.NewAttributeErrorDiagnostic(block.AtName("rollout").AtName(first.Attribute), "Unable to roll "+e.Set.Title()+" out with this "+first.Attribute, detail)
	}
	summary := "Unable to change the " + map[bool]string{false: "taints", true: "labels"}[e.Labels] + " of " + e.Set.Title()
	at := AtTarget(block, t)
	if len(at.Steps()) == 0 {
		return diag.NewErrorDiagnostic(summary, detail)
	}
	return diag.NewAttributeErrorDiagnostic(at, summary, detail)
}

// AboutSets words what a change of MachineSets is about.
func AboutSets(verb string, all []machineset.Affected, where string) Subject {
	s := Subject{Verb: verb, Preposition: "to", Where: where}
	var stay, going []corev1.Taint
	for _, a := range all {
		for _, id := range a.Effect.Template.Ours {
			if at := taint.Find(a.Effect.Template.Taints, id); at >= 0 {
				stay = append(stay, a.Effect.Template.Taints[at])
			} else if at := taint.Find(a.Set.Taints, id); at >= 0 {
				going = append(going, a.Set.Taints[at])
			}
		}
	}
	// It is about the taints that are removed if none takes their place.
	if s.Taints = stay; len(stay) == 0 {
		s.Taints = going
	}
	s.Taints = slices.CompactFunc(taint.Sort(s.Taints), func(a, b corev1.Taint) bool { return a.MatchTaint(&b) && a.Value == b.Value })
	return s
}
