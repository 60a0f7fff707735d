// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package namespacetolerations

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	corev1 "k8s.io/api/core/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/admission"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/kube"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/planner"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/rollout"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/tf/message"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/toleration"
)

var (
	defaultAt = path.Root(admission.DefaultList)
	allowedAt = path.Root(admission.AllowedList)
)

// Claim notes what this resource wants: a second one that wants the same would adopt the entries.
func (r *namespaceTolerations) Claim(desired wanted, known bool, holder string, diags *diag.Diagnostics) {
	for _, claim := range desired.Claims() {
		if known {
			r.Data.ClaimNamespaceTolerations(holder, desired.namespace, claim, path.Root(claim.Path), diags)
		}
	}
}

// Preview refuses what cannot be, and reports what the change does to pods.
func (r *namespaceTolerations) Preview(ctx context.Context, desired wanted, own ownership, diags *diag.Diagnostics) {
	r.Data.RefuseOperators(defaultAt, desired.Default.Tolerations, diags)
	_, err := r.Data.Identify(ctx, own.Cluster, diags)
	var seen *kube.NamespaceLists
	if err == nil && !diags.HasError() {
		seen, err = r.Data.Cluster.NamespaceLists(ctx, desired.namespace)
	}
	var merged admission.MergedLists
	if err == nil && !diags.HasError() {
		merged, err = rollout.MergeLists(desired.ListClaim, seen.Lists)
	}
	switch {
	case diags.HasError():
		return
	case kube.OutOfReach(err):
		r.Data.Unreachable(err, diags)
		return
	case err != nil:
		diags.Append(message.ExplainLists("change", desired.namespace, err))
		return
	}
	if taken := merged.TakenOver(); len(taken) > 0 && own.Generation == "" {
		diags.AddWarning(fmt.Sprintf("Creating adopts tolerations of namespace %q", desired.namespace),
			"Entries with the id \""+desired.Default.Owner+"\" exist already: "+toleration.Format(taken)+". An earlier create was interrupted, or this object replaces another one. They are adopted as they are. "+
				"If another configuration uses the same id, give one of them another owner in the provider block. Otherwise each overwrites the other's tolerations.")
	}
	r.warnPlugIn(ctx, desired, diags)
	rejecting := warnRejecting(desired, merged.Lists, diags)
	r.warnForbidden(ctx, desired, seen.Lists, merged.Lists, rejecting, diags)
}

// warnPlugIn reports that no plug-in reads the annotations. Where it cannot be found out, nothing
// is said.
func (r *namespaceTolerations) warnPlugIn(ctx context.Context, desired wanted, diags *diag.Diagnostics) {
	on, err := r.Data.Cluster.RestrictsTolerations(ctx, desired.namespace)
	if err != nil || on {
		return
	}
	diags.AddWarning(fmt.Sprintf("The tolerations of namespace %q have no effect: the admission plug-in PodTolerationRestriction is off", desired.namespace),
		"A dry run of a pod shows it: the API server did not treat the pod as the plug-in does. The annotations are written all the same. "+
			"Enable the plug-in (kube-apiserver --enable-admission-plugins=PodTolerationRestriction), or use kubetaint_toleration_policy, which needs no plug-in.")
}

// warnRejecting warns that every new pod of the namespace would be rejected, because the lists
// do not allow what admission itself adds to pods. It returns these tolerations.
func warnRejecting(desired wanted, after admission.Lists, diags *diag.Diagnostics) []corev1.Toleration {
	which, all := "Every new pod of namespace %q", after.Rejecting(false)
	if len(after.Rejecting(true)) == 0 {
		which += " with requests or limits"
	}
	var missing []string
	for _, t := range all {
		missing = append(missing, "\n  "+taint.FormatToleration(t))
	}
	if len(missing) > 0 {
		diags.AddAttributeWarning(allowedAt, fmt.Sprintf(which+" would be rejected", desired.namespace),
			"The API server adds tolerations to new pods, and the admission plug-in PodTolerationRestriction rejects pods with tolerations that allowed does not cover. Add to allowed:\n"+strings.Join(missing, ""))
	}
	return all
}

// warnForbidden names the running pods that could not be recreated, because the namespace
// will not allow what they tolerate beyond what it rejects in every pod.
func (r *namespaceTolerations) warnForbidden(ctx context.Context, desired wanted, before, after admission.Lists, rejecting []corev1.Toleration, diags *diag.Diagnostics) {
	if len(after.Allowed) == 0 {
		return
	}
	snapshot, err := r.Data.Cluster.Snapshot(ctx)
	if err != nil {
		if !errors.Is(err, kube.ErrForbidden) {
			diags.AddAttributeWarning(allowedAt, "Unable to determine which pods of namespace \""+desired.namespace+"\" could not be recreated",
				strings.TrimSpace("The change is planned, but which running pods the namespace would reject when they are recreated is not known. "+message.Advise(err))+"\n\nOriginal error: "+err.Error())
		}
		return
	}
	pods, owners := planner.NewlyForbidden(snapshot, desired.namespace, before, after, rejecting)
	if pods == 0 {
		return
	}
	var rows []string
	for _, tolerations := range slices.Sorted(maps.Keys(owners)) {
		rows = append(rows, "  "+tolerations+": "+message.Some(slices.Compact(slices.Sorted(slices.Values(owners[tolerations])))))
	}
	diags.AddAttributeWarning(allowedAt, fmt.Sprintf("%s of namespace %q could not be recreated", message.Count(pods, "running pod"), desired.namespace),
		"Their tolerations are not in allowed, and the admission plug-in PodTolerationRestriction rejects such pods. They run until something deletes them, and are not recreated then. "+
			"Add these tolerations to allowed:\n\n"+strings.Join(rows, "\n"))
}
