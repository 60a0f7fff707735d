// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package machineset

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/eviction"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/placement"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
)

// app is a pod of a Deployment that fits only the pool and tolerates its taints.
func app(name, node string, change func(p *snapshot.Pod)) *snapshot.Pod {
	p := &snapshot.Pod{
		Namespace: "shop", Name: name, Node: node, Labels: labels.Set{"app": "db"}, Ready: true,
		Controller: &snapshot.Controller{Owner: snapshot.Owner{Group: "apps", Kind: "ReplicaSet", Name: "db"}},
		Scheduling: &snapshot.Scheduling{NodeSelector: map[string]string{"pool": "gpu"}, Tolerations: []corev1.Toleration{{Key: "team", Operator: corev1.TolerationOpExists}}},
	}
	if change != nil {
		change(p)
	}
	return p
}

func anywhere(p *snapshot.Pod)   { p.Scheduling.NodeSelector = nil }
func intolerant(p *snapshot.Pod) { p.Scheduling.Tolerations = nil }
func alone(p *snapshot.Pod)      { p.Controller = nil }
func completed(p *snapshot.Pod)  { p.Completed = true }
func unready(p *snapshot.Pod)    { p.Ready = false }
func pending(p *snapshot.Pod)    { p.Pending, p.Ready = true, false }
func daemon(p *snapshot.Pod)     { p.Controller.Kind = "DaemonSet" }

func budget(name string, most *int32) snapshot.Budget {
	return snapshot.Budget{Name: name, Selector: labels.SelectorFromSet(labels.Set{"app": "db"}), Most: most}
}

// observe is a cluster of a fleet, one node more, and pods.
func observe(o Observed, budgets []snapshot.Budget, pods ...*snapshot.Pod) *snapshot.Snapshot {
	s := &snapshot.Snapshot{Nodes: map[string]*snapshot.Node{"other": {Name: "other"}}, Pods: map[string][]*snapshot.Pod{}, Budgets: snapshot.Budgets{"shop": budgets}}
	for name, n := range o.Nodes {
		s.Nodes[name] = n
	}
	for _, p := range pods {
		s.Pods[p.Node] = append(s.Pods[p.Node], p)
	}
	return s
}

