// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package planner

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/eviction"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/label"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/machineset"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
)

// A change of a MachineSet with the machine of the node a, on which the pod a1 of the
// workload web runs beside the pod o1 of another one.
func TestOrder_ofMachineSets(t *testing.T) {
	t.Parallel()
	ours := func(labels ...string) label.Record {
		var out label.Record
		for _, key := range labels {
			out = append(out, label.Mark{Key: key, Owner: "me", Generation: "g2"})
		}
		return out
	}
	gpu := map[string]string{"dedicated": "gpu"}
	tests := []struct {
		name     string
		strategy machineset.Strategy
		// stands is set where taint, label, toleration and pin exist already.
		stands, release bool
		steps           []string
		verdicts        []string
	}{
		{
			name: "labels and tolerations come before a rollout in place", strategy: machineset.InPlace,
			steps:    []string{"label 1 MachineSet and 1 node", "add tolerations and a node selector to Deployment shop/web", "wait for 1 pod of Deployment shop/web", "roll taints out to the machines of 1 MachineSet"},
			verdicts: []string{"o1 evicted_now"},
		},
		{
			name: "a rollout that replaces machines drains the pods that are there", strategy: machineset.Rolling,
			steps:    []string{"label 1 MachineSet and 1 node", "add tolerations and a node selector to Deployment shop/web", "wait for 1 pod of Deployment shop/web", "roll taints out to the machines of 1 MachineSet"},
			verdicts: []string{"a1 drained", "o1 drained"},
		},
		{
			name: "with template_only no pod is evicted", strategy: machineset.TemplateOnly,
			steps: []string{"label 1 MachineSet and 1 node", "add tolerations and a node selector to Deployment shop/web", "wait for 1 pod of Deployment shop/web", "roll taints out to the machines of 1 MachineSet"},
		},
		{name: "what stands there needs no step", strategy: machineset.InPlace, stands: true},
		{
			name: "what is given up goes the other way round", strategy: machineset.InPlace, stands: true, release: true,
			steps: []string{"roll taints out to the machines of 1 MachineSet", "remove tolerations and a node selector from Deployment shop/web", "wait for 1 pod of Deployment shop/web", "remove labels from 1 MachineSet and 1 node"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			node := aNode(t, "a", "gpu")
			set := &machineset.Set{Namespace: "machines", Name: "gpu", Replicas: 1, Observed: true}
			machine := &machineset.Machine{Namespace: "machines", Name: "m", Node: "a", Phase: "Running"}
			web, other := aWorkload(t, "Deployment", "web"), aWorkload(t, "Deployment", "other")
			list := taintsOf(t, "x=1:NoExecute")
			if tt.stands {
				web = aWorkload(t, "Deployment", "web", "*x=1:NoExecute")
				web.NodeSelector, web.LabelRecord = gpu, ours("dedicated")
				set.Taints, machine.Taints, node.Taints = list, list, list
				set.NodeLabels, machine.Labels, set.LabelRecord = gpu, gpu, ours("dedicated")
				node.Labels["dedicated"] = "gpu"
				set.Record = taint.Record{{Key: "x", Effect: "NoExecute", Owner: "me", Generation: "g2"}}
			}
			node.Ready = true
			pod := aPod(t, web, "a1", "a")
			pod.Scheduling.NodeSelector = web.NodeSelector
			pods := []*snapshot.Pod{pod}
			if !tt.stands {
				pods = append(pods, aPod(t, other, "o1", "a"))
			}
			tolerations := tolerate(t, web, "x=1:NoExecute")
			tolerations.Pin = label.Claim{Owner: "me", Generation: "g2", Labels: gpu}
			desired := DesiredSets{
				Target:  machineset.Target{Namespace: "machines", Name: "gpu"},
				Desired: machineset.Desired{Claim: taint.Claim{Owner: "me", Generation: "g2", Taints: list}, Rollout: machineset.Rollout{Strategy: tt.strategy, MaxUnavailable: 1, MaxSurge: 1}},
				Labels:  label.Claim{Owner: "me", Generation: "g2", Labels: gpu}, AtOnce: 1,
			}
			if tt.release {
				desired.Desired.Claim.Release, desired.Labels.Release = true, true
				tolerations.Claim.Release, tolerations.Pin.Release = true, true
			}
			seen := aSnapshot([]*snapshot.Node{node}, pods...)
			observed := machineset.Observed{Set: set, Machines: []*machineset.Machine{machine}, Nodes: map[string]*snapshot.Node{"a": node}}
			plan := Order(seen, Change{MachineSets: desired.Changes([]machineset.Observed{observed}), Workloads: []Tolerations{tolerations}}, eviction.ComparisonOff)
			var steps, verdicts []string
			for _, step := range plan.Steps {
				steps = append(steps, step.String())
				if step.Report == nil {
					continue
				}
				for _, v := range step.Report.Pods {
					if v.Verdict != eviction.Stays {
						verdicts = append(verdicts, fmt.Sprintf("%s %s", v.Pod.Name, v.Verdict))
					}
				}
			}
			for _, diff := range []string{cmp.Diff(tt.steps, steps, cmpopts.EquateEmpty()), cmp.Diff(tt.verdicts, verdicts, cmpopts.EquateEmpty())} {
				if diff != "" {
					t.Error(diff)
				}
			}
		})
	}
}

