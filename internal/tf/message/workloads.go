// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package message

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	corev1 "k8s.io/api/core/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/kube"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/label"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/planner"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/rollout"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/toleration"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/workload"
)

// WorkloadAt names the attributes of a resource that hold a workload, so that
// errors about it name them.
type WorkloadAt struct {
	// Workload is the object that names it, Path the place of the list in it.
	Workload, Path path.Path
	// Tolerations is what the tolerations come from, and Pin what has its template
	// require labels.
	Tolerations, Pin path.Path
	// Wait is the attribute that leaves out the wait for running pods, where there is
	// one.
	Wait *path.Path
}

// ExplainWorkload words an error of a change of a workload that says something
// about the workload itself, and returns nil for any other. The title names what
// is meant.
func ExplainWorkload(verb, title string, at WorkloadAt, err error) diag.Diagnostic {
	conflict, hold, stuck, wrongPath := new(rollout.ConflictError), new(rollout.HoldError), new(rollout.StuckError), new(workload.PathError)
	config := new(workload.ConfigError)
	switch {
	case errors.As(err, &config):
		return diag.NewAttributeErrorDiagnostic(at.Workload, "Unable to "+verb+" tolerations of "+config.Ref.Title()+": "+workload.ConfigKey+" cannot be edited",
			"Nothing has been written to it: "+config.Message+". Correct the text (kubectl edit "+config.Ref.Kubectl(config.Ref.Name)+"), and apply again.")
	case errors.As(err, &conflict):
		return conflicting(conflict.Conflicts, at)
	case errors.As(err, &hold):
		return Held(hold, at)
	case errors.As(err, &wrongPath) && wrongPath.WayOut != "":
		return diag.NewAttributeErrorDiagnostic(at.Workload, "Unable to find the tolerations of "+title, wrongPath.Message+". "+wrongPath.WayOut)
	case errors.As(err, &wrongPath):
		return diag.NewAttributeErrorDiagnostic(at.Path, "Unable to find the tolerations of "+title,
			wrongPath.Message+". Name the field that holds the list of tolerations.")
	case errors.Is(err, kube.ErrNoKind):
		return diag.NewAttributeErrorDiagnostic(at.Workload.AtName("kind"), "Unable to find the kind of "+title,
			"The cluster serves no such kind. Check "+at.Workload.AtName("kind").String()+" and "+at.Workload.AtName("api_version").String()+" (kubectl api-resources).\n\nOriginal error: "+err.Error())
	case errors.Is(err, kube.ErrNoVersion):
		return diag.NewAttributeErrorDiagnostic(at.Workload.AtName("api_version"), "Unable to find the kind of "+title,
			"The cluster serves this kind in other versions alone. Change "+at.Workload.AtName("api_version").String()+" (kubectl api-resources).\n\nOriginal error: "+err.Error())
	case errors.Is(err, kube.ErrNamespaced):
		return diag.NewAttributeErrorDiagnostic(at.Workload.AtName("namespace"), "Unable to find "+title, "Objects of this kind have a namespace: name it.")
	case errors.Is(err, kube.ErrNotNamespaced):
		return diag.NewAttributeErrorDiagnostic(at.Workload.AtName("namespace"), "Unable to find "+title, "Objects of this kind have no namespace: leave it out.")
	case errors.Is(err, kube.ErrNotFound):
		among := ""
		if resource := kube.ResourceOf(err); resource != "" {
			among = " among its " + resource
		}
		return diag.NewAttributeErrorDiagnostic(at.Workload, "Unable to find "+title,
			"The cluster has no such object"+among+". Check the kind, the API group, the namespace and the name. If this apply creates it, create it first, or make its name known only after it is created.\n\nOriginal error: "+err.Error())
	case errors.As(err, &stuck):
		return diag.NewAttributeErrorDiagnostic(at.Workload, "Unable to "+verb+" tolerations of "+title+": the rollout did not finish"+inTime(stuck.Err), stuckDetail(verb, stuck))
	}
	return nil
}

// conflicting words that entries are owned by another resource, or are there
// already with another value.
func conflicting(conflicts []planner.WorkloadConflict, at WorkloadAt) diag.Diagnostic {
	first := conflicts[0]
	lines := make([]string, len(conflicts))
	for i, c := range conflicts {
		switch {
		case c.Pin == nil:
			lines[i] = fmt.Sprintf("  %s: %s is owned by %q", c.Workload.Title(), taint.FormatToleration(c.Toleration), c.Owner)
		case c.Pin.Owner != "":
			lines[i] = fmt.Sprintf("  %s: the entry %s=%s of its node selector is owned by %q", c.Workload.Title(), c.Pin.Key, c.Pin.Value, c.Pin.Owner)
		default:
			lines[i] = fmt.Sprintf("  %s: its node selector already requires %s=%s", c.Workload.Title(), c.Pin.Key, c.Pin.Value)
		}
	}
	detail := "Nothing has been written:\n\n" + strings.Join(lines, "\n") + "\n\n"
	if first.Pin != nil {
		detail += "An entry of a node selector without an owner is never overwritten: change it there, choose another label, or leave out pin."
		if first.Pin.Owner != "" {
			detail += " " + MadeUp(first.Workload.Annotation(label.OwnedAnnotation), first.Workload.Title(), first.Workload.APIVersion)
		}
		return diag.NewAttributeErrorDiagnostic(at.Pin, fmt.Sprintf("Unable to require label %q in %s", first.Pin.Key, first.Workload.Title()), detail)
	}
	return diag.NewAttributeErrorDiagnostic(at.Tolerations, fmt.Sprintf("Unable to claim toleration %q of %s", taint.FormatToleration(first.Toleration), first.Workload.Title()),
		detail+"Remove the toleration from the configuration of that resource and apply that first. If that resource no longer exists anywhere, import the toleration under its configuration and destroy it. "+
			"If it is this resource's own id, an earlier create was interrupted, or a second state applies the same configuration: in the first case, apply with -replace. "+MadeUp(first.Workload.Annotation(toleration.OwnedAnnotation), first.Workload.Title(), first.Workload.APIVersion))
}