// TestEvaluate_deadlocks thinks each strategy through: new machines come while old
// ones drain, unless scale_to_zero waits until all are gone.
func TestEvaluate_deadlocks(t *testing.T) {
	t.Parallel()
	replacing := []string{"rolling", "surge", "scale_to_zero", "removed"}
	one := new(int32(1))
	two := func(change func(p *snapshot.Pod)) []*snapshot.Pod {
		return []*snapshot.Pod{app("a", "node-m0", change), app("b", "node-m1", change)}
	}
	for name, tt := range map[string]struct {
		budgets []snapshot.Budget
		pods    []*snapshot.Pod
		machine func(o *Observed)
		// held are the strategies whose drain does not end, refused those of them that
		// the plan refuses.
		held, refused []string
		why           string
	}{
		"a budget that never allows any holds every drain": {[]snapshot.Budget{budget("strict", new(int32(0)))}, two(nil), nil, replacing, nil,
			`PodDisruptionBudget "shop/strict" allows no eviction even when all of its pods are healthy, and 2 of them are to be drained (shop/a, shop/b)`},
		"it does so where the pods fit elsewhere": {[]snapshot.Budget{budget("strict", new(int32(0)))}, two(anywhere), nil, replacing, nil, "allows no eviction"},
		"pods that only new machines take hold it where these come last": {[]snapshot.Budget{budget("db", one)}, two(nil), nil, []string{"removed"}, []string{"removed"},
			`PodDisruptionBudget "shop/db" allows 1 unavailable pod, and 2 to be drained fit only new machines (shop/a, shop/b). These are created after the last old one is deleted`},
		"as many as the budget allows hold nothing": {[]snapshot.Budget{budget("db", new(int32(2)))}, two(nil), nil, nil, nil, ""},
		"pods that fit elsewhere hold nothing":      {[]snapshot.Budget{budget("db", one)}, two(anywhere), nil, nil, nil, ""},
		"pods that never run again hold every drain once the budget is used up": {[]snapshot.Budget{budget("db", one)}, two(intolerant), nil, replacing, nil,
			`PodDisruptionBudget "shop/db" allows 1 unavailable pod, and 2 to be drained cannot run elsewhere (shop/a, shop/b)`},
		"one that never runs again is what the budget allows":           {[]snapshot.Budget{budget("db", one)}, two(intolerant)[:1], nil, nil, nil, ""},
		"pods that nothing makes again are missing as well":             {[]snapshot.Budget{budget("db", one)}, two(alone), nil, replacing, nil, "cannot run elsewhere"},
		"a pod with two budgets cannot be evicted":                      {[]snapshot.Budget{budget("db", one), budget("all", one)}, two(nil)[:1], nil, replacing, nil, "pod shop/a is covered by 2 PodDisruptionBudgets (db, all), and the eviction API refuses to evict it until only one does"},
		"a budget that is not worked out yet holds nothing":             {[]snapshot.Budget{budget("db", nil)}, two(nil), nil, nil, nil, ""},
		"a pod that has ended asks no budget":                           {[]snapshot.Budget{budget("strict", new(int32(0)))}, two(completed), nil, nil, nil, ""},
		"a pod that has not started asks no budget":                     {[]snapshot.Budget{budget("strict", new(int32(0))), budget("all", one)}, two(pending), nil, nil, nil, ""},
		"pods that are not ready ask no budget that always allows them": {[]snapshot.Budget{{Name: "strict", Selector: budget("", nil).Selector, Most: new(int32(0)), AlwaysAllow: true}}, two(unready), nil, nil, nil, ""},
		"pods that are ready ask it":                                    {[]snapshot.Budget{{Name: "strict", Selector: budget("", nil).Selector, Most: new(int32(0)), AlwaysAllow: true}}, two(nil), nil, replacing, nil, "allows no eviction"},
		"a DaemonSet's pod is not drained":                              {[]snapshot.Budget{budget("strict", new(int32(0)))}, two(daemon), nil, nil, nil, ""},
		"a pod of another group's DaemonSet is drained": {[]snapshot.Budget{budget("strict", new(int32(0)))}, two(func(p *snapshot.Pod) {
			daemon(p)
			p.Controller.Group = "apps.kruise.io"
		}), nil, replacing, nil, "allows no eviction"},
		"a machine without a drain asks no budget": {[]snapshot.Budget{budget("strict", new(int32(0)))}, two(nil), func(o *Observed) {
			for _, m := range o.Machines {
				m.NoDrain = true
			}
		}, nil, nil, ""},
	} {
		t.Run(strings.ReplaceAll(name, " ", "_"), func(t *testing.T) {
			t.Parallel()
			for strategy, rollout := range map[string]Rollout{
				"template_only": {Strategy: TemplateOnly}, "in_place": {Strategy: InPlace}, "rolling": {Strategy: Rolling, MaxUnavailable: 1}, "surge": {Strategy: Surge, MaxSurge: 1},
				"scale_to_zero": {Strategy: ScaleToZero}, "removed": {Strategy: ScaleToZero, Removed: true},
			} {
				d := desire(t, rollout.Strategy, "team=a:NoExecute")
				d.Rollout = rollout
				o := fleet(2, tt.machine)
				got := Evaluate(observe(o, tt.budgets, tt.pods...), []Affected{{Observed: o, Effect: Plan(o, d)}}, nil, eviction.ComparisonOff, 1)
				if held := slices.Contains(tt.held, strategy); held != (len(got.Deadlocks) > 0) || held && !strings.Contains(got.Deadlocks[0].Why, tt.why) {
					t.Errorf("%s: it says %v, want %q: %v", strategy, got.Deadlocks, tt.why, held)
				}
				if refused := slices.Contains(tt.refused, strategy); refused != (got.Refused != nil) || refused && got.Refusals[0].Attribute != "wait_for" {
					t.Errorf("%s: it refuses with %v, want to: %v", strategy, got.Refusals, refused)
				}
			}
		})
	}
}

// TestEvaluate_nodesJoinUntainted: a node has its taints a moment after it has joined, and a pod that
// is ready by then is one that the PDB counts. It is said where nothing but the taints keeps pods away.
func TestEvaluate_nodesJoinUntainted(t *testing.T) {
	t.Parallel()
	const said = "a pod that is ready on a new node before nodelink adds its taints lets the drain go on"
	for name, tt := range map[string]struct {
		change  func(p *snapshot.Pod)
		rollout Rollout
		says    bool
	}{
		"new nodes come while old ones drain": {intolerant, Rollout{Strategy: Rolling, MaxUnavailable: 1}, true},
		"new nodes come when all are gone":    {intolerant, Rollout{Strategy: ScaleToZero, Removed: true}, false},
		"pods that nothing recreates":         {alone, Rollout{Strategy: Rolling, MaxUnavailable: 1}, false},
		"pods that no node of the pool takes": {func(p *snapshot.Pod) { p.Scheduling.NodeSelector = map[string]string{"pool": "none"} }, Rollout{Strategy: Rolling, MaxUnavailable: 1}, false},
	} {
		t.Run(strings.ReplaceAll(name, " ", "_"), func(t *testing.T) {
			t.Parallel()
			d := desire(t, tt.rollout.Strategy, "team=a:NoExecute")
			d.Rollout = tt.rollout
			o := fleet(2, nil)
			s := observe(o, []snapshot.Budget{budget("db", new(int32(1)))}, app("a", "node-m0", tt.change), app("b", "node-m1", tt.change))
			got := Evaluate(s, []Affected{{Observed: o, Effect: Plan(o, d)}}, nil, eviction.ComparisonOff, 1).Deadlocks
			if len(got) != 1 || got[0].Possible || strings.Contains(got[0].Why, said) != tt.says {
				t.Errorf("it says %v, want the moment: %v", got, tt.says)
			}
		})
	}
}

