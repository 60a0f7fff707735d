// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package message

import (
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/planner"
)

// Place names the nodes that are meant, such as node "worker-3".
func Place(target planner.Target) string {
	names := target.Named()
	switch {
	case target.MachineSets != nil:
		return "the nodes of " + target.MachineSets.Place()
	case target.Selector != nil:
		return "nodes matching \"" + target.Selector.String() + "\""
	case len(names) == 1:
		return "node \"" + names[0] + "\""
	}
	return "nodes " + Some(names)
}

// Where names them with the number of those that change.
func Where(target planner.Target, nodes int) string {
	names := target.Named()
	switch {
	case target.MachineSets != nil:
		return "the nodes of " + target.MachineSets.Place()
	case target.Selector != nil:
		return Count(nodes, "node") + " matching \"" + target.Selector.String() + "\""
	case len(names) == 1:
		return "node \"" + names[0] + "\""
	}
	return Count(nodes, "node") + " (" + Some(names) + ")"
}

// NoNodes reports that there are no nodes for an action, so that nothing is, such as drained: a warning where a
// selector matches none, an error where a node is named.
func NoNodes(target planner.Target, done string) diag.Diagnostic {
	if target.Selector != nil {
		return diag.NewAttributeWarningDiagnostic(path.Root("node_selector"), "No node matches \""+target.Selector.String()+"\": nothing is "+done,
			"If that is not intended, check the labels (kubectl get nodes --show-labels).")
	}
	return diag.NewAttributeErrorDiagnostic(path.Root("node_name"), "Unable to find "+Place(target), "There is no node of this name. Nothing has been written. Check the name (kubectl get nodes).")
}

// OfPods names the pods that a drain considers, after the nodes; nothing where it considers all.
func OfPods(selector labels.Selector) string {
	if selector == nil {
		return ""
	}
	return " of pods matching \"" + selector.String() + "\""
}

// NoPods reports that no pod of nodes has the labels of a drain's pod selector, which can be a typing error.
func NoPods(place string, rules planner.DrainRules) string {
	none := "evicts none"
	if rules.DisableEviction {
		none = "deletes none"
	}
	return "No pod on " + place + " matches \"" + rules.PodSelector.String() + "\": the drain " + none
}

// CheckLabels is what to do about a pod selector that matches no pod of a node, in the middle of a sentence.
func CheckLabels(node string) string {
	return "check the labels (kubectl get pods -A --show-labels --field-selector spec.nodeName=" + node + ")"
}

// About words what a change of taints is about.
func About(verb, preposition string, target planner.Target, plan planner.NodePlan) Subject {
	s := Subject{Verb: verb, Preposition: preposition, Taints: plan.Brought(), Where: Where(target, len(plan.Switches))}
	for _, one := range plan.Switches {
		s.Nodes = append(s.Nodes, one.Node.Name)
	}
	return s
}
