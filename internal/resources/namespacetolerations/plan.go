// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package namespacetolerations

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"
	corev1 "k8s.io/api/core/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/admission"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/kube"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/tf/managed"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/tf/message"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/tf/session"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/toleration"
)

// ModifyPlan completes the plan, and reports what the change means for pods.
func (r *namespaceTolerations) ModifyPlan(ctx context.Context, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse) {
	if r.Data == nil {
		return
	}
	defer func() { r.Data.Distinguish(ctx, &resp.Diagnostics, resp.Plan, req.State) }()
	// A replacement claims its entries a second time, with the private state of what it replaces.
	var own ownership
	holder := managed.LoadOwnership[entry](ctx, req.Private, session.IDOf(ctx, req.State), &resp.Diagnostics)
	var state, plan model
	creating := req.State.Raw.IsNull()
	if !creating {
		resp.Diagnostics.Append(req.State.Get(ctx, &state)...)
		holder.RefuseImportedTwice(r.Data, state.ID.ValueString(), req.Plan.Raw.IsNull(), &resp.Diagnostics)
		if r.Data.NoteDestroy(ctx, req.Plan, "namespace_tolerations", state.freshID, &resp.Diagnostics); req.Plan.Raw.IsNull() {
			return
		}
		var err error
		if own, err = r.ownership(ctx, req.Private, state, &resp.Diagnostics); err != nil {
			r.Data.Unreadable("the tolerations of namespace \""+state.Namespace.ValueString()+"\"", err, &resp.Diagnostics)
			return
		}
		holder = own
	}
	resp.Diagnostics.Append(req.Plan.Get(ctx, &plan)...)
	if resp.Diagnostics.HasError() {
		return
	}
	if !creating {
		plan.keepWording(ctx, state)
	}
	desired, known := plan.desired(ctx, own, &resp.Diagnostics)
	if creating && known {
		plan.ID = types.StringValue(newID(r.Data.Owner, desired))
		desired = desired.as(plan.ID.ValueString())
		r.Data.NoteCreate("namespace_tolerations", plan.ID.ValueString(), &resp.Diagnostics)
	}
	resp.Diagnostics.Append(resp.Plan.Set(ctx, plan)...)
	if known {
		r.claim(desired, holder, &resp.Diagnostics)
	}
	if !known || resp.Diagnostics.HasError() || !creating && resp.Plan.Raw.Equal(req.State.Raw) {
		return
	}
	r.Data.RefuseOperators(path.Root("default"), desired.Default.Tolerations, &resp.Diagnostics)
	r.preview(ctx, desired, own, &resp.Diagnostics)
}

// claim notes what this resource wants, so that a second one in the same run that wants the same
// is told at plan: it would adopt the entries at apply.
func (r *namespaceTolerations) claim(desired wanted, own ownership, diags *diag.Diagnostics) {
	holder := session.Holder(own.Generation)
	claims := desired.Claims()
	r.Data.ClaimNamespaceTolerations(holder, desired.namespace, claims[0], defaultAt, diags)
	r.Data.ClaimNamespaceTolerations(holder, desired.namespace, claims[1], allowedAt, diags)
}

// preview refuses what cannot be, and reports what the change does to pods.
func (r *namespaceTolerations) preview(ctx context.Context, desired wanted, own ownership, diags *diag.Diagnostics) {
	_, err := r.Data.Identify(ctx, own.Cluster, diags)
	var seen *kube.NamespaceLists
	if err == nil && !diags.HasError() {
		seen, err = r.Data.Cluster.NamespaceLists(ctx, desired.namespace)
	}
	switch {
	case err == nil && seen != nil && seen.Err == nil:
	case diags.HasError():
		return
	case err != nil && kube.OutOfReach(err):
		r.Data.Unreachable(err, diags)
		return
	default:
		if err == nil {
			err = readable(seen)
		}
		diags.Append(explain("change", desired.namespace, err))
		return
	}
	merged := desired.Merge(seen.Lists)
	if err := refuse(merged); err != nil {
		diags.Append(explain("change", desired.namespace, err))
		return
	}
	if taken := merged.TakenOver(); len(taken) > 0 && own.Generation == "" {
		diags.AddWarning(fmt.Sprintf("Creating adopts tolerations of namespace %q", desired.namespace),
			"Entries with the id \""+desired.owner()+"\" exist already: "+toleration.Format(taken)+". An earlier create was interrupted, or this object replaces another one. They are adopted as they are. "+
				"If another configuration uses the same id, give one of them another owner in the provider block: the two would take the tolerations from each other.")
	}
	r.warnPlugIn(ctx, desired, diags)
	rejecting := warnRejecting(desired, merged.Lists, diags)
	r.warnForbidden(ctx, desired, seen.Lists, merged.Lists, rejecting, diags)
}

// warnRejecting warns that every new pod of the namespace would be rejected, because the lists
// do not allow what admission itself adds to pods. It returns these tolerations.
func warnRejecting(desired wanted, after admission.Lists, diags *diag.Diagnostics) []corev1.Toleration {
	not, which := after.Rejecting(true), "Every new pod of namespace %q"
	all := after.Rejecting(false)
	if len(not) == 0 {
		which += " with requests or limits"
	}
	if len(all) > 0 {
		diags.AddAttributeWarning(allowedAt, fmt.Sprintf(which+" would be rejected", desired.namespace),
			"The API server adds tolerations to new pods, and the admission plug-in PodTolerationRestriction rejects pods with tolerations that allowed does not cover. Add to allowed:\n\n  "+
				strings.Join(formatEach(all), "\n  "))
	}
	return all
}

func formatEach(list []corev1.Toleration) []string {
	out := make([]string, len(list))
	for i, t := range list {
		out[i] = taint.FormatToleration(t)
	}
	return out
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
	forbidden := map[string][]string{}
	count := 0
	for _, pods := range snapshot.Pods {
		for _, p := range pods {
			if p.Namespace != desired.namespace || p.Completed || p.Mirror {
				continue
			}
			not := slices.DeleteFunc(after.Forbidden(p.Scheduling.Tolerations), func(t corev1.Toleration) bool { return toleration.Contains(rejecting, t) })
			if len(not) == 0 || len(before.Forbidden(p.Scheduling.Tolerations)) > 0 {
				continue
			}
			owner := snapshot.Owner(p).String()
			if owner == "" {
				owner = "Pod/" + p.Name
			}
			forbidden[toleration.Format(not)] = append(forbidden[toleration.Format(not)], owner)
			count++
		}
	}
	if count > 0 {
		diags.AddAttributeWarning(allowedAt, fmt.Sprintf("%s of namespace %q could not be recreated", message.Count(count, "running pod"), desired.namespace),
			"They tolerate what allowed does not list, and the admission plug-in PodTolerationRestriction rejects such pods: they run until something deletes them, and are not recreated then. "+
				"Add to allowed what they need:\n\n"+words(forbidden))
	}
}
