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

// Retained returns what others have left behind in workloads for the sake of taints, where the
// changes take some away, and the changes of all resources of the run so far: several may take
// taints away together. It says so where that is not known.
//
// Nothing is read where no taint goes, and no pods where nothing retires.
func (d *Data) Retained(ctx context.Context, about Subject, changes planner.TaintChanges, diags *diag.Diagnostics) ([]planner.Tolerations, planner.TaintChanges) {
	if len(about.Taints) == 0 {
		d.Switching.Note(changes.Bringing())
		return nil, planner.TaintChanges{}
	}
	all := d.Switching.Note(changes)
	retiring, err := rollout.Retiring(ctx, d.Cluster)
	d.NoRestarts(about, err, diags)
	all.Known = d.Keys.with(all.Known)
	out := make([]planner.Tolerations, len(retiring))
	for i, w := range retiring {
		out[i] = planner.Retained(w, all.Frees())
	}
	return out, all
}

// NoRestarts reports that it is not known which pods restart because taints go.
func (d *Data) NoRestarts(about Subject, err error, diags *diag.Diagnostics) {
	switch {
	case err == nil:
	case kube.OutOfReach(err):
		d.Unreachable(err, diags)
	default:
		diags.AddWarning("Unable to determine which pods restart when taints are removed from "+about.Where,
			"The change is planned. It also removes tolerations that no resource claims and no taint needs any more, which restarts the pods of their workloads. These workloads are unknown.\n\nOriginal error: "+err.Error())
	}
}

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

// WarnRestarts says whose pods restart because taints go that were the last to need what
// others have left behind, and what of that stays. The resource that is planned last says it,
// once in a run.
func (d *Data) WarnRestarts(about Subject, seen *snapshot.Snapshot, change planner.Change, plan planner.Plan, owner string, diags *diag.Diagnostics) {
	_, others := plan.Own()
	stay := d.stays(seen, change, others.Steps)
	once := func(what string, steps []planner.Step) []planner.Step {
		return slices.DeleteFunc(steps, func(s planner.Step) bool {
			return !d.Claims.Take(what+"/"+s.Workload.Grouped()+"#"+workload.JoinPath(s.Workload.Path), owner)
		})
	}
	others.Steps = once("restart", others.Steps)
	warnRestarts(about, others, diags)
	warnStays(about, once("stays", stay), diags)
}

// stays returns the contractions that do not come about because it is not known who has left
// the tolerations.
func (d *Data) stays(seen *snapshot.Snapshot, change planner.Change, goes []planner.Step) (stay []planner.Step) {
	whoever := change.Elsewhere
	whoever.Known = []record.Seal{{}}
	left := planner.Change{Elsewhere: whoever}
	for _, t := range change.Workloads {
		if t.Retained {
			left.Workloads = append(left.Workloads, planner.Retained(t.Workload, whoever.Frees()))
		}
	}
	for _, step := range planner.Order(seen, left, d.Comparison).Steps {
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
	return stay
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
		"They were kept until no taint needs them, and would be removed with the taints. But other writers of a workload can forge such ownership records, and this resource has no proof from the resource that these records name: "+
			"it is neither named in tolerated_by nor part of the same run.\n"+lines+
			"\n\nA resource that has left tolerations and still exists removes them itself: apply again. Otherwise remove them from the template by hand, together with their entries in the annotation "+toleration.OwnedAnnotation+", unless another tool needs them.")
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
			"\n\nThe rollouts begin after the taints are removed. They evict no pod, and apply does not wait for them.")
}
