// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package fw

import (
	"context"
	"maps"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	corev1 "k8s.io/api/core/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/kube"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/machineset"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/planner"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/record"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/rollout"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/toleration"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/workload"
)

// WarnRestarts says whose pods restart because taints go that were the last to need
// tolerations which retire: the apply takes these away. Several resources of a run
// may take the taints away together; the one that is planned last says it. Of the
// workloads that are the resource's own, it says itself what they cost.
//
// Nothing is read where no taint goes, and no pods where nothing retires.
func (d *Data) WarnRestarts(ctx context.Context, desired planner.NodeTaints, plan planner.NodePlan, diags *diag.Diagnostics, own ...workload.Ref) {
	if len(plan.Taken()) == 0 {
		return
	}
	planned := d.Switching.Note(planner.TaintChanges{Nodes: []planner.NodeTaints{desired}})
	subject := Subject{Verb: "Removing", Taints: plan.Taken(), Preposition: "from", Where: Where(desired.Target, len(plan.Switches))}
	d.warnFreed(ctx, planned, subject, desired.Claim.Owner, own, diags)
}

// WarnMachineRestarts says the same of MachineSets whose nodes lose taints; own are the workloads
// that the resource changes itself.
func (d *Data) WarnMachineRestarts(ctx context.Context, all []machineset.Affected, frees toleration.Claim, where, owner string, diags *diag.Diagnostics, own ...workload.Ref) {
	after := machineset.TaintsAfter(all)
	var nodes []*snapshot.Node
	for _, a := range all {
		nodes = slices.AppendSeq(nodes, maps.Values(a.Nodes))
	}
	taken := planner.Taken(nodes, after)
	if len(taken) == 0 {
		return
	}
	planned := d.Switching.Note(planner.TaintChanges{Machines: []map[string][]corev1.Taint{after}, Named: frees.Named, Known: frees.Known})
	d.warnFreed(ctx, planned, Subject{Verb: "Removing", Taints: taken, Preposition: "from", Where: where}, owner, own, diags)
}

// warnFreed says which workloads of others restart by changes of taints; an owner says
// it once in a run.
func (d *Data) warnFreed(ctx context.Context, planned planner.TaintChanges, subject Subject, owner string, own []workload.Ref, diags *diag.Diagnostics) {
	steps, stay, err := d.frees(ctx, planned)
	switch {
	case err == nil:
	case kube.OutOfReach(err):
		d.Unreachable(err, diags)
	default:
		diags.AddWarning("Unable to tell which pods restart when taints are removed from "+subject.Where,
			"The change is planned. It also removes tolerations that no resource claims and no taint needs any more, which restarts the pods of their workloads. Which these are is not known.\n\nOriginal error: "+err.Error())
	}
	steps = slices.DeleteFunc(steps, func(s planner.Step) bool {
		return slices.Contains(own, s.Workload.Ref) || !d.Claims.Take("restart/"+s.Workload.String()+"#"+workload.JoinPath(s.Workload.Path), owner)
	})
	warnRestarts(subject, planner.Plan{Steps: steps}, diags)
	stay = slices.DeleteFunc(stay, func(s planner.Step) bool {
		return slices.Contains(own, s.Workload.Ref) || !d.Claims.Take("stays/"+s.Workload.String()+"#"+workload.JoinPath(s.Workload.Path), owner)
	})
	warnStays(subject, stay, diags)
}

// frees finds the contractions that the changes of this run lead to, and those that do not
// come about because it is not known who has left the tolerations.
func (d *Data) frees(ctx context.Context, planned planner.TaintChanges) (goes, stay []planner.Step, err error) {
	retiring, err := rollout.Retiring(ctx, d.Cluster)
	if err != nil || len(retiring) == 0 {
		return nil, nil, err
	}
	snapshot, err := d.Cluster.Snapshot(ctx)
	if err != nil {
		return nil, nil, err
	}
	planned.Known = slices.Concat(planned.Known, d.Keys.seals())
	goes = planner.Frees(snapshot, retiring, planned, d.Comparison)
	planned.Known = []record.Seal{{}}
	for _, step := range planner.Frees(snapshot, retiring, planned, d.Comparison) {
		at := slices.IndexFunc(goes, func(s planner.Step) bool { return s.Workload == step.Workload })
		if at >= 0 {
			step.Merged.Removed = slices.DeleteFunc(slices.Clone(step.Merged.Removed), func(t corev1.Toleration) bool {
				return toleration.Contains(goes[at].Merged.Removed, t)
			})
		}
		if len(step.Merged.Removed) > 0 {
			stay = append(stay, step)
		}
	}
	return goes, stay, nil
}

// warnStays names tolerations that retire, and that no taint needs any more when these taints
// have gone, but that stay: nothing proves the marks.
func warnStays(subject Subject, steps []planner.Step, diags *diag.Diagnostics) {
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
		"They are marked as retiring, and would go with the taints. But whoever may change a workload may write such marks, and this resource does not know the resource that these are said to be of: "+
			"it is neither named in tolerated_by nor part of the same run.\n"+lines+
			"\n\nA resource that has left tolerations and still exists removes them itself: apply again. Otherwise remove them from the template by hand, together with their entries in the annotation "+toleration.OwnedAnnotation+", unless somebody else needs them.")
}

// warnRestarts words contractions that a change of taints leads to.
func warnRestarts(subject Subject, plan planner.Plan, diags *diag.Diagnostics) {
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
	diags.AddWarning(subject.String()+" restarts "+Count(bill.pods, "pod")+" of "+whose,
		"No resource claims the tolerations below any more; they were kept only because pods needed them for taints that this apply removes. It removes these tolerations after the taints. "+
			"Tolerations are part of the pod template, and a change of the template replaces the pods.\n"+bill.lines+
			"\n\nThe rollouts begin when the taints are gone. They evict no pod, and apply does not wait for them.")
}
