// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package message

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	corev1 "k8s.io/api/core/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/label"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/machineset"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/planner"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/rollout"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
)

// ReplicasAtTheEnd words what spec.replicas is once an interrupted rollout has ended, which may go on with another strategy.
func ReplicasAtTheEnd(s *machineset.Set, follows machineset.Strategy) string {
	switch {
	case s.Marker.Scales():
		return fmt.Sprintf(", and spec.replicas is %d at the end", s.Marker.OriginalReplicas)
	case follows.Scales():
		return fmt.Sprintf(" with the strategy %s, and spec.replicas is %d at the end", follows, s.Replicas)
	}
	return ", and does not change spec.replicas"
}

// WarnSet says of one MachineSet what may go wrong, and what was interrupted.
func WarnSet(o machineset.Observed, d machineset.Desired, e machineset.Effect, diags *diag.Diagnostics) {
	stop := machineset.Stops(o, d)
	if stop != "" {
		diags.AddWarning("Apply will stop before it changes "+o.Set.Title(), stop)
	} else {
		WarnUnattended(o, e.Strategy, diags)
	}
	if m := e.Interrupted; m != nil && stop == "" {
		diags.AddWarning("Apply continues an interrupted rollout of "+o.Set.Title(),
			fmt.Sprintf("It began at %s with the strategy %s, when spec.replicas was %d; now it is %d. %s. Apply continues where it stopped%s.",
				m.Began(), m.Strategy, m.OriginalReplicas, o.Set.Replicas, Ahead(o, d, "still to be changed"), ReplicasAtTheEnd(o.Set, e.Strategy)))
	}
	if left := machineset.Remaining(o, d); len(left) > 0 && e.Strategy != machineset.TemplateOnly {
		names, taints := carriers(o, left)
		diags.AddWarning(fmt.Sprintf("Apply takes %s from %s of %s", taints, Count(len(names), "machine"), o.Set.Title()),
			"An earlier apply took this out of the template with template_only, and left it on machines:\n  "+strings.Join(names, "\n  "))
	}
	if left := machineset.Unproved(o, d); len(left) > 0 {
		names, taints := carriers(o, left)
		diags.AddWarning(fmt.Sprintf("Apply leaves %s on %s of %s", taints, Count(len(names), "machine"), o.Set.Title()),
			"An earlier object with this resource's id took this out of the template with template_only, and left it on machines. Nothing proves who wrote it, so it is not removed. "+
				"Only a run that also destroys the earlier object hands it over:\n  "+strings.Join(names, "\n  ")+"\n"+
				"To remove it, edit the Machines ("+kubectl("edit", fmt.Sprintf("Machine %q", o.Set.Namespace+"/"+names[0]), "", "")+") and their nodes.")
	}
	if warnings := machineset.Warnings(o, d); len(warnings) > 0 {
		diags.AddWarning(fmt.Sprintf("The rollout of %s may not finish by itself", o.Set.Title()), "  "+strings.Join(warnings, "\n  "))
	}
	if e.Template.Changed && d.Claim.TakeOver {
		var taken []string
		for _, id := range e.Template.TakenOver {
			taken = append(taken, id.String())
		}
		WarnAdopted("taints", fmt.Sprintf("%q on %s", d.Claim.Owner, o.Set.Title()), taken, diags)
	}
}

// Ahead reports what an interrupted rollout still has to do: the machines that are, for example,
// "left to replace", or the new ones that it waits for.
func Ahead(o machineset.Observed, d machineset.Desired, todo string) string {
	left, coming := machineset.Left(o, d), machineset.Coming(o, d)
	switch {
	case left > 0:
		return CountVerb(left, "machine is", "machines are") + " " + todo
	case coming > 0:
		return "No old machine is left, and " + CountVerb(coming, "new machine is", "new machines are") + " not ready yet"
	}
	return "No machine is " + todo
}

