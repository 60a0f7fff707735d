// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package message

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/eviction"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/planner"
)

// RefuseAway refuses to pin pods to nodes that cannot use their bound volumes: they would stay Pending. False means that it
// did.
func RefuseAway(pinned planner.RolledWorkload, at path.Path, diags *diag.Diagnostics) bool {
	if len(pinned.Away) == 0 {
		return true
	}
	var b strings.Builder
	b.WriteString("The new pods require labels of nodes that cannot use their bound volumes, so they would stay Pending:\n")
	for _, a := range pinned.Away[:min(len(pinned.Away), maxPods)] {
		fmt.Fprintf(&b, "\n  %s: %s", a.Pod.Name, a.Where)
	}
	if more := len(pinned.Away) - maxPods; more > 0 {
		fmt.Fprintf(&b, "\n  and %d more", more)
	}
	b.WriteString("\n\nAdd nodes that can use these volumes to the dedicated ones, move the data to volumes that the dedicated nodes can use, or leave out pin.")
	n := len(pinned.Away)
	diags.AddAttributeError(at, fmt.Sprintf("Unable to pin %s: the volumes of %s are elsewhere", pinned.Workload.Title(), Count(n, "pod")), b.String())
	return false
}

// AboutRollout words what a step is about that has pods of a workload replaced: labels that its template comes to require, or
// tolerations.
func AboutRollout(done bool, step planner.Step) Subject {
	var pins []string
	for key, value := range step.Pins.Changes {
		if value != nil {
			pins = append(pins, key+"="+*value)
		}
	}
	slices.Sort(pins)
	out := Subject{Verb: "add", What: "tolerations", Preposition: "to", Where: step.Workload.Title(), Instead: "Free room for the new pods first"}
	if r := step.Rollouts; r != nil && r.Further > 0 {
		out.Where += " and " + Count(r.Further, "other workload")
	}
	if done {
		out.Verb = "Adding"
	}
	if len(pins) > 0 {
		out.What, out.Instead = "node selector "+strings.Join(pins, ","), "Choose other nodes, leave out pin"
	}
	return out
}

// maxPods bounds how many pods an error names.
const maxPods = 10

// WarnCrowded reports that the nodes of a place have no room for all pods that a plan pins to them.
func WarnCrowded(place string, all []planner.RolledWorkload, missing eviction.Range, at path.Path, diags *diag.Diagnostics) {
	pods, may, which := crowded(all, missing)
	if which == "" {
		return
	}
	diags.AddAttributeWarning(at, fmt.Sprintf("%s of %s %shave no room on %s", Number(missing), Count(pods, "pinned pod"), may, place), which+
		"\n\nNew pods need room beside the old ones that run on the same nodes, and beside pods that the taints evict later: taints are written after the rollouts. Apply waits as long as timeouts allows. "+
		"Add nodes or free room first, or let more of the old pods be unavailable (maxUnavailable). Nodes that an autoscaler would add are not considered.")
}

// WarnStuck reports that the rollouts which a change begins find no node for some of their new pods. The subject begins
// the sentence, as that of WarnCost does.
func WarnStuck(subject string, all []planner.RolledWorkload, missing eviction.Range, at path.Path, diags *diag.Diagnostics) {
	pods, may, which := crowded(all, missing)
	if which == "" {
		return
	}
	diags.AddAttributeWarning(at, fmt.Sprintf("%s %s a rollout: no node takes %s of %s", subject, stops(may), Number(missing), Count(pods, "new pod")), which+
		"\n\n"+beside+" Where apply waits for rollouts, it waits as long as timeouts allows. "+
		"Add nodes or free room first, or let more of the old pods of a Deployment be unavailable (maxUnavailable).")
}

// beside is what a simulation of rollouts counts.
const beside = "New pods need room beside the old ones that still run. Nodes that an autoscaler would add are not considered."

// stops words that a rollout does not finish.
func stops(may string) string {
	if may != "" {
		return "may stop"
	}
	return "stops"
}

// crowded lists the rollouts that find no node for some of their pods, none where all fit, and counts the pods of all.
func crowded(all []planner.RolledWorkload, missing eviction.Range) (pods int, may, which string) {
	// Pods that new ones preempt are not theirs.
	if missing.Max == 0 || !slices.ContainsFunc(all, func(p planner.RolledWorkload) bool { return p.Missing.Max > 0 }) {
		return 0, "", ""
	}
	var b strings.Builder
	if b.WriteString("Unless nodes are added, these rollouts do not finish, because no node takes some of the new pods:\n"); missing.Min == 0 {
		b.Reset()
		b.WriteString("Whether these rollouts finish depends on which old pods are deleted first:\n")
		may = "may "
	}
	for _, p := range all {
		if pods += p.Pods; p.Missing.Max == 0 {
			continue
		}
		fmt.Fprintf(&b, "\n  %s: no node for %s of %s", p.Workload.Words(), Number(p.Missing), Count(p.Pods, "pod"))
		if p.Workload.Rolling.Manner != "" {
			b.WriteString(", replaced " + p.Workload.Rolling.Manner)
		}
		if p.Reason != "" {
			b.WriteString("\n    " + p.Reason)
		}
	}
	return pods, may, b.String()
}
