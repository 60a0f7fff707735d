// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package session

import (
	"context"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	corev1 "k8s.io/api/core/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/kube"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/planner"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/record"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/rollout"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/tf/message"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/toleration"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/workload"
)

// Retained returns what others have left behind in workloads for the sake of taints, and the changes of all resources of
// the run so far: several may take taints away together. It says so where that is not known. Apply takes away what no taint
// needs any more, also where the last such taint has gone without it.
//
// Nothing is read where no taint goes and no other resource is known that may have left something, and no pods where
// nothing retires.
func (d *Data) Retained(ctx context.Context, about message.Subject, changes planner.TaintChanges, diags *diag.Diagnostics) ([]planner.Tolerations, planner.TaintChanges) {
	claim := changes.RetainedClaim()
	if claim.Known = d.Keys.with(claim.Known); len(about.Taints) == 0 {
		changes = changes.Bringing()
	}
	all := d.Switching.Note(changes)
	if len(about.Taints) > 0 {
		all.Known = d.Keys.with(all.Known)
		claim = all.RetainedClaim()
	} else if len(claim.Known) == 0 {
		return nil, planner.TaintChanges{}
	}
	retiring, err := rollout.Retiring(ctx, d.Cluster)
	d.NoRestarts(about, err, diags)
	if len(retiring) == 0 && len(about.Taints) == 0 {
		return nil, planner.TaintChanges{}
	}
	out := make([]planner.Tolerations, len(retiring))
	for i, w := range retiring {
		out[i] = planner.Retained(w, claim)
	}
	return out, all
}

// NoRestarts reports that it is not known which pods restart because taints go.
func (d *Data) NoRestarts(about message.Subject, err error, diags *diag.Diagnostics) {
	switch {
	case err == nil:
	case kube.OutOfReach(err):
		d.Unreachable(err, diags)
	default:
		diags.AddWarning("Unable to determine which pods restart when taints are removed from "+about.Where,
			"The change is planned. It also removes tolerations that no resource claims and no taint needs any more, which restarts the pods of their workloads. These workloads are unknown.\n\nOriginal error: "+err.Error())
	}
}

// WarnRestarts says whose pods restart because taints go that were the last to need what
// others have left behind, and what of that stays. The resource that is planned last says it,
// once in a run.
func (d *Data) WarnRestarts(about message.Subject, seen *snapshot.Snapshot, change planner.Change, plan planner.Plan, owner string, diags *diag.Diagnostics) {
	if len(about.Taints) == 0 {
		about.Verb, about.What, about.Preposition = "Changing", "the taints", "of"
	}
	own, others := plan.Own()
	stay := d.stays(seen, change, others.Steps)
	once := func(what string, steps []planner.Step) []planner.Step {
		return slices.DeleteFunc(steps, func(s planner.Step) bool {
			return !d.Claims.Take(what+"/"+s.Workload.Grouped()+"#"+workload.JoinPath(s.Workload.Path), owner)
		})
	}
	others.Steps = once("restart", others.Steps)
	message.WarnRestarts(about, others, diags)
	d.warnStuck(about, seen, own.Steps, others.Steps, diags)
	d.WarnRestartedOnto(about.String(), owner, seen, others.Steps, diags)
	message.WarnStays(about, once("stays", stay), diags)
}

// WarnRestartedOnto reports whose pods the resources that were planned before may evict because the steps restart them. The
// subject begins the sentence, as that of message.WarnCost, and the resource has this id.
func (d *Data) WarnRestartedOnto(subject, owner string, seen *snapshot.Snapshot, steps []planner.Step, diags *diag.Diagnostics) {
	all, nodes := planner.RestartedOnto(seen, d.Effects.Before(owner, false), steps, d.Planned.Tolerations(owner, nil), d.Comparison)
	message.WarnRestartedOnto(subject, all, nodes, diags)
}

// warnStuck reports which of the rollouts stop for lack of room that take away what others have left behind. The own steps
// come first: nothing is said where they restart pods.
func (d *Data) warnStuck(about message.Subject, seen *snapshot.Snapshot, own, others []planner.Step, diags *diag.Diagnostics) {
	if slices.ContainsFunc(own, func(s planner.Step) bool { return s.Workload != nil && len(s.Pods) > 0 }) {
		return
	}
	rolled, missing := planner.Restarts(seen, slices.Concat(own, others), d.Comparison)
	message.WarnStuck(about.String(), rolled, missing, path.Empty(), diags)
}

// stays returns the contractions that do not come about because it is not known who has left
// the tolerations.
func (d *Data) stays(seen *snapshot.Snapshot, change planner.Change, goes []planner.Step) (stay []planner.Step) {
	whoever := change.Elsewhere
	whoever.Known = []record.Seal{{}}
	left := planner.Change{Elsewhere: whoever}
	for _, t := range change.Workloads {
		if t.Retained {
			left.Workloads = append(left.Workloads, planner.Retained(t.Workload, whoever.RetainedClaim()))
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
