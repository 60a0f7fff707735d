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

	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/tf/message"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/toleration"
)

// at is where the workload and its tolerations stand.
var at = func() message.WorkloadAt {
	wait := path.Root("wait_for_rollout")
	return message.WorkloadAt{Workload: path.Root("workload"), Path: path.Root("path"), Tolerations: path.Root("tolerations"), Wait: &wait}
}()

// explain words an error of a change.
func explain(verb string, desired wanted, err error) diag.Diagnostic {
	title := desired.target.title()
	if said := message.ExplainWorkload(verb, title, at, err); said != nil {
		return said
	}
	if said := damaged(desired, err); said != nil {
		return said
	}
	goesOn := message.GoesOn(verb, "Workloads are changed one by one; "+message.Owned, "import the resource and destroy it.")
	return message.Failed("Unable to "+verb+" tolerations of "+title, goesOn, err)
}

// damaged words that the record of a workload cannot be read; nil for any other error.
func damaged(desired wanted, err error) diag.Diagnostic {
	// One of several workloads is named by the error itself.
	return message.ExplainRecord(err, desired.target.title(), desired.target.APIVersion, at.Workload)
}

// warnRetiring says after a destroy what stays because pods need it.
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
		it := message.Agree(len(left), "it", "them")
		goes := "The apply of a kubetaint resource of the same configuration that removes taints of the same key removes " + it + " too. A toleration without a key stays until it is removed by hand, with the annotation " + w.Annotation(toleration.OwnedAnnotation) + "."
		if found, err := r.Data.Cluster.FindsMarks(ctx, w.Ref); err == nil && !found {
			goes = "No apply looks for " + it + " there, because the credentials have no permission for this kind (list and patch): " +
				"the guide \"Permissions\" of the provider's documentation shows how to grant it. Without it, " +
				"remove the entry by hand once these taints are removed, and the annotation " + w.Annotation(toleration.OwnedAnnotation) + " too."
		}
		diags.AddWarning(fmt.Sprintf("%s of %s %s for now: %s", message.Count(len(left), "toleration"), w.Title(), message.Agree(len(left), "stays", "stay"), strings.Join(left, ", ")),
			"Its pods run on nodes with taints that they tolerate only with "+it+": without "+it+", new pods could not be scheduled there. "+message.Agree(len(left), "It is", "They are")+" kept until no taint needs "+it+". "+goes)
	}
}

// warnLeft reports that entries which were imported leave the state and stay where
// they are.
func warnLeft(desired wanted, observed observation, own ownership, diags *diag.Diagnostics) {
	kept := own.Keep(toleration.IDs(desired.claim.Tolerations)).Imported
	var left []string
	for _, w := range observed.workloads {
		for _, t := range w.Tolerations {
			generations, imported := own.Imported[toleration.IDOf(t)]
			if _, still := kept[toleration.IDOf(t)]; imported && !still && slices.Contains(generations, "") {
				left = append(left, taint.FormatToleration(t))
			}
		}
	}
	message.WarnLeftThere("toleration", desired.claim.Owner, desired.target.title(), left, diags)
}

// warnAbandoned reports what a destroy leaves behind because it cannot be removed any
// more.
func warnAbandoned(desired wanted, observed observation, diags *diag.Diagnostics) {
	for _, w := range observed.workloads {
		var left []corev1.Toleration
		for _, mark := range w.Record {
			if w.Rolling.Immutable && desired.claim.On(w.Grouped()).Owns(toleration.Record{mark}) {
				left = append(left, mark.Toleration())
			}
		}
		if len(left) > 0 {
			diags.AddWarning(fmt.Sprintf("%s %s in %s: %s", message.Count(len(left), "toleration"), message.Agree(len(left), "stays", "stay"), w.Title(), toleration.Format(left)),
				"The rest is no longer managed, and is deleted with the object: "+w.Rolling.Hold+".")
		}
	}
}
