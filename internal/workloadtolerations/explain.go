// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package workloadtolerations

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/eviction"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/fw"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/kube"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/planner"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/rollout"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/workload"
)

// explain words an error of a change.
func explain(verb string, desired wanted, err error) diag.Diagnostic {
	conflict, hold, stuck, wrongPath := new(rollout.ConflictError), new(rollout.HoldError), new(rollout.StuckError), new(workload.PathError)
	title := desired.target.title()
	switch {
	case errors.As(err, &conflict):
		return conflicting(conflict.Conflicts)
	case errors.As(err, &hold):
		return held(hold.Workload, hold.Pods)
	case errors.As(err, &wrongPath):
		return diag.NewAttributeErrorDiagnostic(path.Root("path"), "Unable to find the tolerations of "+title,
			wrongPath.Message+". Name the field that holds the list of tolerations.")
	case errors.Is(err, kube.ErrNoKind):
		return diag.NewAttributeErrorDiagnostic(path.Root("workload").AtName("kind"), "Unable to find the kind of "+title,
			"The cluster serves no such kind. Check workload.kind and workload.api_version (kubectl api-resources).\n\nOriginal error: "+err.Error())
	case errors.Is(err, kube.ErrNotFound):
		return diag.NewAttributeErrorDiagnostic(path.Root("workload"), "Unable to find "+title,
			"There is no such object in the cluster. Check the kind, the namespace and the name. If this apply creates it, create it first, or make its name known only after it is created.\n\nOriginal error: "+err.Error())
	case errors.As(err, &stuck):
		return diag.NewErrorDiagnostic("Unable to "+verb+" tolerations of "+title+": its pods have not followed", stuckDetail(verb, stuck))
	}
	detail := "What is written stays, and each entry is marked as this resource's. "
	if verb == "create" {
		detail += "Nothing is saved in the state. Apply again to go on where it stopped. To give up instead, import the resource and destroy it."
	} else {
		detail += "Apply again to go on where it stopped."
	}
	if advice := fw.Advise(err); advice != "" {
		detail = advice + "\n\n" + detail
	}
	return diag.NewErrorDiagnostic("Unable to "+verb+" tolerations of "+title, detail+"\n\nOriginal error: "+err.Error())
}

func stuckDetail(verb string, stuck *rollout.StuckError) string {
	var b strings.Builder
	b.WriteString("The tolerations stand in the template, and not every live pod carries them yet:\n")
	list := func(pods []string, what string) {
		if len(pods) > 0 {
			fmt.Fprintf(&b, "\n  %s %s: %s", fw.Count(len(pods), "pod"), what, fw.Some(pods))
		}
	}
	list(stuck.Lacking, "without them")
	list(stuck.Pending, "made anew and on no node yet")
	b.WriteString("\n\nNo taint has been written, so that nobody is evicted. Find out why the rollout stands still (kubectl rollout status, kubectl describe pod), or allow it more time in timeouts. ")
	b.WriteString("Apply again to go on where it stopped.")
	if verb == "create" {
		b.WriteString(" Nothing is saved in the state; what is written is marked and taken over.")
	}
	fmt.Fprintf(&b, "\n\nOriginal error: %v", stuck.Err)
	return b.String()
}

// conflicting words that entries belong to another resource.
func conflicting(conflicts []planner.WorkloadConflict) diag.Diagnostic {
	first := conflicts[0]
	lines := make([]string, len(conflicts))
	for i, c := range conflicts {
		lines[i] = fmt.Sprintf("  %s: %s belongs to %q", c.Workload.Title(), taint.FormatToleration(c.Toleration), c.Owner)
	}
	return diag.NewAttributeErrorDiagnostic(path.Root("tolerations"),
		fmt.Sprintf("Unable to claim toleration %q of %s", taint.FormatToleration(first.Toleration), first.Workload.Title()),
		"Nothing has been written:\n\n"+strings.Join(lines, "\n")+"\n\nA toleration that another resource has marked must be given up there first. If a create was abandoned and nothing manages it any more, import it and destroy that.")
}

// held words that live pods would not follow.
func held(w *workload.Workload, pods []*eviction.Pod) diag.Diagnostic {
	summary := "Unable to change the tolerations of " + w.Title() + ": its pods would not follow"
	if w.Rolling.Immutable {
		summary = "Unable to change the tolerations of " + w.Title() + ": its template is fixed"
	}
	detail := "Live pods keep the tolerations that they were made with, and " + w.Rolling.Hold + ". Nothing has been written."
	if len(pods) > 0 {
		names := make([]string, len(pods))
		for i, p := range pods {
			names[i] = p.Name
		}
		detail += " " + fw.Count(len(pods), "pod") + " would go on without: " + fw.Some(names) + "."
	}
	detail += "\n\nThe way out: " + w.Rolling.WayOut + "."
	attribute := path.Root("workload")
	if !w.Rolling.Immutable {
		detail += " Or set wait_for_rollout = false to change the template alone; pods then get the tolerations when they are made anew, and no taint may rely on them."
		attribute = path.Root("wait_for_rollout")
	}
	return diag.NewAttributeErrorDiagnostic(attribute, summary, detail)
}

// refused words that the API server would not take a write.
func refused(w *workload.Workload, err error) diag.Diagnostic {
	return diag.NewAttributeErrorDiagnostic(path.Root("tolerations"), "Unable to change the tolerations of "+w.Title()+": the API server would refuse it",
		"The change was tried without being made (a dry run), and the API server's rules or an admission policy of the cluster refused it. Lt and Gt need a cluster whose feature gate TaintTolerationComparisonOperators is on.\n\nOriginal error: "+err.Error())
}

// warnRetiring says after a destroy what stays because pods live by it.
func (r *workloadTolerations) warnRetiring(ctx context.Context, desired wanted, diags *diag.Diagnostics) {
	observed, err := r.observe(ctx, desired, "", diags)
	if err != nil {
		return
	}
	for _, w := range observed.workloads {
		var left []string
		for _, mark := range w.Record {
			if mark.Retiring && mark.Owner == desired.claim.Owner {
				left = append(left, taint.FormatToleration(mark.Toleration()))
			}
		}
		if len(left) > 0 {
			diags.AddWarning(fmt.Sprintf("%s of %s stays for now: %s", fw.Count(len(left), "toleration"), w.Title(), strings.Join(left, ", ")),
				"Pods of it run on nodes whose taints they tolerate by that alone: without it they could not come back there. It is marked as retiring, and whichever apply takes the last of these taints away takes it away as well.")
		}
	}
}
