// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package planner

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/eviction"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/label"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/machineset"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/workload"
)

// TestOrder_laterStepsMeetWhatEarlierOnesLeave: a pod is evicted from node a, and would fit node b as it is now, or
// as an earlier step leaves it.
func TestOrder_laterStepsMeetWhatEarlierOnesLeave(t *testing.T) {
	t.Parallel()
	claim := label.Claim{Owner: "me", Generation: "g2", Labels: map[string]string{"tier": "x"}}
	set := &machineset.Set{Namespace: "machines", Name: "b", Replicas: 1, Observed: true}
	for name, tt := range map[string]struct {
		requires map[string]string
		before   func(b *snapshot.Node) Change
		fits     bool
	}{
		"nothing before": {nil, func(*snapshot.Node) Change { return Change{} }, true},
		"a taint of b before": {nil, func(*snapshot.Node) Change {
			return Change{Nodes: []NodeTaints{desire(t, Target{Name: "b"}, "y:NoSchedule")}}
		}, false},
		"a label of b that it requires": {claim.Labels, func(*snapshot.Node) Change {
			return Change{Labels: []NodeLabels{{Target: Target{Name: "b"}, Claim: claim}}}
		}, true},
		"no label of b that it requires": {claim.Labels, func(*snapshot.Node) Change { return Change{} }, false},
		"a label of b's MachineSet before": {claim.Labels, func(b *snapshot.Node) Change {
			o := machineset.Observed{Set: set, Machines: []*machineset.Machine{{Namespace: "machines", Name: "m", Node: "b", Phase: "Running"}}, Nodes: map[string]*snapshot.Node{"b": b}}
			desired := DesiredSets{Target: machineset.Target{Namespace: "machines", Name: "b"}, Desired: machineset.Desired{Claim: desire(t, Target{}).Claim, Rollout: machineset.Rollout{Strategy: machineset.InPlace}}, Labels: claim, AtOnce: 1}
			return Change{MachineSets: desired.Changes([]machineset.Observed{o})}
		}, true},
	} {
		web := aWorkload(t, "Deployment", "web")
		p := aPod(t, web, "p", "a")
		p.Scheduling.NodeSelector = tt.requires
		a, b := aNode(t, "a", "gpu"), aNode(t, "b", "web")
		a.Ready, b.Ready = true, true
		change := tt.before(b)
		change.Nodes = append(change.Nodes, desire(t, Target{Name: "a"}, "x:NoExecute"))
		steps := Order(aSnapshot([]*snapshot.Node{a, b}, p), change, eviction.ComparisonOff).Steps
		report := steps[len(steps)-1].Report
		if report == nil || len(report.Pods) != 1 {
			t.Fatalf("%s: the steps are %v", name, steps)
		}
		if got := !report.Gone(report.Pods[0]); got != tt.fits {
			t.Errorf("%s: it finds a node: %t (%s)", name, got, report.Why(report.Pods[0]))
		}
		if len(b.Taints) > 0 || len(b.Labels) > 1 {
			t.Errorf("%s: the shared snapshot has changed", name)
		}
	}
}

// TestOrder_aDrainMeetsTheTaintsOfAMachineSet that its rollout in place has written, and evicts no pod a second time.
func TestOrder_aDrainMeetsTheTaintsOfAMachineSet(t *testing.T) {
	t.Parallel()
	for name, wanted := range map[string][]string{"a taint that evicts": {"x:NoExecute"}, "a taint that keeps pods away": {"x:NoSchedule"}, "none": nil} {
		a, b := aNode(t, "a", "gpu"), aNode(t, "b", "web")
		a.Ready, b.Ready = true, true
		web := aWorkload(t, "Deployment", "web")
		onA, onB := aPod(t, web, "web-a", "a"), aPod(t, web, "web-b", "b")
		onA.UID, onB.UID = "web-a", "web-b"
		o := machineset.Observed{
			Set:      &machineset.Set{Namespace: "machines", Name: "b", Replicas: 1, Observed: true},
			Machines: []*machineset.Machine{{Namespace: "machines", Name: "m", Node: "b", Phase: "Running"}}, Nodes: map[string]*snapshot.Node{"b": b},
		}
		desired := DesiredSets{Target: machineset.Target{Namespace: "machines", Name: "b"}, Desired: machineset.Desired{Claim: desire(t, Target{}, wanted...).Claim, Rollout: machineset.Rollout{Strategy: machineset.InPlace}}, AtOnce: 1}
		change := Change{MachineSets: desired.Changes([]machineset.Observed{o}), Drain: &NodeDrain{Nodes: []string{"a", "b"}}}
		plan := Order(aSnapshot([]*snapshot.Node{a, b}, onA, onB), change, eviction.ComparisonOff)
		evicted := map[string]int{}
		for _, step := range plan.Steps {
			for _, v := range step.Report.Pods {
				if v.Leaves() {
					evicted[v.Pod.Name]++
				}
			}
		}
		if evicted["web-a"] != 1 || evicted["web-b"] != 1 {
			t.Errorf("%s: evicted are %v", name, evicted)
		}
		if _, whole := plan.Impact(); len(whole.Evicted()) != 2 {
			t.Errorf("%s: all steps evict %d pods, want 2", name, len(whole.Evicted()))
		}
		change.Drain = &NodeDrain{Nodes: []string{"a"}}
		plan = Order(aSnapshot([]*snapshot.Node{a, b}, onA), change, eviction.ComparisonOff)
		report := plan.DrainReport()
		if pending := report.Gone(report.Pods[0]); pending != (wanted != nil) {
			t.Errorf("%s: what replaces the pod of a finds no node: %t", name, pending)
		}
	}
}