// TestEvaluate_setsRollOutInTurn: what holds one is judged with the machines of the
// others as they are then.
func TestEvaluate_setsRollOutInTurn(t *testing.T) {
	t.Parallel()
	d := desire(t, ScaleToZero, "team=a:NoExecute")
	d.Rollout.Removed = true
	one, other := fleet(1, nil), fleet(1, func(o *Observed) {
		o.Set = &Set{Namespace: "openshift-machine-api", Name: "gpu-b", Replicas: 1, Observed: true}
		o.Machines[0].Node = "node-b"
		o.Nodes = map[string]*snapshot.Node{"node-b": {Name: "node-b", Labels: map[string]string{"pool": "gpu"}}}
	})
	s := observe(one, []snapshot.Budget{budget("db", new(int32(1)))}, app("a", "node-m0", nil), app("b", "node-b", nil))
	s.Nodes["node-b"] = other.Nodes["node-b"]
	got := Evaluate(s, []Affected{{one, Plan(one, d)}, {other, Plan(other, d)}}, nil, eviction.ComparisonOff, 1)
	if len(got.Deadlocks) > 0 || got.Refused != nil {
		t.Errorf("it says %v", got.Deadlocks)
	}
	if together := Evaluate(s, []Affected{{one, Plan(one, d)}, {other, Plan(other, d)}}, nil, eviction.ComparisonOff, 2); together.Refused == nil {
		t.Errorf("it refuses nothing where both may roll out at the same time: %v", together.Deadlocks)
	}
	if out := got.Report.Outcome(); out.Missing.Max > 0 || out.Workloads[0].Moved != (eviction.Range{Min: 1, Max: 1}) {
		t.Errorf("%d pods are said to be Pending, and %d to be evicted again with the second machine", out.Missing, out.Workloads[0].Moved)
	}
}

// TestEvaluate_podsThatTheFirstNewMachineTakes hold no drain: the old machines have other pods as well, and each new one has room.
func TestEvaluate_podsThatTheFirstNewMachineTakes(t *testing.T) {
	t.Parallel()
	sized := func(cores int64) func(*snapshot.Pod) {
		return func(p *snapshot.Pod) {
			p.Demand = &snapshot.Demand{Asks: snapshot.Resources{MilliCPU: cores}, Holds: snapshot.Resources{MilliCPU: cores}}
		}
	}
	for _, count := range []int{3, 17, 34} {
		d := desire(t, Rolling, "team=a:NoSchedule")
		d.Rollout.MaxUnavailable = 1
		o := fleet(count, nil)
		var pods []*snapshot.Pod
		for i := range count {
			node := fmt.Sprintf("node-m%d", i)
			pods = append(pods, app(fmt.Sprintf("db-%d", i), node, sized(2000)), app(fmt.Sprintf("other-%d", i), node, func(p *snapshot.Pod) {
				sized(2000)(p)
				p.Labels = labels.Set{"app": "other"}
			}))
		}
		got := Evaluate(observe(o, []snapshot.Budget{budget("db", new(int32(1)))}, pods...), []Affected{{Observed: o, Effect: Plan(o, d)}}, nil, eviction.ComparisonOff, 1)
		if out := got.Report.Outcome(); len(got.Deadlocks) > 0 || out.Staying.Max > 0 {
			t.Errorf("%d machines: %v stay Pending, and it says %v", count, out.Staying, got.Deadlocks)
		}
	}
}

// Pods whose template names their node are there again while it is drained, and may become ready: their PodDisruptionBudget
// holds no drain. That their node goes afterwards is told by the outcome.
func TestEvaluate_podsThatReturnToADrainedMachine(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		named bool
		want  int
	}{"their template names the node": {true, 0}, "the scheduler finds none for them": {false, 1}} {
		stays := func(p *snapshot.Pod) {
			p.Scheduling = &snapshot.Scheduling{NodeSelector: map[string]string{"none": "has it"}}
			p.NamesNode = tt.named
		}
		d, o := desire(t, Rolling, "team=a:NoSchedule"), fleet(1, nil)
		got := Evaluate(observe(o, []snapshot.Budget{budget("db", new(int32(1)))}, app("a", "node-m0", stays), app("b", "node-m0", stays)), []Affected{{Observed: o, Effect: Plan(o, d)}}, nil, eviction.ComparisonOff, 1)
		if len(got.Deadlocks) != tt.want || got.Report.Outcome().Staying != (placement.Range{Min: 2, Max: 2}) {
			t.Errorf("%s: %v, %v stay Pending", name, got.Deadlocks, got.Report.Outcome().Staying)
		}
	}
}

