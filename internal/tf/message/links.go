// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package message

import (
	"errors"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/planner"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/rollout"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/toleration"
)

// Unreliable words that linked tolerations are missing on running pods that do not
// follow their template.
func Unreliable(id string, p planner.PlannedTolerations, pods []*snapshot.Pod) diag.Diagnostic {
	return diag.NewAttributeErrorDiagnostic(path.Root("tolerated_by"), "Unable to rely on the tolerations of "+p.Ref.Title(),
		behind(pods)+" They are not replaced when its template changes ("+p.Hold+"), and \""+id+"\" does not wait for them (wait_for_rollout = false): the taints would evict them.\n\n"+
			"To fix this: apply the tolerations without these taints, and "+p.WayOut+". Once every running pod has the tolerations, this resource can be applied.")
}

// behind counts and names running pods without the tolerations of their workload.
func behind(pods []*snapshot.Pod) string {
	names := make([]string, len(pods))
	for i, p := range pods {
		names[i] = p.Name
	}
	return CountVerb(len(pods), "of its pods does not have them", "of its pods do not have them") + ": " + Some(names) + "."
}

// ExplainPods words that linked workloads are not ready for the taints.
func ExplainPods(place string, err error) diag.Diagnostic {
	whose, what, original := "the linked workloads", "", err.Error()
	held, stuck := new(rollout.HoldError), new(rollout.StuckError)
	untouched := "This apply has written no taint to " + place + ", so it evicts no pod. "
	switch {
	case errors.As(err, &held):
		whose, original = held.Workload.Title(), ""
		what = behind(held.Pods) + " They are not replaced when its template changes (" + held.Workload.Rolling.Hold + "). " + strings.TrimSpace(untouched) +
			"\n\nTo fix this: " + held.Workload.Rolling.WayOut + ". Once every running pod has the tolerations, apply again."
	case errors.As(err, &stuck) && stuck.MarkedBy != "":
		ref := stuck.Workload.Ref
		whose, original = ref.Title(), ""
		what = "Its ownership record names tolerations of \"" + stuck.MarkedBy + "\", but its template does not have them, so no pod gets them. " + strings.TrimSpace(untouched) +
			"\n\nTo fix this: apply \"" + stuck.MarkedBy + "\", which adds them, and then this resource. " + MadeUp(ref.Annotation(toleration.OwnedAnnotation), whose, ref.APIVersion)
	case errors.As(err, &stuck):
		whose, original = stuck.Workload.Title(), stuck.Err.Error()
		what = unfinished(stuck) + "\n\n" + untouched + findOut(stuck.Workload.Ref)
	}
	if original != "" {
		what += "\n\nOriginal error: " + original
	}
	return diag.NewAttributeErrorDiagnostic(path.Root("tolerated_by"), "Unable to write taints of "+place+": pods of "+whose+" do not tolerate them yet", what)
}
