// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package nodetaints

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/eviction"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/fw"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/planner"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/rollout"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
)

// exceeded is the error of a change that would make more pods leave than the
// budget allows.
type exceeded struct {
	violations []fw.Violation
	subject    fw.Subject
	report     *eviction.Report
	// ours is set where the budget stands in the resource, not in the provider.
	ours bool
}

// Error names the first violation.
func (e *exceeded) Error() string {
	return e.violations[0].Message
}

// diagnostic words the violations, at the attribute of the first.
func (e *exceeded) diagnostic() diag.Diagnostic {
	messages := make([]string, len(e.violations))
	for i, v := range e.violations {
		messages[i] = v.Message
	}
	_, list := fw.Preview(e.subject, e.report)
	summary := "Unable to " + e.subject.String() + ": more pods would leave than the budget allows"
	detail := strings.Join(messages, "\n") + "\n\nNothing has been written. Add tolerations to the pods that are meant to stay, choose other nodes, or raise the budget in evictions.\n\n" + list
	if !e.ours {
		return diag.NewErrorDiagnostic(summary, detail)
	}
	return diag.NewAttributeErrorDiagnostic(path.Root("evictions").AtName(e.violations[0].Attribute), summary, detail)
}

// stranded is the error of a change that takes away what pods tolerate and
// brings what they do not.
type stranded struct {
	pods    []eviction.PodVerdict
	subject fw.Subject
	report  *eviction.Report
}

// Error counts the pods.
func (e *stranded) Error() string {
	return fw.Count(len(e.pods), "pod") + " would be stranded"
}

func (e *stranded) diagnostic() diag.Diagnostic {
	_, list := fw.Preview(e.subject, e.report)
	return diag.NewAttributeErrorDiagnostic(path.Root("tolerated_by"), "Unable to "+e.subject.String()+": "+fw.CountVerb(len(e.pods), "pod tolerates", "pods tolerate")+" what goes and not what comes",
		"Nothing has been written. "+fw.StrandedAdvice+"\n\n"+list)
}

// explainPods words that linked workloads are not ready for the taints.
func explainPods(desired planner.NodeTaints, err error) diag.Diagnostic {
	return diag.NewAttributeErrorDiagnostic(path.Root("tolerated_by"), "Unable to write taints of "+place(desired.Target)+": not all pods tolerate them yet",
		"The workloads that tolerated_by names have live pods without the tolerations. Nothing has been written. Find out why they do not follow (kubectl rollout status), or allow them more time in timeouts, and apply again.\n\nOriginal error: "+err.Error())
}

// explain words an error of a change.
func explain(verb string, desired planner.NodeTaints, err error) diag.Diagnostic {
	refused, over, left := new(rollout.RefusedError), new(exceeded), new(stranded)
	held, stuck := new(rollout.HoldError), new(rollout.StuckError)
	switch {
	case errors.As(err, &left):
		return left.diagnostic()
	case errors.As(err, &held), errors.As(err, &stuck):
		return explainPods(desired, err)
	case errors.As(err, &refused):
		return explainRefusals(desired, refused.Refusals)
	case errors.As(err, &over):
		return over.diagnostic()
	}
	thing := place(desired.Target)
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

// explainRefusals words why nodes must not be changed. Many nodes that are
// refused on the same ground are told once.
func explainRefusals(desired planner.NodeTaints, refusals []planner.Refusal) diag.Diagnostic {
	var lines []string
	for _, r := range refusals {
		line := ground(r)
		at := slices.IndexFunc(lines, func(l string) bool { return strings.HasSuffix(l, line) })
		if at < 0 {
			lines = append(lines, "  node "+r.Node+": "+line)
		} else if !strings.Contains(lines[at], " and others") {
			lines[at] = strings.Replace(lines[at], ": ", " and others: ", 1)
		}
	}
	first := refusals[0]
	summary := fmt.Sprintf("Unable to change the taints of %s", place(desired.Target))
	if first.ID != (taint.ID{}) {
		summary = fmt.Sprintf("Unable to claim taint %q on node %q", first.ID, first.Node)
	}
	detail := "Nothing has been written to the nodes concerned:\n\n" + strings.Join(lines, "\n") + "\n\n" + remedy(desired.Claim.Owner, refusals)
	attribute := path.Root("taints")
	if slices.Contains(desired.Claim.Absent, first.ID) {
		attribute = path.Root("absent_taints")
	}
	return diag.NewAttributeErrorDiagnostic(attribute, summary, detail)
}

func ground(r planner.Refusal) string {
	switch {
	case r.Conflict == nil:
		if r.ID != (taint.ID{}) {
			return r.ID.String() + ": " + r.Why
		}
		return r.Why
	case r.Conflict.Owner != "":
		return fmt.Sprintf("%s belongs to %q", r.ID, r.Conflict.Owner)
	default:
		return fmt.Sprintf("%s is there already, with the value %q, and was not put there by this resource", r.ID, r.Conflict.Value)
	}
}

func remedy(owner string, refusals []planner.Refusal) string {
	var out []string
	add := func(s string) {
		if !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	for _, r := range refusals {
		switch {
		case r.Conflict == nil:
		case r.Conflict.Owner == owner:
			add("This resource's own id stands there with another generation: a replacement that creates before it destroys has not ended, or the same configuration is applied from a second state. Apply with -replace=ADDRESS to take the taints over.")
		case r.Conflict.Owner != "":
			add("A taint that another resource has marked must be given up there first. If a create was abandoned and nothing manages it any more, import it under the old resource's configuration and destroy that.")
		default:
			add("To take on a taint that nobody has marked, set on_conflict = \"adopt\": destroying the resource will then remove it. Or import it.")
		}
	}
	return strings.Join(out, " ")
}

func place(target planner.Target) string {
	if target.Selector == nil {
		return "node \"" + target.Name + "\""
	}
	return "nodes matching \"" + target.Selector.String() + "\""
}
