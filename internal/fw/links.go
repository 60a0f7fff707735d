// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package fw

import (
	"errors"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/eviction"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/planner"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/rollout"
)

// CheckLinks refuses to rely on tolerations that live pods do not carry and will
// not by themselves.
func (d *Data) CheckLinks(linked []string, snapshot *eviction.Snapshot, diags *diag.Diagnostics) bool {
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

// Foreseen is the cluster as linked resources will have left it when the taints come, as
// far as pods are given something when they are made.
func (d *Data) Foreseen(snapshot *eviction.Snapshot, linked []string) *eviction.Snapshot {
	if rules := d.Policies.Over(snapshot.Admission, linked); rules != snapshot.Admission {
		return snapshot.Admitting(rules)
	}
	return snapshot
}

// unreliable words that linked tolerations are not carried by live pods that do not
// follow their template.
func unreliable(id string, p planner.PlannedTolerations, pods []*eviction.Pod) diag.Diagnostic {
	return diag.NewAttributeErrorDiagnostic(path.Root("tolerated_by"), "Unable to rely on the tolerations of "+p.Ref.Title(),
		behind(pods)+" They do not follow a change of its template ("+p.Hold+"), and \""+id+"\" does not wait for them (wait_for_rollout = false): the taints would evict them.\n\n"+
			"The way out: apply the tolerations without these taints, and "+p.WayOut+". Once every live pod carries the tolerations, the taints are let through.")
}

// behind counts and names live pods without the tolerations of their workload.
func behind(pods []*eviction.Pod) string {
	names := make([]string, len(pods))
	for i, p := range pods {
		names[i] = p.Name
	}
	return CountVerb(len(pods), "of its pods lives without them", "of its pods live without them") + ": " + Some(names) + "."
}

// ExplainPods words that linked workloads are not ready for the taints.
func ExplainPods(place string, err error) diag.Diagnostic {
	what := "The workloads that tolerated_by names have live pods without the tolerations. No taint has been written, so that nobody is evicted. " +
		"Find out why they do not follow (kubectl rollout status), or allow them more time in timeouts, and apply again."
	if held := new(rollout.HoldError); errors.As(err, &held) {
		what = "The tolerations of " + held.Workload.Title() + ": " + behind(held.Pods) + " They do not follow a change of its template (" + held.Workload.Rolling.Hold + "). " +
			"No taint has been written, so that nobody is evicted.\n\nThe way out: " + held.Workload.Rolling.WayOut + ". Once every live pod carries the tolerations, apply again."
	}
	return diag.NewAttributeErrorDiagnostic(path.Root("tolerated_by"), "Unable to write taints of "+place+": not all pods tolerate them yet",
		what+"\n\nOriginal error: "+err.Error())
}
