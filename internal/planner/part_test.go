// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package planner

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/admission"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/eviction"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
)

// TestPlan_aProblemIsSettledByNoPart: what blocks a plan is told with the pods of the whole cluster.
func TestPlan_aProblemIsSettledByNoPart(t *testing.T) {
	t.Parallel()
	if plan := (Plan{}); !plan.Settled(true) {
		t.Error("a plan without steps has something to tell")
	}
	open := []Step{{Kind: ApplyTaints, Report: &eviction.Report{Pods: []eviction.PodVerdict{{Pod: &snapshot.Pod{}, Verdict: eviction.Stays, NoPlace: true, OtherNodes: true}}}}}
	if plan := (Plan{Steps: open}); plan.Settled(true) || !plan.OpenPlaces() {
		t.Error("a pod whose replacement may fit other nodes asks for no more of them")
	}
	for name, plan := range map[string]Plan{
		"a refusal":            {Refusals: []Refusal{{}}},
		"a conflict":           {Conflicts: []WorkloadConflict{{}}},
		"a refused drain":      {DrainRefusals: []DrainRefusal{{}}},
		"an error of a policy": {PolicyErr: errors.New("owned by another resource")},
	} {
		settled := plan.Settled(true)
		if plan.Steps = open; settled || plan.OpenPlaces() {
			t.Errorf("%s is settled by the pods of some nodes", name)
		}
	}
}

// partial is a random cluster, to be looked at in part and as a whole.
type partial struct {
	r       *rand.Rand
	whole   *snapshot.Snapshot
	planned map[snapshot.WorkloadKey]eviction.Planned
}

func (p *partial) chance(n int) bool { return p.r.IntN(n) == 0 }

func (p *partial) taints() []corev1.Taint {
	var out []corev1.Taint
	for _, key := range []string{"a", "b"} {
		if p.chance(3) {
			effect := []corev1.TaintEffect{corev1.TaintEffectNoSchedule, corev1.TaintEffectNoExecute, corev1.TaintEffectPreferNoSchedule}[p.r.IntN(3)]
			out = append(out, corev1.Taint{Key: key, Value: pick(p.r, "1", "2"), Effect: effect})
		}
	}
	return out
}

func (p *partial) tolerations() []corev1.Toleration {
	if p.chance(2) {
		return []corev1.Toleration{{Operator: corev1.TolerationOpExists}}
	}
	var out []corev1.Toleration
	for _, key := range []string{"a", "b"} {
		for p.chance(2) {
			t := corev1.Toleration{Key: key, Operator: corev1.TolerationOpExists}
			if p.chance(3) {
				t.Operator, t.Value = corev1.TolerationOpEqual, pick(p.r, "1", "2")
			}
			if p.chance(4) {
				t.Effect = corev1.TaintEffectNoExecute
				t.TolerationSeconds = new(int64(p.r.IntN(3)))
			}
			out = append(out, t)
		}
	}
	return out
}

// newPartial makes the cluster of a seed.
func newPartial(seed uint64) *partial {
	p := &partial{r: rand.New(rand.NewPCG(seed, 7)), planned: map[snapshot.WorkloadKey]eviction.Planned{}}
	p.whole = &snapshot.Snapshot{
		Nodes: map[string]*snapshot.Node{}, Pods: map[string][]*snapshot.Pod{}, Parents: map[types.UID]snapshot.Owner{"set": {Group: "apps", Kind: "Deployment", Name: "web"}},
		Daemons: map[types.UID]*snapshot.Daemon{}, Budgets: snapshot.Budgets{"app": {{Name: "all", Selector: labels.Everything()}}},
	}
	for n := range 2 + p.r.IntN(5) {
		name := fmt.Sprintf("n%d", n)
		p.whole.Nodes[name] = &snapshot.Node{
			Name: name, UID: types.UID(name), Ready: !p.chance(6), Unschedulable: p.chance(8), Labels: map[string]string{"pool": pick(p.r, "x", "y")}, Taints: p.taints(),
			Allocatable: &snapshot.Resources{MilliCPU: 1000, Memory: 1000, Pods: 5},
		}
		// Alike on a node, so that some nodes have nothing to tell.
		tolerations, plain := p.tolerations(), p.chance(2)
		for i := range p.r.IntN(6) {
			p.pod(fmt.Sprintf("p%d-%d", n, i), name, tolerations, plain)
		}
	}
	p.admit()
	return p
}

