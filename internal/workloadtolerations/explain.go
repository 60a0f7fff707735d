// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package workloadtolerations

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	corev1 "k8s.io/api/core/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/fw"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/planner"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/toleration"
)

// at is where the workload and its tolerations stand.
var at = func() fw.WorkloadAt {
	wait := path.Root("wait_for_rollout")
	return fw.WorkloadAt{Workload: path.Root("workload"), Path: path.Root("path"), Tolerations: path.Root("tolerations"), Wait: &wait}
}()

// explain words an error of a change.
func explain(verb string, desired wanted, err error) diag.Diagnostic {
	title := desired.target.title()
	if said := fw.ExplainWorkload(verb, title, at, err); said != nil {
		return said
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

// warnRetiring says after a destroy what stays because pods live by it.
func (r *workloadTolerations) warnRetiring(ctx context.Context, desired wanted, diags *diag.Diagnostics) {
	observed, err := r.observe(ctx, desired, "", diags)
	if err != nil {
		return
	}
	for _, w := range slices.Concat(observed.workloads, observed.leavers) {
		var left []string
		for _, mark := range w.Record {
			if mark.Retiring && mark.Owner == desired.claim.Owner {
				left = append(left, taint.FormatToleration(mark.Toleration()))
			}
		}
		if len(left) == 0 {
			continue
		}
		goes := "whichever apply takes the last of these taints away takes it away as well."
		if found, err := r.Data.Cluster.FindsMarks(ctx, w.Ref); err == nil && !found {
			goes = "it goes with an apply that manages tolerations of this object when these taints are gone. No other one looks for it there, because the rights of the credentials do not name this kind (list and patch): " +
				"the guide \"Permissions\" of the provider's documentation tells how. " +
				"If nothing is to manage this object any more, remove the entry by hand then, and the annotation " + toleration.OwnedAnnotation + " with it."
		}
		diags.AddWarning(fmt.Sprintf("%s of %s stays for now: %s", fw.Count(len(left), "toleration"), w.Title(), strings.Join(left, ", ")),
			"Pods of it run on nodes whose taints they tolerate by that alone: without it they could not come back there. It is marked as retiring, and "+goes)
	}
}

// warnTakeOver says that a create makes marks of an earlier one its own.
func warnTakeOver(desired wanted, plan planner.Plan, own ownership, diags *diag.Diagnostics) {
	if own.Generation != "" {
		return
	}
	if taken := fw.TakenOver(plan, desired.claim.Owner); len(taken) > 0 {
		diags.AddWarning(fmt.Sprintf("Creating takes over tolerations of %q", desired.claim.Owner),
			"Entries with this resource's id are there already: "+fw.Some(taken)+". An earlier create did not end, or this object replaces another one. They are taken over as they are. "+
				"If another configuration uses the same id, give one of them another owner in the provider block: the two would take the tolerations from each other.")
	}
}

// warnLeft says that entries which were imported leave the state and stay where
// they are.
func warnLeft(desired wanted, observed observation, own ownership, diags *diag.Diagnostics) {
	kept := own.Keep(toleration.IDs(desired.claim.Tolerations)).Imported
	var left []corev1.Toleration
	for _, w := range observed.workloads {
		for _, t := range w.Tolerations {
			generations, imported := own.Imported[toleration.IDOf(t)]
			if _, still := kept[toleration.IDOf(t)]; imported && !still && slices.Contains(generations, "") && !toleration.Contains(left, t) {
				left = append(left, t)
			}
		}
	}
	if len(left) > 0 {
		diags.AddWarning(fmt.Sprintf("%s of %q leaves the state and stays on %s", fw.Count(len(left), "imported toleration"), desired.claim.Owner, desired.target.title()),
			"What was imported, carries no mark and is not in the configuration is taken to be somebody else's: "+toleration.Format(left)+". It is not removed. Remove by hand what is not wanted, or add it to the configuration.")
	}
}

// warnAbandoned says what a destroy leaves behind because it cannot be taken
// away any more.
func warnAbandoned(desired wanted, observed observation, diags *diag.Diagnostics) {
	for _, w := range observed.workloads {
		var left []corev1.Toleration
		for _, mark := range w.Record {
			if w.Rolling.Immutable && desired.claim.Owns(toleration.Record{mark}) {
				left = append(left, mark.Toleration())
			}
		}
		if len(left) > 0 {
			diags.AddWarning(fmt.Sprintf("%s stays in %s: %s", fw.Count(len(left), "toleration"), w.Title(), toleration.Format(left)),
				"It is given up and goes with the object: "+w.Rolling.Hold+".")
		}
	}
}
