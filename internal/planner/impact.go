// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package planner

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/eviction"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/label"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/workload"
)

// ahead is what the steps so far will have left of nodes and of the templates of
// DaemonSets: the next step meets these.
type ahead struct {
	nodes   map[string]*snapshot.Node
	daemons map[types.UID]*snapshot.Daemon
	// left are the pods that a step before makes leave, unpinned those of them that leave
	// because their DaemonSet comes to require other labels: no rollout replaces them.
	left, unpinned map[types.UID]bool
}

func newAhead() ahead {
	return ahead{map[string]*snapshot.Node{}, map[types.UID]*snapshot.Daemon{}, map[types.UID]bool{}, map[types.UID]bool{}}
}

// foresee notes the template of a DaemonSet as a step leaves it: its controller judges
// by that from then on.
func (o *order) foresee(t template) {
	now, known := o.snapshot.Daemons[t.workload.UID]
	if !t.workload.Owner().DaemonSet() || !known {
		return
	}
	next := *now
	next.Tolerations, next.NodeSelector = t.tolerations, t.pins
	o.ahead.daemons[t.workload.UID] = &next
}

// node is a node as the steps so far leave it, for a step to change. One that the
// snapshot does not have is no pod's place.
func (o *order) node(name string) *snapshot.Node {
	n, changed := o.ahead.nodes[name]
	if !changed {
		n = o.snapshot.Nodes[name]
	}
	if n == nil {
		return &snapshot.Node{Name: name}
	}
	next := *n
	o.ahead.nodes[name] = &next
	return &next
}

// report evaluates a step. It leaves out the pods that an earlier step has evicted
// already.
func (o *order) report(change eviction.Scenario) *eviction.Report {
	change.Tolerations = o.planned
	return o.dropAlreadyLeaving(eviction.Evaluate(o.foreseen(), change, o.comparison))
}

// foreseen is the cluster as the steps so far will have left it.
func (o *order) foreseen() *snapshot.Snapshot {
	s := o.snapshot.With(o.ahead.nodes, o.ahead.daemons)
	s.Admission, s.Ordered = o.rules, policies(o.snapshot.Ordered, o.change.Workloads)
	return s
}

// repin evaluates a new node selector: pods of a DaemonSet leave the nodes that it does not
// match, those too of one that an operator makes. It returns nil where none does.
func (o *order) repin(w *workload.Workload, pins label.Merged) *eviction.Report {
	daemons := slices.ContainsFunc(w.Pods, func(key snapshot.WorkloadKey) bool { return key.DaemonSet() })
	if !daemons || len(pins.Changes) == 0 {
		return nil
	}
	report := o.dropAlreadyLeaving(eviction.Repin(o.foreseen(), o.snapshot.WorkloadPods(w.Pods...), pins.Labels, o.comparison))
	if len(report.Pods) == 0 {
		return nil
	}
	for _, v := range report.Pods {
		o.ahead.unpinned[v.Pod.UID] = true
	}
	return report
}

// staying leaves out the pods that nothing comes in place of.
func (o *order) staying(pods []*snapshot.Pod) []*snapshot.Pod {
	return slices.DeleteFunc(slices.Clone(pods), func(p *snapshot.Pod) bool { return o.ahead.unpinned[p.UID] })
}

// own returns what the change does to the workload of a pod, false where it is none of the change's.
func (o *order) own(v *eviction.PodVerdict) (Tolerations, bool) {
	key := snapshot.WorkloadKey{Namespace: v.Pod.Namespace, Owner: v.Owner}
	at := slices.IndexFunc(o.change.Workloads, func(t Tolerations) bool { return slices.Contains(t.Workload.Pods, key) })
	if at < 0 {
		return Tolerations{}, false
	}
	return o.change.Workloads[at], true
}

// selects reports whether a node has all labels that the template requires once the change is complete.
func (t Tolerations) selects(node map[string]string) bool {
	required := t.MergePins().Labels
	if t.abandons() {
		required = t.Workload.NodeSelector
	}
	return labels.SelectorFromSet(required).Matches(labels.Set(node))
}

