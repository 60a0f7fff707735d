// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package message

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/machineset"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/rollout"
)

// ExplainMachines words why a rollout of machines ended before its end; goesOn names
// how it can go on where no more than another run is needed for that.
func ExplainMachines(summary, goesOn string, err error) diag.Diagnostic {
	late, stopped, gone := new(rollout.MachinesError), new(rollout.StoppedError), new(rollout.SetGoneError)
	if zero := new(rollout.AtZeroError); errors.As(err, &zero) {
		summary += fmt.Sprintf(": %s is left with 0 of %s", zero.Set.Title(), Count(zero.Replicas, "replica"))
	}
	switch {
	case errors.As(err, &late):
		return diag.NewErrorDiagnostic(summary+": "+Ended("the rollout", late.Err), Paragraphs(explainLate(late), goesOn, "Original error: "+late.Err.Error()))
	case errors.As(err, &stopped):
		if said := ExplainRecord(err, stopped.Thing, "", path.Empty()); said != nil {
			return said
		}
		return diag.NewErrorDiagnostic(summary, Paragraphs(stopped.Why, restored(err)))
	case errors.As(err, &gone) && gone.Recreated:
		return diag.NewErrorDiagnostic(summary, gone.Error()+". What was written to the old one is gone with it. Plan and apply again.")
	case errors.As(err, &gone):
		return diag.NewErrorDiagnostic(summary, gone.Error()+". If it was deleted, what was written to it is gone with it. Check the name and the namespace (kubectl get machinesets.machine.openshift.io -A), then plan and apply again.")
	case errors.Is(err, context.Canceled):
		summary += ": " + Ended("", err)
		return diag.NewErrorDiagnostic(summary, Paragraphs(restored(err), goesOn, "Original error: "+err.Error()))
	}
	return diag.NewErrorDiagnostic(summary, Paragraphs(Advise(err), restored(err), goesOn, "Original error: "+err.Error()))
}

// Paragraphs joins the parts of a detail that are not empty.
func Paragraphs(all ...string) string {
	return strings.Join(slices.DeleteFunc(all, func(one string) bool { return one == "" }), "\n\n")
}

// restored reports that a count has been brought back, or what to do where that failed; ""
// where none had to be. The command writes the subresource scale, which webhooks do not see.
func restored(err error) string {
	if zero := new(rollout.AtZeroError); errors.As(err, &zero) {
		return fmt.Sprintf("spec.replicas could not be restored. Set it yourself: kubectl scale machineset.machine.openshift.io %s -n %s --replicas=%d", zero.Set.Name, zero.Set.Namespace, zero.Replicas)
	}
	if back := new(rollout.RestoredError); errors.As(err, &back) {
		return fmt.Sprintf("spec.replicas has been restored to %d.", back.Replicas)
	}
	return ""
}

// Ended reports how something ended that did not come to its end.
func Ended(what string, err error) string {
	if errors.Is(err, context.DeadlineExceeded) {
		return what + " timed out"
	}
	return "the run was interrupted"
}

// explainLate reports what a rollout waited for, what to do about that, and how far it is.
func explainLate(e *rollout.MachinesError) string {
	waiting, fix := waitedFor(e)
	holds := ""
	if len(e.Holds) > 0 {
		holds = "What blocks the deletion of machines:\n  " + strings.Join(e.Holds, "\n  ")
		fix = "To fix this, allow the evictions (scale their workload up, or relax the PodDisruptionBudget) and remove a stuck lifecycle hook. Or set a longer timeout."
	}
	if !errors.Is(e.Err, context.DeadlineExceeded) {
		// Nothing is wrong with a run that a user has stopped.
		fix = ""
	}
	return Paragraphs(waiting, holds, fix, standing(e))
}

// waitedFor reports what a rollout waited for, and what to do about that; "" and "" for
// nothing.
func waitedFor(e *rollout.MachinesError) (waiting, fix string) {
	if len(e.Waiting) == 0 {
		return "", ""
	}
	last := ":\n  " + strings.Join(e.Waiting, "\n  ")
	if !e.Controller {
		return "The rollout last waited for machines" + last, "To fix this, find out why these machines are not ready (kubectl describe machine.machine.openshift.io NAME -n " + e.Set.Namespace + "); or set a longer timeout."
	}
	fix = "To fix this, find out what stops it (kubectl describe machineset.machine.openshift.io " + e.Set.Name + " -n " + e.Set.Namespace + " shows its events); or set a longer timeout."
	if e.Set.Namespace != machineset.OperatorNamespace {
		fix += " OpenShift's Machine API operator has its controllers watch the namespace " + machineset.OperatorNamespace + " alone."
	}
	return "The rollout last waited for the controller of " + e.Set.Title() + last, fix
}

// standing reports how far a rollout is, and which count it has left.
func standing(e *rollout.MachinesError) string {
	m := e.Set.Marker
	if m == nil {
		if e.Begun {
			return ""
		}
		return "This run has written nothing to " + e.Set.Title() + "."
	}
	done, have := "replaced", "have"
	if m.Strategy == machineset.InPlace {
		done = "changed"
	}
	if e.Left == 1 {
		have = "has"
	}
	left := fmt.Sprintf("%d of %s still %s to be %s", e.Left, Count(m.OriginalReplicas, "machine"), have, done)
	if e.Left == 0 {
		left = "No old machine is left"
	}
	replicas := fmt.Sprintf("is %d", e.Set.Replicas)
	switch {
	case e.Restored:
		replicas = fmt.Sprintf("has been restored to %d", m.OriginalReplicas)
	case e.Set.Replicas != m.OriginalReplicas:
		replicas += fmt.Sprintf(" (%d before the rollout)", m.OriginalReplicas)
	}
	return left + ", and spec.replicas " + replicas + "."
}
