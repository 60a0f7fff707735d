// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package fw

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/planner"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
)

// ExplainRefusals words why taints or labels of nodes must not be changed. Many
// nodes that are refused on the same ground are told once.
func ExplainRefusals(desired planner.NodeTaints, refusals []planner.Refusal) diag.Diagnostic {
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
	summary := fmt.Sprintf("Unable to change the taints of %s", Place(desired.Target))
	attribute := path.Root("taints")
	switch {
	case first.Label != nil:
		summary = fmt.Sprintf("Unable to claim label %q on node %q", first.Label.Key, first.Node)
		attribute = path.Root("labels")
	case first.Labels:
		summary = fmt.Sprintf("Unable to change the labels of %s", Place(desired.Target))
		attribute = path.Root("labels")
	case first.ID != (taint.ID{}):
		summary = fmt.Sprintf("Unable to claim taint %q on node %q", first.ID, first.Node)
	}
	if slices.Contains(desired.Claim.Absent, first.ID) {
		attribute = path.Root("absent_taints")
	}
	detail := "Nothing has been written to the nodes concerned:\n\n" + strings.Join(lines, "\n") + "\n\n" + remedy(desired.Claim.Owner, refusals)
	return diag.NewAttributeErrorDiagnostic(attribute, summary, detail)
}

func ground(r planner.Refusal) string {
	switch {
	case r.Label != nil && r.Label.Owner != "":
		return fmt.Sprintf("%s belongs to %q", r.Label.Key, r.Label.Owner)
	case r.Label != nil:
		return fmt.Sprintf("%s is there already, with the value %q, and was not put there by this resource", r.Label.Key, r.Label.Value)
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
		holder, conflict := "", r.Conflict != nil || r.Label != nil
		if r.Conflict != nil {
			holder = r.Conflict.Owner
		} else if r.Label != nil {
			holder = r.Label.Owner
		}
		switch {
		case !conflict:
		case holder == owner:
			add("This resource's own id stands there with another generation: a replacement that creates before it destroys has not ended, or the same configuration is applied from a second state. Apply with -replace=ADDRESS to take the entries over.")
		case holder != "":
			add("An entry that another resource has marked must be given up there first. If a create was abandoned and nothing manages it any more, import it under the old resource's configuration and destroy that.")
		case r.Label != nil:
			add("A label that somebody else has put there is never overwritten: remove it from the node (kubectl label node NAME KEY-), or choose another key.")
		default:
			add("To take on a taint that nobody has marked, set on_conflict = \"adopt\": destroying the resource will then remove it. Or import it.")
		}
	}
	return strings.Join(out, " ")
}
