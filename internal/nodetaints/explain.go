// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package nodetaints

import (
	"context"
	"errors"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/eviction"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/fw"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/planner"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/rollout"
)

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
	return fw.CountVerb(len(pods), "of its pods lives without them", "of its pods live without them") + ": " + fw.Some(names) + "."
}

// explainPods words that linked workloads are not ready for the taints.
func explainPods(desired planner.NodeTaints, err error) diag.Diagnostic {
	what := "The workloads that tolerated_by names have live pods without the tolerations. No taint has been written, so that nobody is evicted. " +
		"Find out why they do not follow (kubectl rollout status), or allow them more time in timeouts, and apply again."
	if held := new(rollout.HoldError); errors.As(err, &held) {
		what = "The tolerations of " + held.Workload.Title() + ": " + behind(held.Pods) + " They do not follow a change of its template (" + held.Workload.Rolling.Hold + "). " +
			"No taint has been written, so that nobody is evicted.\n\nThe way out: " + held.Workload.Rolling.WayOut + ". Once every live pod carries the tolerations, apply again."
	}
	return diag.NewAttributeErrorDiagnostic(path.Root("tolerated_by"), "Unable to write taints of "+fw.Place(desired.Target)+": not all pods tolerate them yet",
		what+"\n\nOriginal error: "+err.Error())
}

// explain words an error of a change.
func explain(verb string, desired planner.NodeTaints, err error) diag.Diagnostic {
	refused, over, left := new(rollout.RefusedError), new(fw.Exceeded), new(fw.Stranded)
	held, stuck := new(rollout.HoldError), new(rollout.StuckError)
	switch {
	case errors.As(err, &left):
		return left.Diagnostic()
	case errors.As(err, &held), errors.As(err, &stuck):
		return explainPods(desired, err)
	case errors.As(err, &refused):
		return fw.ExplainRefusals(desired, refused.Refusals)
	case errors.As(err, &over):
		return over.Diagnostic()
	}
	thing := fw.Place(desired.Target)
	detail := "The taints are written node by node; what is written stays, and each entry is marked as this resource's. "
	switch verb {
	case "create":
		detail += "Nothing is saved in the state. Apply again to go on where it stopped. To give up instead, import the resource and destroy it."
	default:
		detail += "Apply again to go on where it stopped."
	}
	if advice := fw.Advise(err); advice != "" {
		detail = advice + "\n\n" + detail
	}
	return diag.NewErrorDiagnostic("Unable to "+verb+" taints of "+thing, detail+"\n\nOriginal error: "+err.Error())
}

// explainWait words that a named node did not come.
func explainWait(name string, err error) diag.Diagnostic {
	if errors.Is(err, context.DeadlineExceeded) {
		return diag.NewAttributeErrorDiagnostic(path.Root("node_name"), "Unable to find node \""+name+"\"",
			"No node of this name joined the cluster while timeouts.create lasted. Check the name (kubectl get nodes), or give the node more time.\n\nOriginal error: "+err.Error())
	}
	return diag.NewAttributeErrorDiagnostic(path.Root("node_name"), "Unable to wait for node \""+name+"\"", "The wait was interrupted. Nothing has been written; apply again.\n\nOriginal error: "+err.Error())
}

// explainGone words that a named node went away between plan and apply.
func explainGone(name string) diag.Diagnostic {
	return diag.NewAttributeErrorDiagnostic(path.Root("node_name"), "Unable to update taints of node \""+name+"\": the node is gone",
		"The node was there when this was planned and is not now. Nothing has been written. Plan again: the resource then leaves the state and is planned anew.")
}