func (p *partial) pod(name, node string, tolerations []corev1.Toleration, plain bool) {
	ask := snapshot.Resources{MilliCPU: int64(100 * p.r.IntN(6))}
	pod := &snapshot.Pod{
		Namespace: pick(p.r, "app", "db"), Name: name, Node: node, UID: types.UID(name), Demand: &snapshot.Demand{Asks: ask, Holds: ask},
		Scheduling: &snapshot.Scheduling{Tolerations: tolerations}, Labels: labels.Set{"app": name},
	}
	switch p.r.IntN(6) {
	case 0:
		uid := types.UID("daemon-" + name)
		pod.Controller = &snapshot.Controller{Owner: snapshot.Owner{Group: "apps", Kind: "DaemonSet", Name: "agent"}, UID: uid}
		p.whole.Daemons[uid] = &snapshot.Daemon{Scheduling: snapshot.Scheduling{Tolerations: tolerations}}
		if p.chance(3) {
			p.whole.Daemons[uid].Tolerations = p.tolerations()
		}
	case 1, 2, 3:
		pod.Controller = &snapshot.Controller{Owner: snapshot.Owner{Group: "apps", Kind: "ReplicaSet", Name: "web-1"}, UID: "set"}
	}
	if !plain {
		if p.chance(2) {
			pod.Scheduling.Tolerations = p.tolerations()
		}
		if p.chance(4) {
			pod.Scheduling.NodeSelector = map[string]string{"pool": pick(p.r, "x", "y")}
		}
		pod.Terminating, pod.Completed, pod.Mirror = p.chance(15), p.chance(15), p.chance(15)
		if p.chance(6) {
			pod.Claims = []string{name}
			elsewhere := &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchExpressions: []corev1.NodeSelectorRequirement{
				{Key: "pool", Operator: corev1.NodeSelectorOpIn, Values: []string{"none"}},
			}}}}
			p.whole.Volumes = map[string]map[string]*snapshot.Volume{pod.Namespace: {name: {Name: name, Affinity: elsewhere}}}
		}
	}
	p.whole.Pods[node] = append(p.whole.Pods[node], pod)
}

// admit lets admission, and other resources of the run, do something to pods.
func (p *partial) admit() {
	switch p.r.IntN(6) {
	case 0:
		p.whole.Admission = (&admission.Rules{}).With(admission.Policy{Name: "pin", Match: admission.Match{All: true}, Pin: map[string]string{"pool": "none"}})
	case 1:
		p.whole.Admission = (&admission.Rules{}).With(admission.Policy{Name: "give", Match: admission.Match{All: true}, Tolerations: p.tolerations()})
	case 2:
		p.whole.Admission = &admission.Rules{Namespaces: map[string]admission.Namespace{"app": {Defaults: p.tolerations(), Allowed: p.tolerations()}}}
	}
	if p.chance(5) {
		key := snapshot.WorkloadKey{Namespace: pick(p.r, "app", "db"), Owner: p.whole.Parents["set"]}
		p.planned[key] = eviction.Planned{Before: []corev1.Toleration{{Operator: corev1.TolerationOpExists}}, After: p.tolerations(), Sure: p.chance(2)}
	}
}

// part is what is known of some nodes' pods alone.
func (p *partial) part(names []string) *snapshot.Snapshot {
	out := &snapshot.Snapshot{Nodes: p.whole.Nodes, Pods: map[string][]*snapshot.Pod{}, Daemons: p.whole.Daemons, Only: map[string]bool{}}
	for _, name := range names {
		out.Pods[name], out.Only[name] = p.whole.Pods[name], true
	}
	return out
}