func TestOrder_ofAnInterruptedRolloutRefusesOnlyWhatBegins(t *testing.T) {
	t.Parallel()
	var all []machineset.Observed
	var nodes []*snapshot.Node
	var pods []*snapshot.Pod
	web := aWorkload(t, "Deployment", "web")
	for _, name := range []string{"begun", "new"} {
		node := aNode(t, name, "gpu")
		node.Ready = true
		set := &machineset.Set{Namespace: "machines", Name: name, UID: types.UID(name), Replicas: 1, Observed: true}
		if name == "begun" {
			set.Taints = taintsOf(t, "x=1:NoSchedule")
			set.Record = taint.Record{{Key: "x", Effect: "NoSchedule", Owner: "me", Generation: "g2"}}
			set.Marker = &machineset.Marker{ID: "me", Strategy: machineset.Rolling, OriginalReplicas: 1}
		}
		nodes, pods = append(nodes, node), append(pods, aPod(t, web, name+"-pod", name))
		all = append(all, machineset.Observed{
			Set: set, Nodes: map[string]*snapshot.Node{name: node},
			Machines: []*machineset.Machine{{Namespace: "machines", Name: name, Node: name, Phase: "Running", Set: set.UID}},
		})
	}
	desired := DesiredSets{
		Target:  machineset.Target{Namespace: "machines", Selector: labels.Everything()},
		Desired: machineset.Desired{Claim: taint.Claim{Owner: "me", Generation: "g2", Taints: taintsOf(t, "x=1:NoSchedule")}, Rollout: machineset.Rollout{Strategy: machineset.Rolling, MaxUnavailable: 1}},
		AtOnce:  1,
	}
	plan := Order(aSnapshot(nodes, pods...), Change{MachineSets: desired.Changes(all)}, eviction.ComparisonOff)
	if len(plan.Steps) != 1 || plan.Steps[0].Switch == nil {
		t.Fatalf("steps: %v", plan.Steps)
	}
	leave := func(r *eviction.Report) (out []string) {
		for _, v := range r.Pods {
			if v.Leaves() {
				out = append(out, v.Pod.Name)
			}
		}
		return out
	}
	s := plan.Steps[0].Switch
	if diff := cmp.Diff([]string{"begun-pod", "new-pod"}, leave(s.Impact.Report)); diff != "" {
		t.Errorf("what leaves:\n%s", diff)
	}
	if diff := cmp.Diff([]string{"new-pod"}, leave(s.Begins.Report)); diff != "" {
		t.Errorf("what may be refused:\n%s", diff)
	}
}

func TestOrder_takesTheLastMarkOfALabelWhenTheControllerHasSeenTheTemplate(t *testing.T) {
	t.Parallel()
	set := &machineset.Set{Namespace: "machines", Name: "gpu", LabelRecord: label.Record{{Key: "dedicated", Owner: "me", Generation: "g2"}}}
	desired := DesiredSets{
		Target:  machineset.Target{Namespace: "machines", Name: "gpu"},
		Desired: machineset.Desired{Claim: taint.Claim{Owner: "me", Generation: "g2", Release: true}},
		Labels:  label.Claim{Owner: "me", Generation: "g2", Release: true},
	}
	for _, observed := range []bool{false, true} {
		set.Observed = observed
		plan := Order(aSnapshot(nil), Change{MachineSets: desired.Changes([]machineset.Observed{{Set: set}})}, eviction.ComparisonOff)
		if len(plan.Steps) != 1 || plan.Steps[0].Kind != Unlabel {
			t.Errorf("observed %v: steps %v", observed, plan.Steps)
		}
	}
}

// TestRemovedFrom has the values that the template, and those nodes that lose the label, have of it.
func TestRemovedFrom(t *testing.T) {
	t.Parallel()
	loses := label.Merged{Removed: []string{"tier"}}
	c := SetChange{Observed: machineset.Observed{Set: &machineset.Set{NodeLabels: map[string]string{"tier": "z"}}}}
	l := machineset.Labelling{Template: loses, Nodes: []machineset.LabelledNode{
		{Node: labelledNode(t, "a", "gpu", "tier=y"), Merged: loses}, {Node: labelledNode(t, "b", "gpu", "tier=kept")},
		{Node: labelledNode(t, "c", "gpu", "tier=x"), Merged: loses}, {Node: labelledNode(t, "d", "gpu"), Merged: loses}, {Node: labelledNode(t, "e", "gpu", "tier=y"), Merged: loses},
	}}
	if diff := cmp.Diff(map[string][]string{"tier": {"x", "y", "z"}}, (&order{}).removedFrom(c, l, nil)); diff != "" {
		t.Error(diff)
	}
}

// TestStill_keepsPodsEvictedLater: only pods that are evicted immediately are gone before the
// next step. Pods that are evicted after their toleration has run out, or with their machine,
// may still run when that step evicts them.
func TestStill_keepsPodsEvictedLater(t *testing.T) {
	t.Parallel()
	o := order{ahead: newAhead()}
	verdicts := []eviction.Verdict{eviction.EvictedNow, eviction.EvictedAfter, eviction.Drained, eviction.Unknown, eviction.Stays}
	report := func() *eviction.Report {
		r := &eviction.Report{}
		for _, v := range verdicts {
			r.Pods = append(r.Pods, eviction.PodVerdict{Pod: &snapshot.Pod{UID: types.UID(v)}, Verdict: v})
		}
		return r
	}
	o.dropAlreadyLeaving(report())
	var left []eviction.Verdict
	for _, v := range o.dropAlreadyLeaving(report()).Pods {
		left = append(left, v.Verdict)
	}
	if diff := cmp.Diff(verdicts[1:], left); diff != "" {
		t.Errorf("the next step is about other pods:\n%s", diff)
	}
}
