// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package message

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/planner"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/toleration"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/workload"
)

// cost is what a change costs one workload.
type cost struct {
	workload *workload.Workload
	pods     int
	rollouts int
	kept     int
	lines    []string
}

// costs gathers the steps by workload, in their order.
func costs(plan planner.Plan) []*cost {
	var out []*cost
	for _, step := range plan.Steps {
		if step.Workload == nil {
			continue
		}
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
	if step.Template() {
		c.rollouts++
		c.pods = max(c.pods, len(step.Pods))
		if step.Merged.Template && len(step.Merged.Missing) > 0 {
			c.lines = append(c.lines, "adds "+toleration.Format(step.Merged.Missing))
		}
		if step.Merged.Template && len(step.Merged.Removed) > 0 {
			c.lines = append(c.lines, "removes "+toleration.Format(step.Merged.Removed))
		}
		c.pins(step)
	}
	if len(step.Merged.Retired) > 0 {
		c.rollouts++
		c.pods = max(c.pods, len(step.Pods))
		c.kept += len(step.Merged.Retired)
		how := "while pods need it"
		if len(c.workload.Pods) == 0 {
			how = "as long as any node has such a taint, because its pods are not known"
		}
		c.lines = append(c.lines, "keeps "+toleration.Format(step.Merged.Retired)+" "+how+": the apply that removes the last such taint then removes the toleration, and the pods restart")
	}
}

// pins reports what the template requires of nodes.
func (c *cost) pins(step planner.Step) {
	var requires []string
	for _, key := range slices.Concat(step.Pins.Missing, step.Pins.Different) {
		requires = append(requires, key+"="+step.Pins.Labels[key])
	}
	if len(requires) > 0 {
		c.lines = append(c.lines, "requires "+strings.Join(requires, ", ")+" of its nodes")
	}
	if len(step.Pins.Removed) > 0 {
		c.lines = append(c.lines, "no longer requires "+strings.Join(step.Pins.Removed, ", ")+" of its nodes")
	}
}

// WarnCost reports how many pods restart, in how many rollouts. The subject begins
// the sentence, such as: Changing the tolerations of Deployment "shop/web". Where
// no pod is known to restart it reports what stays for now, if anything does.
func WarnCost(subject string, plan planner.Plan, diags *diag.Diagnostics) {
	b := add(costs(plan))
	if b.pods == 0 {
		if b.kept > 0 {
			diags.AddWarning(subject+" keeps "+Count(b.kept, "toleration")+" for now", "No known pod restarts.\n"+b.lines)
		}
		return
	}
	summary := subject + " restarts " + Count(b.pods, "pod")
	if b.rollouts > 1 {
		summary += fmt.Sprintf(" in %d rollouts", b.rollouts)
	}
	diags.AddWarning(summary, "Tolerations are part of the pod template, and a change of the template replaces the pods.\n"+b.lines)
}

// bill is what a change costs all of its workloads, listed by workload.
type bill struct {
	pods, rollouts, kept int
	lines                string
}

// add adds up what a change costs.
func add(all []*cost) bill {
	var out bill
	var b strings.Builder
	for _, c := range all {
		out.pods, out.rollouts, out.kept = out.pods+c.pods, max(out.rollouts, c.rollouts), out.kept+c.kept
		fmt.Fprintf(&b, "\n  %s: %s", c.workload.Words(), Count(c.pods, "pod"))
		if c.workload.Rolling.Manner != "" && c.pods > 0 {
			b.WriteString(", replaced " + c.workload.Rolling.Manner)
		}
		for _, line := range c.lines {
			b.WriteString("\n    " + line)
		}
	}
	out.lines = b.String()
	return out
}
