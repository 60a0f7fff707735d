// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package fw

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

// CheckLinks refuses to rely on tolerations that running pods do not have and will
// not by themselves.
func (d *Data) CheckLinks(linked []string, snapshot *snapshot.Snapshot, diags *diag.Diagnostics) bool {
	for _, id := range linked {
		planned, _ := d.Planned.Of(id)
		for _, p := range planned {
			if pods := p.Behind(snapshot); len(pods) > 0 {
				diags.Append(unreliable(id, p, pods))
				return false
			}
		}
	}
	return true
}

// warnLinksBlocked warns that apply waits for running pods of linked workloads which do not get
// the tolerations by themselves. Where a linked resource changes a template and waits for its
// pods, its own plan warns.
func (d *Data) warnLinksBlocked(linked []string, snapshot *snapshot.Snapshot, diags *diag.Diagnostics) {
	for _, id := range linked {
		planned, _ := d.Planned.Of(id)
		for _, p := range planned {
			if p.Lags(snapshot) {
				warnStopped(p.Workload, snapshot, false, path.Root("tolerated_by"), diags)
			}
		}
	}
}

// Foreseen is the cluster as linked resources will have left it when the taints come, as
// far as pods are given something when they are made.
func (d *Data) Foreseen(snapshot *snapshot.Snapshot, linked []string) *snapshot.Snapshot {
	if rules := d.Policies.Over(snapshot.Admission, linked); rules != snapshot.Admission {
		return snapshot.Admitting(rules)
	}
	return snapshot
}

// unreliable words that linked tolerations are missing on running pods that do not
// follow their template.
func unreliable(id string, p planner.PlannedTolerations, pods []*snapshot.Pod) diag.Diagnostic {
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