// WarnLeftBehind warns of taints that a destroy with template_only leaves on machines.
func WarnLeftBehind(all planner.MachineSets, diags *diag.Diagnostics) {
	for _, c := range all.Sets {
		left := machineset.LeftBehind(c.Observed, c.Desired)
		if c.Desired.Rollout.Strategy != machineset.TemplateOnly || len(left) == 0 {
			continue
		}
		names, taints := carriers(c.Observed, left)
		diags.AddWarning(fmt.Sprintf("Destroying leaves %s on %s of %s", taints, Count(len(names), "machine"), c.Set.Title()),
			"The strategy template_only changes no machine, so these keep what they have until they are replaced, and nothing manages it any more:\n  "+strings.Join(names, "\n  ")+"\n"+
				"To remove it from them too, apply another rollout strategy first, then destroy.")
	}
}

// carriers returns the names of the machines that something was left behind on, and what it is.
func carriers(o machineset.Observed, left machineset.Remnants) (names []string, taints string) {
	var all []corev1.Taint
	for _, m := range o.Machines {
		if len(left[m.UID]) > 0 {
			names, all = append(names, m.Name), append(all, left[m.UID]...)
		}
	}
	slices.Sort(names)
	return names, taint.FormatAll(slices.CompactFunc(taint.Sort(all), func(a, b corev1.Taint) bool { return a.MatchTaint(&b) && a.Value == b.Value }))
}

// anotherInstance says, after what the entry is called, why one with the resource's own id
// may not be its own, and what to do.
const anotherInstance = "has this resource's id, but another instance of the resource wrote it: either an earlier create or replacement was interrupted, or a second state (another workspace or pipeline) applies the same configuration. " +
	"If there is a second state, give one of the two another owner in the provider block. If not, apply with -replace=ADDRESS to adopt the entries with this id."

// leftAlone reports that an entry of another owner has not been changed.
const leftAlone = "It is left as it is."

// anotherOwner reports what to do about an entry of a thing that is marked as another resource's.
func anotherOwner(owner, entry, annotation, thing string) string {
	return fmt.Sprintf("It is owned by the resource %q. "+leftAlone+" Remove the %s from the configuration of that resource, and apply that first. If nothing manages it any more, import it under the configuration of that resource, and destroy that. ", owner, entry) + MadeUp(annotation, thing, "")
}

// ExplainSetConflict words that a taint of a template has another owner.
func ExplainSetConflict(owner string, e *rollout.SetConflictError) diag.Diagnostic {
	c := e.Conflicts[0]
	summary := fmt.Sprintf("Unable to claim taint %q on %s", c.ID, e.Set.Title())
	switch {
	case c.Owner == owner:
		return diag.NewAttributeErrorDiagnostic(path.Root("taints"), summary, "It "+anotherInstance+" "+leftAlone)
	case c.Owner != "":
		return diag.NewAttributeErrorDiagnostic(path.Root("taints"), summary, anotherOwner(c.Owner, "taint", taint.OwnedAnnotation, e.Set.Title()))
	}
	return diag.NewAttributeErrorDiagnostic(path.Root("taints"), summary, fmt.Sprintf("It is in the template already, with the value %q, and this resource did not write it. "+leftAlone+" "+
		"To adopt it, set on_conflict = \"adopt\": destroying the resource then removes it. Or import it.", c.Value))
}

// ExplainLabelConflict words that another writer has given a label another value.
func ExplainLabelConflict(owner string, e *rollout.LabelConflictError) diag.Diagnostic {
	c := e.Conflicts[0]
	summary := fmt.Sprintf("Unable to claim label %q on %s", c.Key, c.Where)
	detail := fmt.Sprintf("It exists already, with the value %q, and this resource did not write it. "+leftAlone+" Choose another key, or remove the label there first.", c.Value)
	switch c.Owner {
	case "":
	case owner:
		detail = "It " + anotherInstance + " " + leftAlone
	default:
		detail = anotherOwner(c.Owner, "label", label.OwnedAnnotation, c.Where) + " Or choose another key."
	}
	return diag.NewAttributeErrorDiagnostic(path.Root("labels"), summary, detail)
}