// TestSettled_wholeClusterSaysTheSame: where the pods of the changed nodes, or those of some more,
// settle a plan, reading all pods, owners, PodDisruptionBudgets, volumes and admission adds nothing.
func TestSettled_wholeClusterSaysTheSame(t *testing.T) {
	t.Parallel()
	const seeds = 6_000
	settled, byPlaces, quiet := 0, 0, 0
	for seed := range uint64(seeds) {
		p := newPartial(seed)
		wanted := p.taints()
		for len(wanted) == 0 {
			wanted = p.taints()
		}
		target := Target{Names: []string{"n0"}}
		if p.chance(3) {
			target.Names = []string{"n0", "n1"}
		}
		change := Change{Nodes: []NodeTaints{{Target: target, Claim: taint.Claim{Owner: "me", Generation: "g", Taints: wanted, Adopt: true}}}, Planned: p.planned}
		comparison := []eviction.Comparison{eviction.ComparisonUnknown, eviction.ComparisonOff, eviction.ComparisonOn}[p.r.IntN(3)]
		whole := Order(p.whole, change, comparison)
		_, report := whole.Impact()
		plain := !slices.ContainsFunc(report.Pods, func(v eviction.PodVerdict) bool { return !v.Plain() })
		if plain {
			quiet++
		}
		names := PlanNodes(p.whole.SortedNodes(), change.Nodes[0]).Names()
		part := p.part(names)
		if !Unaffected(part, change.Planned) {
			continue
		}
		first := Order(part, change, comparison)
		ok := first.Settled(false)
		if ok {
			settled++
		}
		if !ok && first.OpenPlaces() {
			part = p.part(slices.Concat(names, Roomy(part, names, 2)))
			if ok = p.whole.Admission == nil && Order(part, change, comparison).Settled(true); ok {
				byPlaces++
			}
		}
		if !ok {
			continue
		}
		if !plain {
			t.Fatalf("seed %d: settled, and as a whole %+v", seed, report.Pods)
		}
		if err := (eviction.Limits{MaxPods: new(int64(0)), MaxPending: new(int64(0)), MaxLost: new(int64(0)), Namespaces: []string{"app", "db"}}).Allow(report); err != nil {
			t.Fatalf("seed %d: settled, and not allowed: %v", seed, err)
		}
	}
	t.Logf("%d of %d plans have nothing to tell; %d were settled by the changed nodes, %d by others with room", quiet, seeds, settled, byPlaces)
	if settled < seeds/20 || byPlaces < seeds/200 || settled+byPlaces < quiet/3 {
		t.Error("too few plans were settled for the test to show anything")
	}
}

func TestRoomy(t *testing.T) {
	t.Parallel()
	node := func(name string, cpu int64, change func(*snapshot.Node)) *snapshot.Node {
		n := &snapshot.Node{Name: name, Ready: true, Allocatable: &snapshot.Resources{MilliCPU: cpu}}
		if change != nil {
			change(n)
		}
		return n
	}
	s := &snapshot.Snapshot{Nodes: map[string]*snapshot.Node{}}
	for _, n := range []*snapshot.Node{
		node("changed", 9000, nil), node("small", 1000, nil), node("large", 8000, nil), node("large-too", 8000, nil),
		node("cordoned", 9000, func(n *snapshot.Node) { n.Unschedulable = true }),
		node("down", 9000, func(n *snapshot.Node) { n.Ready = false }),
		node("tainted", 9000, func(n *snapshot.Node) { n.Taints = []corev1.Taint{{Key: "k", Effect: corev1.TaintEffectNoSchedule}} }),
		node("silent", 0, func(n *snapshot.Node) { n.Allocatable = nil }),
	} {
		s.Nodes[n.Name] = n
	}
	for n, want := range [][]string{nil, {"large"}, {"large", "large-too"}, {"large", "large-too", "small"}} {
		if diff := cmp.Diff(want, Roomy(s, []string{"changed"}, n)); diff != "" {
			t.Error(diff)
		}
	}
	if got := Roomy(s, []string{"changed"}, 9); len(got) != 4 {
		t.Error(got)
	}
}
