// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package workloadtolerations

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	corev1 "k8s.io/api/core/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/fw"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/planner"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/toleration"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/workload"
)

// cost is what a change costs one workload.
type cost struct {
	workload *workload.Workload
	pods     int
	rollouts int
	lines    []string
}

// costs gathers the steps by workload, in their order.
func costs(plan planner.Plan) []*cost {
	var out []*cost
	for _, step := range plan.Steps {
		at := slices.IndexFunc(out, func(c *cost) bool { return c.workload.Ref == step.Workload.Ref })
		if at < 0 {
			at = len(out)
			out = append(out, &cost{workload: step.Workload})
		}
		out[at].add(step)
	}
	return slices.DeleteFunc(out, func(c *cost) bool { return len(c.lines) == 0 })
}

func (c *cost) add(step planner.Step) {
	if step.Kind == planner.Wait {
		return
	}
	if step.Merged.Template {
		c.rollouts++
		c.pods = max(c.pods, len(step.Pods))
		if len(step.Merged.Missing) > 0 {
			c.lines = append(c.lines, "adds "+toleration.Format(step.Merged.Missing))
		}
		if len(step.Merged.Removed) > 0 {
			c.lines = append(c.lines, "takes "+toleration.Format(step.Merged.Removed)+" away")
		}
	}
	if len(step.Merged.Retired) > 0 {
		c.rollouts++
		c.pods = max(c.pods, len(step.Pods))
		c.lines = append(c.lines, "keeps "+toleration.Format(step.Merged.Retired)+" as long as pods live by it: the apply that takes the last such taint away takes it away, and the pods restart then")
	}
}

// warnCost says how many pods restart, in how many rollouts.
func warnCost(desired wanted, plan planner.Plan, diags *diag.Diagnostics) {
	all := costs(plan)
	pods, rollouts := 0, 0
	var b strings.Builder
	for _, c := range all {
		pods, rollouts = pods+c.pods, max(rollouts, c.rollouts)
		fmt.Fprintf(&b, "\n  %s %s: %s", c.workload.Kind, c.workload.Namespace+"/"+c.workload.Name, fw.Count(c.pods, "pod"))
		if c.workload.Rolling.Manner != "" && c.pods > 0 {
			b.WriteString(", replaced " + c.workload.Rolling.Manner)
		}
		for _, line := range c.lines {
			b.WriteString("\n    " + line)
		}
	}
	if pods == 0 {
		return
	}
	subject := "Changing"
	if desired.claim.Release {
		subject = "Removing"
	}
	summary := fmt.Sprintf("%s the tolerations of %s restarts %s", subject, desired.target.title(), fw.Count(pods, "pod"))
	if rollouts > 1 {
		summary += fmt.Sprintf(" in %d rollouts", rollouts)
	}
	diags.AddWarning(summary, "Tolerations of pods that run cannot be taken away, and they are part of the template: a change of it replaces the pods.\n"+b.String())
}

// warnTarget says what else stands in the way of the tolerations.
func (r *workloadTolerations) warnTarget(desired wanted, observed observation, diags *diag.Diagnostics) {
	if len(observed.workloads) == 0 {
		diags.AddAttributeWarning(path.Root("workload").AtName("selector"), "No workload is found: "+desired.target.title(),
			"Nothing is changed now. Workloads that come to match get the tolerations at the first apply after that. If that is not intended, check the labels.")
	}
	for _, w := range observed.workloads {
		for _, t := range desired.claim.Tolerations {
			if earlier := toleration.Shadowing(w.Tolerations, t); earlier != nil {
				diags.AddAttributeWarning(path.Root("tolerations"), fmt.Sprintf("Toleration %q of %s is shadowed", taint.FormatToleration(t), w.Title()),
					"The first match in a pod's list decides, and "+taint.FormatToleration(*earlier)+" stands before it: this toleration has no effect. Change the earlier one where it comes from.")
			}
		}
		if len(w.Pods) == 0 && !desired.noWait {
			diags.AddAttributeWarning(path.Root("wait_for_rollout"), "The pods of "+w.Title()+" are not known",
				"No workload in the cluster names this object as its owner, so that apply cannot wait for pods. A taint should not rely on these tolerations before the pods carry them: data.kubetaint_workloads shows it.")
		}
	}
}

// warnWriters says who else writes the template, where it is about to change.
func (r *workloadTolerations) warnWriters(ctx context.Context, desired wanted, observed observation, plan planner.Plan, diags *diag.Diagnostics) {
	for _, w := range observed.workloads {
		changes := slices.ContainsFunc(plan.Steps, func(s planner.Step) bool { return s.Workload.Ref == w.Ref && s.Merged.Template })
		if !changes {
			continue
		}
		switch {
		case w.Reverter != "":
			diags.AddAttributeWarning(path.Root("workload"), w.Title()+" belongs to "+w.Reverter,
				"What controls it is likely to put its own template back, and the tolerations with it. Set them where that owner takes them from: in its custom resource, or in the workload that it is made of.")
		case len(w.Writers) > 0:
			diags.AddAttributeWarning(path.Root("workload"), w.Title()+" is also written by "+strings.Join(w.Writers, " and "),
				"The next run of it may put its own list of tolerations back, and the next plan here adds them again. Add the tolerations there instead, or have it ignore the field "+workload.JoinPath(w.Path)+" (the guide \"Changing taints without evicting anybody\" says how).")
		}
		if !desired.claim.Release {
			r.warnWhitelist(ctx, w, desired, diags)
		}
	}
}

// warnWhitelist says that the namespace allows only certain tolerations.
func (r *workloadTolerations) warnWhitelist(ctx context.Context, w *workload.Workload, desired wanted, diags *diag.Diagnostics) {
	for _, key := range w.Pods {
		allowed, limited, err := r.data.Cluster.AllowedTolerations(ctx, key.Namespace)
		if err != nil || !limited {
			continue
		}
		var outside []corev1.Toleration
		for _, t := range desired.claim.Tolerations {
			if !toleration.CoveredBy(allowed, t) {
				outside = append(outside, t)
			}
		}
		if len(outside) > 0 {
			diags.AddAttributeWarning(path.Root("tolerations"), fmt.Sprintf("Namespace %q does not allow %s", key.Namespace, toleration.Format(outside)),
				"Its annotation scheduler.alpha.kubernetes.io/tolerationsWhitelist does not cover it. Where the admission plug-in PodTolerationRestriction is on, as it is in OpenShift, new pods of "+w.Title()+" are rejected, and the rollout stands still. Add the toleration to the annotation first.")
		}
	}
}