// TestEvaluate_roomElsewhereThatOthersMayTake: a drain before all new machines may be stuck then, and is not refused.
func TestEvaluate_roomElsewhereThatOthersMayTake(t *testing.T) {
	t.Parallel()
	sized := func(p *snapshot.Pod) {
		anywhere(p)
		p.Demand = &snapshot.Demand{Asks: snapshot.Resources{MilliCPU: 2000}, Holds: snapshot.Resources{MilliCPU: 2000}}
	}
	other := func(p *snapshot.Pod) {
		sized(p)
		p.Labels, p.Controller = labels.Set{"app": "other"}, &snapshot.Controller{Owner: snapshot.Owner{Group: "apps", Kind: "ReplicaSet", Name: "other"}}
	}
	d := desire(t, ScaleToZero, "team=a:NoSchedule")
	d.Rollout.Removed = true
	o := fleet(2, nil)
	s := observe(o, []snapshot.Budget{budget("db", new(int32(1)))}, app("a", "node-m0", sized), app("b", "node-m1", sized), app("c", "node-m0", other), app("d", "node-m1", other))
	s.Nodes["other"].Allocatable = &snapshot.Resources{MilliCPU: 4000, Memory: 16 << 30, Pods: 100}
	got := Evaluate(s, []Affected{{Observed: o, Effect: Plan(o, d)}}, nil, eviction.ComparisonOff, 1)
	if len(got.Deadlocks) != 1 || !got.Deadlocks[0].Possible || got.Refused != nil {
		t.Errorf("it refuses %v, and says %v", got.Refusals, got.Deadlocks)
	}
}

// TestEvaluate_routers: the last machines with routers of an IngressController are not
// scaled to zero.
func TestEvaluate_routers(t *testing.T) {
	t.Parallel()
	router := func(name, node, controller string) *snapshot.Pod {
		return app(name, node, func(p *snapshot.Pod) {
			p.Namespace, p.Labels = "openshift-ingress", labels.Set{"ingresscontroller.operator.openshift.io/deployment-ingresscontroller": controller}
		})
	}
	all := []*snapshot.Pod{router("r1", "node-m0", "default"), router("r2", "node-m1", "default")}
	for name, tt := range map[string]struct {
		pods     []*snapshot.Pod
		strategy Strategy
		change   func(o *Observed)
		want     string
	}{
		"all routers of one are there":             {all, ScaleToZero, nil, `all 2 router pods of IngressController "default" run on its machines`},
		"another one's run elsewhere":              {append(slices.Clone(all), router("r3", "other", "internal")), ScaleToZero, nil, `"default"`},
		"one of them runs elsewhere":               {append(slices.Clone(all), router("r3", "other", "default")), ScaleToZero, nil, ""},
		"the one elsewhere is ending":              {append(slices.Clone(all), func() *snapshot.Pod { p := router("r3", "other", "default"); p.Terminating = true; return p }()), ScaleToZero, nil, `"default"`},
		"rolling has some serve at every moment":   {all, Rolling, nil, ""},
		"surge has some serve at every moment":     {all, Surge, nil, ""},
		"in_place has them serve on":               {all, InPlace, nil, ""},
		"pods of another namespace are no routers": {[]*snapshot.Pod{app("a", "node-m0", func(p *snapshot.Pod) { p.Labels = all[0].Labels })}, ScaleToZero, nil, ""},
		"a rollout that has begun goes on": {all, ScaleToZero, func(o *Observed) {
			o.Set.Replicas, o.Set.Marker = 0, &Marker{ID: "terraform/gpu", Strategy: ScaleToZero, OriginalReplicas: 2}
		}, ""},
	} {
		t.Run(strings.ReplaceAll(name, " ", "_"), func(t *testing.T) {
			t.Parallel()
			o := fleet(2, tt.change)
			got := Evaluate(observe(o, nil, tt.pods...), []Affected{{o, Plan(o, desire(t, tt.strategy, "team=a:NoSchedule"))}}, nil, eviction.ComparisonOff, 1)
			switch {
			case tt.want == "" && got.Refused != nil:
				t.Errorf("it refuses: %v", got.Refusals)
			case tt.want != "" && (got.Refused == nil || !strings.Contains(got.Refusals[0].Why, tt.want) || got.Refusals[0].Attribute != "strategy"):
				t.Errorf("it refuses with %v, want %q", got.Refusals, tt.want)
			}
		})
	}
}