// relabel evaluates a change of labels. It removes only pods of DaemonSets that no
// longer select their node.
func (o *order) relabel(plan LabelPlan) *eviction.Report {
	change := eviction.Scenario{Labels: map[string]map[string]string{}}
	for _, s := range plan.Switches {
		change.Labels[s.Node.Name] = s.Merged.Labels
	}
	report := o.report(change)
	for i := range report.Pods {
		v := &report.Pods[i]
		switch t, own := o.own(v); {
		case !own:
		case !t.selects(change.Labels[v.Pod.Node]):
			v.Remains = v.OtherNodes
		default:
			// Its template gets what it requires by the same change.
			v.NoPlace = false
			if v.Verdict == eviction.Stays {
				v.Reason = ""
			}
		}
	}
	for name, labels := range change.Labels {
		o.node(name).Labels = labels
	}
	return report
}

// label adds labels, so that pods that require them fit a node.
func (o *order) label(l NodeLabels) {
	nodes := o.snapshot.SortedNodes()
	// The effect of the whole change on a node decides whether it may begin.
	o.plan.Refusals = append(o.plan.Refusals, PlanLabels(nodes, l).Refusals...)
	if plan := PlanLabels(nodes, l.Adding()); len(plan.Switches) > 0 {
		o.plan.Steps = append(o.plan.Steps, Step{Kind: Label, Labels: plan, Report: o.relabel(plan)})
	}
}

// labelMachines is the same for the nodes of MachineSets.
func (o *order) labelMachines() {
	if step, _ := o.labelSets(Label); step.Sets > 0 {
		step.Report = o.relabel(step.Labels)
		o.plan.Steps = append(o.plan.Steps, step)
	}
}

// unlabel takes labels away once no pod of the change's workloads requires them:
// a pod that does could not be put on the nodes again.
func (o *order) unlabel(l NodeLabels, expanded, contracted []template) {
	plan := PlanLabels(o.snapshot.SortedNodes(), l).removing()
	if len(plan.Switches) == 0 {
		return
	}
	o.waitForRemovedLabels(plan.removed(), expanded, contracted)
	o.plan.Steps = append(o.plan.Steps, Step{Kind: Unlabel, Labels: plan, Report: o.relabel(plan)})
}

// unlabelMachines is the same for the nodes of MachineSets.
func (o *order) unlabelMachines(expanded, contracted []template) {
	step, removed := o.labelSets(Unlabel)
	if step.Sets == 0 {
		return
	}
	o.waitForRemovedLabels(removed, expanded, contracted)
	step.Report = o.relabel(step.Labels)
	o.plan.Steps = append(o.plan.Steps, step)
}

// waitForRemovedLabels waits for the pods of the change's workloads that require labels which go.
func (o *order) waitForRemovedLabels(removed map[string][]string, expanded, contracted []template) {
	for i, t := range o.change.Workloads {
		rolling := t.Workload.Rolling
		if t.NoWait || t.Linked || rolling.Later {
			continue
		}
		pods := slices.DeleteFunc(Requiring(o.snapshot, t.Workload, contracted[i].pins, removed), func(p *snapshot.Pod) bool { return rolling.Keeps(p.Name) })
		if len(pods) > 0 && (!expanded[i].awaited || requires(expanded[i].pins, removed)) {
			o.plan.Steps = append(o.plan.Steps, Step{Kind: Wait, Workload: t.Workload, Pods: pods, RemovedLabels: removed})
		}
	}
}

// switchTaints writes taints, all of a node in one patch.
func (o *order) switchTaints(nodes NodePlan) {
	o.plan.Refusals = append(o.plan.Refusals, nodes.Refusals...)
	if len(nodes.Switches) == 0 {
		return
	}
	change := nodes.Change()
	maps.Copy(o.taints, change.Taints)
	step := Step{Kind: ApplyTaints, Nodes: nodes}
	if !nodes.EvictsNothing() {
		step.Report = o.report(change)
	}
	for _, one := range nodes.Switches {
		n := o.node(one.Node.Name)
		n.Taints, n.Record = one.Merged.Taints, one.Merged.Record
	}
	o.plan.Steps = append(o.plan.Steps, step)
}