// TestOrder_aPodIsEvictedOnceByAPinAndAMachineSet: the DaemonSet comes to require another label, and deletes it.
func TestOrder_aPodIsEvictedOnceByAPinAndAMachineSet(t *testing.T) {
	t.Parallel()
	b := aNode(t, "b", "web")
	b.Ready = true
	agent := aWorkload(t, "DaemonSet", "agent")
	agent.UID = "uid"
	p := aPod(t, agent, "agent-b", "b")
	p.UID, p.Controller.UID = "agent-b", agent.UID
	s := aSnapshot([]*snapshot.Node{b}, p)
	s.Daemons = map[types.UID]*snapshot.Daemon{agent.UID: {}}
	own := tolerate(t, agent)
	own.Pin = label.Claim{Owner: "me", Generation: "g2", Labels: map[string]string{"pool": "gpu"}}
	o := machineset.Observed{
		Set:      &machineset.Set{Namespace: "machines", Name: "b", Replicas: 1, Observed: true},
		Machines: []*machineset.Machine{{Namespace: "machines", Name: "m", Node: "b", Phase: "Running"}}, Nodes: map[string]*snapshot.Node{"b": b},
	}
	desired := DesiredSets{Target: machineset.Target{Namespace: "machines", Name: "b"}, Desired: machineset.Desired{Claim: desire(t, Target{}, "x:NoExecute").Claim, Rollout: machineset.Rollout{Strategy: machineset.InPlace}}, AtOnce: 1}
	plan := Order(s, Change{MachineSets: desired.Changes([]machineset.Observed{o}), Workloads: []Tolerations{own}}, eviction.ComparisonOff)
	var evicts []string
	for _, step := range plan.Steps {
		if step.Report == nil {
			continue
		}
		for _, v := range step.Report.Pods {
			if v.Leaves() {
				evicts = append(evicts, string(step.Kind))
			}
		}
	}
	if diff := cmp.Diff([]string{string(Expand)}, evicts); diff != "" {
		t.Errorf("it is evicted by: %s", diff)
	}
}

// TestOrder_tellsWhomALabelOfAMachineSetEvicts: pods of DaemonSets that require it.
func TestOrder_tellsWhomALabelOfAMachineSetEvicts(t *testing.T) {
	t.Parallel()
	pins := map[string]string{"tier": "x"}
	n := aNode(t, "b", "web")
	n.Labels["tier"] = "x"
	agent := aWorkload(t, "DaemonSet", "agent")
	p := podRequiring(agent, pins)
	p.Node, p.Controller.UID = "b", "uid"
	s := aSnapshot([]*snapshot.Node{n}, p)
	s.Daemons = map[types.UID]*snapshot.Daemon{"uid": {Scheduling: snapshot.Scheduling{NodeSelector: pins}}}
	o := machineset.Observed{
		Set:      &machineset.Set{Namespace: "machines", Name: "b", Replicas: 1, Observed: true, NodeLabels: pins, LabelRecord: label.Record{{Key: "tier", Owner: "me", Generation: "g2"}}},
		Machines: []*machineset.Machine{{Namespace: "machines", Name: "m", Node: "b", Phase: "Running", Labels: pins}}, Nodes: map[string]*snapshot.Node{"b": n},
	}
	desired := DesiredSets{Target: machineset.Target{Namespace: "machines", Name: "b"}, Desired: machineset.Desired{Claim: desire(t, Target{}).Claim, Rollout: machineset.Rollout{Strategy: machineset.InPlace}}, Labels: label.Claim{Owner: "me", Generation: "g2", Labels: pins, Release: true}, AtOnce: 1}
	steps := Order(s, Change{MachineSets: desired.Changes([]machineset.Observed{o})}, eviction.ComparisonOff).Steps
	last := steps[len(steps)-1]
	if last.Kind != Unlabel || last.Report == nil || len(last.Report.Pods) != 1 || !last.Report.Pods[0].Leaves() {
		t.Errorf("the steps are %v", steps)
	}
}