// Held words that running pods would not be replaced.
func Held(hold *rollout.HoldError, at WorkloadAt) diag.Diagnostic {
	w, pods := hold.Workload, hold.Pods
	summary := "Unable to change the tolerations of " + w.Title() + ": its pods would not be replaced"
	if w.Rolling.Immutable {
		summary = "Unable to change the tolerations of " + w.Title() + ": its template is fixed"
	}
	detail, after := "Running pods will not get the tolerations: "+w.Rolling.Hold+". ", ""
	if hold.Written {
		detail += "The template has the new tolerations already."
		after = " Then apply again."
	} else {
		detail += "Nothing has been written."
	}
	if len(pods) > 0 {
		names := make([]string, len(pods))
		for i, p := range pods {
			names[i] = p.Name
		}
		detail += " " + Count(len(pods), "pod") + " would stay without them: " + Some(names) + "."
	}
	detail += "\n\nTo fix this: " + w.Rolling.WayOut + "." + after
	attribute := at.Workload
	if !w.Rolling.Immutable && at.Wait != nil {
		detail += " Or set " + at.Wait.String() + " = false to change the template alone. " + later(w) + ", and no taint may rely on them before all pods have them."
		attribute = *at.Wait
	}
	return diag.NewAttributeErrorDiagnostic(attribute, summary, detail)
}

// later reports when pods get tolerations that nothing waits for.
func later(w *workload.Workload) string {
	if w.Rolling.Below > 0 {
		return "Pods below the partition then keep the old template, also when they are recreated, until it is lowered"
	}
	return "Pods then get the tolerations when they are recreated"
}

// RefuseHeld refuses a change of a workload that its running pods would not follow,
// before the first write; false means that it did.
func RefuseHeld(t planner.Tolerations, snapshot *snapshot.Snapshot, plan planner.Plan, at WorkloadAt, diags *diag.Diagnostics) bool {
	written := false
	for _, step := range plan.Steps {
		written = written || step.Workload != nil && step.Workload.Ref == t.Workload.Ref && step.Template() && step.Kind != planner.Wait
	}
	kept := t.Workload.Rolling.Kept(planner.Lacking(snapshot, t.Workload, t.Claim.Tolerations, t.Pin.Labels))
	switch {
	case written && t.Workload.Rolling.Immutable:
	case t.NoWait || t.Claim.Release || len(kept) == 0:
		return true
	}
	diags.Append(Held(&rollout.HoldError{Workload: t.Workload, Pods: kept, Written: planner.Holds(t.Workload.Tolerations, t.Claim.Tolerations)}, at))
	return false
}

// WarnTemplate reports other obstacles to tolerations that a workload's template must have. Its
// pods are waited for where waits is set, and are to leave all other nodes where pinned is.
func WarnTemplate(w *workload.Workload, wanted []corev1.Toleration, waits, pinned bool, at WorkloadAt, diags *diag.Diagnostics) {
	warnDefault(w, wanted, pinned, at, diags)
	for _, t := range wanted {
		if earlier := toleration.Shadowing(w.Tolerations, t); earlier != nil {
			diags.AddAttributeWarning(at.Tolerations, fmt.Sprintf("Toleration %q of %s is shadowed", taint.FormatToleration(t), w.Title()),
				"The first match in a pod's list decides, and "+taint.FormatToleration(*earlier)+" is before it: this toleration has no effect. Change the earlier one where it comes from.")
		}
	}
	if waits && len(w.Pods) == 0 {
		attribute := at.Workload
		if at.Wait != nil {
			attribute = *at.Wait
		}
		diags.AddAttributeWarning(attribute, "The pods of "+w.Title()+" are not known",
			"No workload in the cluster names this object as its owner, so apply cannot wait for its pods. No taint should rely on these tolerations before the pods have them: data.kubetaint_workloads shows that.")
	}
}

// warnDefault reports that the first entry of a list takes the place of what an
// operator uses where it is empty.
func warnDefault(w *workload.Workload, wanted []corev1.Toleration, pinned bool, at WorkloadAt, diags *diag.Diagnostics) {
	own := workload.DefaultOf(w.Ref)
	kept := pinned || slices.ContainsFunc(wanted, func(t corev1.Toleration) bool { return t.Key == own || t.Key == "" })
	if own == "" || len(w.Tolerations) > 0 || kept {
		return
	}
	diags.AddAttributeWarning(at.Tolerations, fmt.Sprintf("The first toleration of %s replaces its operator's own: %s", w.Title(), own),
		"With an empty list, the operator adds that toleration to its pods. With any entry, its pods have the list alone. Add the operator's own toleration to yours, unless its pods should not run on these nodes.")
}

// TakenOver names the tolerations, by workload, that a plan adopts from an earlier
// object with this id.
func TakenOver(plan planner.Plan, owner string) []string {
	var taken []string
	for _, step := range plan.Steps {
		if step.Workload == nil {
			continue
		}
		for _, mark := range step.Workload.Record {
			one := step.Workload.Title() + ": " + taint.FormatToleration(mark.Toleration())
			if !mark.Retiring && mark.Owner == owner && toleration.Contains(step.Merged.TakenOver, mark.Toleration()) && !slices.Contains(taken, one) {
				taken = append(taken, one)
			}
		}
	}
	return taken
}
