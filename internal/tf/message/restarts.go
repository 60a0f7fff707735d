// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package message

import (
	"maps"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	corev1 "k8s.io/api/core/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/machineset"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/planner"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/rollout"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/toleration"
)

// AboutTaken words what a change of nodes takes away.
func AboutTaken(target planner.Target, plan planner.NodePlan) Subject {
	return Subject{Verb: "Removing", Taints: plan.Taken(), Preposition: "from", Where: Where(target, len(plan.Switches))}
}

// AboutTakenFromSets words what the nodes of MachineSets lose, and returns what they have then.
func AboutTakenFromSets(all []machineset.Affected, where string) (Subject, map[string][]corev1.Taint) {
	after := machineset.TaintsAfter(all)
	var nodes []*snapshot.Node
	for _, a := range all {
		nodes = slices.AppendSeq(nodes, maps.Values(a.Nodes))
	}
	return Subject{Verb: "Removing", Taints: planner.Taken(nodes, after), Preposition: "from", Where: where}, after
}

// WarnStays names tolerations that retire, and that no taint needs any more when these taints
// have gone, but that stay: nothing proves the marks.
func WarnStays(subject Subject, steps []planner.Step, diags *diag.Diagnostics) {
	if len(steps) == 0 {
		return
	}
	lines, count := "", 0
	for _, s := range steps {
		for _, t := range s.Merged.Removed {
			count++
			lines += "\n  - " + s.Workload.Title() + ": " + taint.FormatToleration(t)
		}
	}
	whose := Count(len(steps), "workload")
	if len(steps) == 1 {
		whose = steps[0].Workload.Title()
	}
	diags.AddWarning(subject.String()+" leaves "+Count(count, "toleration")+" of "+whose+" that no taint needs any more",
		"They were kept until no taint needs them, and would be removed with the taints. But other writers of a workload can forge such ownership records. "+
			"Nothing proves these: the resource that they name is neither in tolerated_by nor part of the same run.\n"+lines+
			"\n\nIf that resource still exists, it removes them itself: apply again. Otherwise remove them from the template by hand, with their entries in the annotation "+toleration.OwnedAnnotation+", unless another tool needs them.")
}

// WarnRestarts words contractions that a change of taints leads to.
func WarnRestarts(subject Subject, plan planner.Plan, diags *diag.Diagnostics) {
	all := costs(plan)
	bill := add(all)
	if bill.pods == 0 {
		return
	}
	restarting := slices.DeleteFunc(slices.Clone(all), func(c *cost) bool { return c.pods == 0 })
	whose := Count(len(restarting), "workload") + " in 1 rollout each"
	if len(restarting) == 1 {
		whose = restarting[0].workload.Title() + " in 1 rollout"
	}
	kept, after := "for taints that this apply removes. It removes these tolerations after the taints. ", "removed"
	if len(subject.Taints) == 0 {
		kept, after = "for taints that no node has any more. This apply removes these tolerations. ", "written"
	}
	diags.AddWarning(subject.String()+" restarts "+Count(bill.pods, "pod")+" of "+whose,
		"No resource claims the tolerations below any more. They were kept only because pods needed them "+kept+
			"Tolerations are part of the pod template, and a change of the template replaces the pods.\n"+bill.lines+
			"\n\nThe rollouts begin after the taints are "+after+". They evict no pod, and apply does not wait for them.")
}

// WarnRetained reports that tolerations which pods needed under taints that are gone
// could not be removed. The taints are gone already, so that it fails nothing.
func WarnRetained(place string, done rollout.Result, diags *diag.Diagnostics) {
	if done.Retained == nil {
		return
	}
	diags.AddWarning("Unable to remove tolerations that "+place+" no longer needs",
		"The change of the taints is complete. The tolerations stay on their workloads and in policies, and do no harm. They are removed by the next apply of their own resource, or of one that names taints of their keys.\n\nOriginal error: "+done.Retained.Error())
}
