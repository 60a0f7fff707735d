// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package session

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/diag"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/admission"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/kube"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/planner"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/tf/message"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/toleration"
)

// warnWhitelist reports that a namespace allows only certain tolerations, so that the new pods of a
// workload are rejected: for wanted tolerations, or for those that admission adds to every pod.
func (d *Data) warnWhitelist(ctx context.Context, t planner.Tolerations, at message.WorkloadAt, diags *diag.Diagnostics) {
	const plugIn = "Where the admission plug-in PodTolerationRestriction is on, as it is in OpenShift, "
	w := t.Workload
	var seen []string
	for _, key := range w.Pods {
		if slices.Contains(seen, key.Namespace) {
			continue
		}
		seen = append(seen, key.Namespace)
		lists, err := d.Cluster.TolerationLists(ctx, key.Namespace)
		if err != nil {
			continue
		}
		if outside := lists.Forbidden(t.Claim.Tolerations); len(outside) > 0 && !t.Claim.Release {
			diags.AddAttributeWarning(at.Tolerations, fmt.Sprintf("Namespace %q does not allow %s to tolerate %s", key.Namespace, w.Title(), toleration.Format(outside)),
				"Its annotation "+admission.WhitelistAnnotation+" does not cover it. "+plugIn+"new pods of "+w.Title()+" are rejected, and the rollout does not finish. Add the toleration to the annotation first.")
		}
		if rejected := lists.Rejecting(false); len(rejected) > 0 {
			summary := fmt.Sprintf("Namespace %q rejects every new pod of %s", key.Namespace, w.Title())
			if len(lists.Rejecting(true)) == 0 {
				summary = fmt.Sprintf("Namespace %q rejects new pods of %s with requests or limits", key.Namespace, w.Title())
			}
			diags.AddAttributeWarning(at.Workload, summary,
				"The API server adds tolerations to new pods that its annotation "+admission.WhitelistAnnotation+" does not cover: "+toleration.Format(rejected)+". "+
					plugIn+"pods that this change restarts are lost. Add these tolerations to the annotation first (kubetaint_namespace_tolerations does it with allowed).")
		}
	}
}

// WarnRejected reports which pods of a namespace the lists of after keep from being created, and which running ones could not be
// recreated with them.
func (d *Data) WarnRejected(ctx context.Context, namespace string, before, after admission.Lists, diags *diag.Diagnostics) {
	rejecting := message.WarnRejecting(namespace, after, diags)
	if len(after.Allowed) == 0 {
		return
	}
	snapshot, err := d.Cluster.Snapshot(ctx)
	switch {
	case err == nil:
		pods, owners := planner.NewlyForbidden(snapshot, namespace, before, after, rejecting)
		message.WarnForbidden(namespace, pods, owners, diags)
	case !errors.Is(err, kube.ErrForbidden):
		message.WarnForbiddenUnknown(namespace, err, diags)
	}
}
