// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package message

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/label"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/planner"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
)

// ExplainRefusals words why taints or labels of nodes must not be changed. Many
// nodes that are refused on the same ground are told together.
func ExplainRefusals(desired planner.NodeTaints, refusals []planner.Refusal) diag.Diagnostic {
	first := refusals[0]
	// Entries that must not be there are not claimed.
	absent := first.Label == nil && first.ID != (taint.ID{}) && slices.Contains(desired.Claim.Absent, first.ID)
	attribute, summary := path.Root("taints"), "Unable to change the taints of "+Place(desired.Target)
	switch {
	case first.Label != nil:
		attribute, summary = path.Root("labels"), fmt.Sprintf("Unable to claim label %q on %s", first.Label.Key, concerned(refusals))
	case first.Labels:
		attribute, summary = path.Root("labels"), "Unable to change the labels of "+Place(desired.Target)
	case absent:
		attribute, summary = path.Root("absent_taints"), fmt.Sprintf("Unable to keep taint %q off %s", first.ID, concerned(refusals))
	case first.ID != (taint.ID{}) && first.Conflict == nil:
		summary = fmt.Sprintf("Unable to remove taint %q from %s", first.ID, concerned(refusals))
	case first.ID != (taint.ID{}):
		summary = fmt.Sprintf("Unable to claim taint %q on %s", first.ID, concerned(refusals))
	}
	detail := "Nothing has been written to the nodes concerned:\n\n" + strings.Join(grounds(refusals), "\n") + "\n\n" + remedy(desired.Claim.Owner, refusals)
	return diag.NewAttributeErrorDiagnostic(attribute, summary, strings.TrimSpace(detail))
}

// concerned names the first node, and counts the others that are refused the same entry.
func concerned(refusals []planner.Refusal) string {
	first, more := refusals[0], 0
	for _, r := range refusals[1:] {
		same := r.ID == first.ID && (r.Label == nil) == (first.Label == nil) && (r.Label == nil || r.Label.Key == first.Label.Key)
		if same && r.Node != first.Node {
			more++
		}
	}
	out := fmt.Sprintf("node %q", first.Node)
	if more > 0 {
		out += fmt.Sprintf(" and %d more", more)
	}
	return out
}

// grounds lists each ground with the nodes that are refused on it.
func grounds(refusals []planner.Refusal) []string {
	var order []string
	nodes := map[string][]string{}
	for _, r := range refusals {
		why := ground(r)
		if nodes[why] == nil {
			order = append(order, why)
		}
		nodes[why] = append(nodes[why], r.Node)
	}
	var lines []string
	for _, why := range order {
		lines = append(lines, "  "+Agree(len(nodes[why]), "node ", "nodes ")+Some(nodes[why])+": "+why)
	}
	return lines
}

func ground(r planner.Refusal) string {
	switch {
	case r.Label != nil && r.Label.Owner != "":
		return fmt.Sprintf("%s is owned by %q", r.Label.Key, r.Label.Owner)
	case r.Label != nil:
		return fmt.Sprintf("%s exists already, with the value %q, and this resource did not write it", r.Label.Key, r.Label.Value)
	case r.Conflict == nil:
		if r.ID != (taint.ID{}) {
			return r.ID.String() + ": " + r.Why
		}
		return r.Why
	case r.Conflict.Owner != "":
		return fmt.Sprintf("%s is owned by %q", r.ID, r.Conflict.Owner)
	default:
		return fmt.Sprintf("%s exists already, with the value %q, and this resource did not write it", r.ID, r.Conflict.Value)
	}
}

// recordOf is the annotation by which the entry of a refusal is owned by another resource.
func recordOf(r planner.Refusal) string {
	if r.Label != nil {
		return label.OwnedAnnotation
	}
	return taint.OwnedAnnotation
}

func remedy(owner string, refusals []planner.Refusal) string {
	var out []string
	told := map[string]bool{}
	add := func(s string) {
		if !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	for _, r := range refusals {
		holder, conflict := "", r.Conflict != nil || r.Label != nil
		if r.Conflict != nil {
			holder = r.Conflict.Owner
		} else if r.Label != nil {
			holder = r.Label.Owner
		}
		switch {
		case !conflict:
		case holder == owner:
			add("An entry " + anotherInstance)
		case holder != "":
			add("Another resource owns an entry. Remove it from the configuration of that resource, and apply that first. If nothing manages it any more, import it under the configuration of that resource, and destroy that.")
			// One of many nodes is an example.
			if annotation := recordOf(r); !told[annotation] {
				told[annotation] = true
				add(MadeUp(annotation, `node "`+r.Node+`"`, ""))
			}
		case r.Label != nil:
			add("The value of a label without an owner is never overwritten: remove the label from the node (kubectl label node NAME KEY-), or choose another key.")
		default:
			add("To adopt a taint without an owner, set on_conflict = \"adopt\": destroying the resource then removes it. Or import it.")
		}
	}
	return strings.Join(out, " ")
}