// TestOrder_countsTheTemplateOfADaemonSetThatWasReadLast, or that a step before leaves: its controller judges by it.
func TestOrder_countsTheTemplateOfADaemonSetThatWasReadLast(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		tolerates, adds []string
		want            []string
	}{
		"it tolerates nothing":                  {want: []string{"agent-a evicted_now"}},
		"it tolerates the taint by now":         {tolerates: []string{"x:NoExecute"}},
		"the same change adds a toleration":     {adds: []string{"x:NoExecute"}},
		"the same change adds another one":      {adds: []string{"y:NoExecute"}, want: []string{"agent-a evicted_now"}},
		"the taint is tolerated by another one": {tolerates: []string{"x Exists"}},
	} {
		agent := aWorkload(t, "DaemonSet", "agent", tt.tolerates...)
		agent.UID = "uid"
		p := aPod(t, agent, "agent-a", "a", "x:NoExecute")
		p.UID, p.Controller.UID = types.UID(p.Name), agent.UID
		s := aSnapshot([]*snapshot.Node{aNode(t, "a", "gpu")}, p)
		s.Daemons = map[types.UID]*snapshot.Daemon{agent.UID: {}}
		change := Change{Nodes: []NodeTaints{desire(t, pool(t, "gpu"), "x:NoExecute")}, Workloads: []Tolerations{tolerate(t, agent, tt.adds...)}}
		if diff := cmp.Diff(tt.want, verdicts(Order(s, change, eviction.ComparisonOff))); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// TestOrder_ofANodeThatTheSnapshotLacks: it may have been created since.
func TestOrder_ofANodeThatTheSnapshotLacks(t *testing.T) {
	t.Parallel()
	o := order{snapshot: &snapshot.Snapshot{}, ahead: newAhead()}
	if n := o.node("new"); n.Name != "new" || len(o.ahead.nodes) != 0 {
		t.Errorf("it is %v, and there are %v", n, o.ahead.nodes)
	}
}

// TestOrder_ofALinkedWorkloadWritesNothing: its own resource does.
func TestOrder_ofALinkedWorkloadWritesNothing(t *testing.T) {
	t.Parallel()
	web := aWorkload(t, "Deployment", "web", "*x:NoExecute")
	linked := tolerate(t, web)
	linked.Linked = true
	if got := writeSteps(Order(aSnapshot([]*snapshot.Node{aNode(t, "a", "gpu")}, aPod(t, web, "p", "a")), Change{Workloads: []Tolerations{linked}}, eviction.ComparisonOff)); len(got) > 0 {
		t.Errorf("it writes %q", got)
	}
}

// TestOrder_waitsForNoPodBeforeALabelGoes where its workload is not waited for at all.
func TestOrder_waitsForNoPodBeforeALabelGoes(t *testing.T) {
	t.Parallel()
	pins := map[string]string{"tier": "x"}
	for name, tt := range map[string]struct {
		change func(*Tolerations)
		waits  bool
	}{
		"a workload that is waited for":    {func(*Tolerations) {}, true},
		"a workload without a wait":        {func(c *Tolerations) { c.NoWait = true }, false},
		"a workload of another resource":   {func(c *Tolerations) { c.Linked = true }, false},
		"a workload that is paused":        {func(c *Tolerations) { c.Workload.Rolling.Hold = "it is paused" }, false},
		"a workload whose pods come later": {func(c *Tolerations) { c.Workload.Rolling.Later = true }, false},
	} {
		w := aWorkload(t, "StatefulSet", "web")
		n := ours(labelledNode(t, "a", "gpu", "tier=x"), "tier")
		claim := label.Claim{Owner: "me", Generation: "g2", Labels: pins, Release: true}
		own := tolerate(t, w)
		own.Claim.Release, own.Pin = true, claim
		tt.change(&own)
		plan := Order(aSnapshot([]*snapshot.Node{n}, podRequiring(w, pins)), Change{Labels: []NodeLabels{{Target: Target{Name: "a"}, Claim: claim}}, Workloads: []Tolerations{own}}, eviction.ComparisonOff)
		waits := false
		for _, step := range plan.Steps {
			waits = waits || step.Kind == Wait && step.RemovedLabels != nil
		}
		if waits != tt.waits {
			t.Errorf("%s: the steps are %v", name, plan.Steps)
		}
	}
}

// TestOrder_keepsWhatATemplateThatIsFixedRequires: a Job goes with what it has.
func TestOrder_keepsWhatATemplateThatIsFixedRequires(t *testing.T) {
	t.Parallel()
	w := aWorkload(t, "Job", "batch", "*x:NoExecute")
	w.Rolling = workload.Rolling{Immutable: true}
	w.NodeSelector, w.LabelRecord = map[string]string{"tier": "x"}, label.Record{{Key: "tier", Owner: "me", Generation: "g2"}}
	own := tolerate(t, w)
	own.Claim.Release, own.Pin = true, label.Claim{Owner: "me", Generation: "g2", Release: true}
	plan := Order(aSnapshot([]*snapshot.Node{aNode(t, "a", "gpu")}), Change{Workloads: []Tolerations{own}}, eviction.ComparisonOff)
	if len(plan.Steps) != 1 || plan.Steps[0].Kind != Contract {
		t.Fatalf("the steps are %v", plan.Steps)
	}
	if step := plan.Steps[0]; len(step.Merged.Tolerations) != 1 || len(step.Pins.Labels) != 1 || len(step.Pins.Changes) > 0 || len(step.Merged.Record)+len(step.Pins.Record) > 0 {
		t.Errorf("it becomes %v and %v", step.Merged.Tolerations, step.Pins)
	}
}
