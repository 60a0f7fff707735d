// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package eviction

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/admission"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/toleration"
)

// TestEvaluate_judgesPodsOfOneTemplateByTheTaintsOfTheirNodes: they share what they tolerate,
// and no answer of one node may be taken for that of another one.
func TestEvaluate_judgesPodsOfOneTemplateByTheTaintsOfTheirNodes(t *testing.T) {
	t.Parallel()
	at := func(notation string, minute int) []corev1.Taint {
		out := taintsOf(notation)
		out[0].TimeAdded = &metav1.Time{Time: time.Date(2026, 1, 1, 0, minute, 0, 0, time.UTC)}
		return out
	}
	for name, tt := range map[string]struct {
		// stays are the taints before and after of a node on which the pod stays, goes those
		// of one that it leaves. It tolerates a=1.
		staysBefore, stays, goesBefore, goes []corev1.Taint
	}{
		"of other keys":                      {stays: taintsOf("a=1:NoExecute"), goes: taintsOf("b=1:NoExecute")},
		"of other values":                    {stays: taintsOf("a=1:NoExecute"), goes: taintsOf("a=2:NoExecute")},
		"of other effects":                   {stays: taintsOf("b:NoSchedule"), goes: taintsOf("b:NoExecute")},
		"of which one was there":             {staysBefore: taintsOf("b:NoExecute"), stays: taintsOf("b:NoExecute"), goes: taintsOf("b:NoExecute")},
		"of which one goes":                  {staysBefore: taintsOf("b:NoExecute"), goes: taintsOf("b:NoExecute")},
		"that were added at different times": {staysBefore: at("b:NoExecute", 1), stays: at("b:NoExecute", 1), goesBefore: at("b:NoExecute", 1), goes: at("b:NoExecute", 2)},
		"of which one is another list":       {stays: taintsOf("a=1:NoExecute"), goes: taintsOf("a=1:NoExecute", "b:NoExecute")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			shared := &snapshot.Scheduling{Tolerations: []corev1.Toleration{equal("a", "1", noEx)}}
			for _, order := range [][]string{{"n1", "n2"}, {"n2", "n1"}} {
				stays, goes := node(order[0]), node(order[1])
				stays.Taints, goes.Taints = tt.staysBefore, tt.goesBefore
				w := newWorld(stays, goes)
				for _, n := range order {
					p := pod("on-"+n, n)
					p.Scheduling = shared
					w.run(p)
				}
				report := Evaluate(w.Snapshot, Scenario{Taints: map[string][]corev1.Taint{order[0]: tt.stays, order[1]: tt.goes}}, ComparisonOff)
				for _, v := range report.Pods {
					if want := map[bool]Verdict{true: Stays, false: EvictedNow}[v.Pod.Node == order[0]]; v.Verdict != want {
						t.Errorf("%s of %v: %s (%s), want %s", v.Pod.Name, order, v.Verdict, v.Reason, want)
					}
				}
			}
		})
	}
}

// TestEvaluate_givesPodsOfOneTemplateWhatAdmissionGivesEach of them.
func TestEvaluate_givesPodsOfOneTemplateWhatAdmissionGivesEach(t *testing.T) {
	t.Parallel()
	shared := &snapshot.Scheduling{}
	two := func(first, second podOption) world {
		w := newWorld(node("n1"), node("n2"))
		for name, option := range map[string]podOption{"p": first, "q": second} {
			p := pod(name, "n1", option)
			p.Scheduling = shared
			w.run(p)
		}
		return w
	}
	app := func(name string) podOption { return func(p *snapshot.Pod) { p.Labels = labels.Set{"app": name} } }
	in := func(namespace string) podOption { return func(p *snapshot.Pod) { p.Namespace = namespace } }
	policies := two(app("web"), app("db"))
	for name, key := range map[string]string{"web": "b", "db": "c"} {
		policies.Admission = policies.Admission.With(admission.Policy{Name: name, Match: admission.Match{PodSelector: "app=" + name}, Tolerations: []corev1.Toleration{exists(key, "")}})
	}
	defaults := func(first, second podOption) world {
		w := two(first, second)
		w.Admission = &admission.Rules{Namespaces: map[string]admission.Namespace{"app": {Defaults: []corev1.Toleration{exists("b", "")}}, "other": {Defaults: []corev1.Toleration{exists("c", "")}}}}
		return w
	}
	policyOf := two(asking(1, 0), asking(0, 0))
	policyOf.Admission = policyOf.Admission.With(admission.Policy{Name: "all", Match: admission.Match{PodSelector: "app=web"}, Tolerations: []corev1.Toleration{exists("b", "")}})
	for name, tt := range map[string]struct {
		world world
		want  map[string]string
	}{
		"by the policies for their labels": {policies, map[string]string{"p": "b Exists", "q": "c Exists"}},
		"by their namespaces":              {defaults(in("app"), in("other")), map[string]string{"p": "b Exists", "q": "c Exists"}},
		// A pod that asks for cores or for memory is not BestEffort, and tolerates a node under memory pressure.
		"by whether they ask for cores":              {defaults(asking(1, 0), asking(0, 0)), map[string]string{"p": "b Exists and 1 more", "q": "b Exists"}},
		"by whether they ask for memory":             {defaults(asking(0, 1), asking(0, 0)), map[string]string{"p": "b Exists and 1 more", "q": "b Exists"}},
		"and no more where their namespace has none": {policyOf, map[string]string{"p": "b Exists", "q": "b Exists"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := map[string]string{}
			for _, v := range Evaluate(tt.world.Snapshot, tainting("n1", "a:NoExecute"), ComparisonOff).Pods {
				_, gives, _ := strings.Cut(v.Reason, "admission gives it ")
				got[v.Pod.Name], _, _ = strings.Cut(gives, " when it is recreated")
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestEvaluate_saysNoMoreThanWhatConcernsAPod: the whole reason, to the letter.
func TestEvaluate_saysNoMoreThanWhatConcernsAPod(t *testing.T) {
	t.Parallel()
	anywhere := []corev1.Toleration{exists("", "")}
	agent := func(options ...podOption) *snapshot.Pod {
		return pod("agent-1", "n1", append([]podOption{ownedBy("DaemonSet", "agent"), pinned("n1")}, options...)...)
	}
	gpu := func(taints ...string) *snapshot.Node { return labelled(node("n1", taints...), "pool", "gpu") }
	relabelled := func(c Scenario) Scenario {
		c.Labels = map[string]map[string]string{"n1": {"pool": "cpu"}}
		return c
	}
	drained := func(c Scenario) Scenario {
		c.Drains = map[string]bool{"n1": true}
		return c
	}
	selects := corev1.PodSpec{NodeSelector: map[string]string{"pool": "gpu"}}
	leaves := tainting("n1", "a:NoExecute")
	two := func(options ...podOption) world {
		return newWorld(node("n1"), node("n2")).run(pod("p", "n1", options...))
	}
	one := func(options ...podOption) world { return newWorld(node("n1")).run(pod("p", "n1", options...)) }
	for name, tt := range map[string]struct {
		world  world
		change Scenario
		gate   Comparison
		want   string
	}{
		"one that has a place elsewhere":                            {two(), leaves, ComparisonOff, "does not tolerate a:NoExecute"},
		"one that has completed, whatever other nodes there are":    {one(completed), leaves, ComparisonOff, "does not tolerate a:NoExecute; it has completed, and only its Pod object is deleted"},
		"one that has completed is given nothing":                   {one(completed).admitting(nil), leaves, ComparisonOff, "does not tolerate a:NoExecute; it has completed, and only its Pod object is deleted"},
		"a mirror pod, whatever other nodes there are":              {one(mirror), leaves, ComparisonOff, "does not tolerate a:NoExecute; the kubelet recreates the mirror pod"},
		"one that stays is given nothing":                           {two(tolerating(exists("a", ""))).admitting(nil), leaves, ComparisonOff, "tolerates a:NoExecute"},
		"one that could not be put there again, by a known gate":    {two(), tainting("n1", "b:NoSchedule"), ComparisonOff, "stays, but does not tolerate b:NoSchedule and could not be scheduled on this node again"},
		"one that could not, and could if the gate were on":         {two(tolerating(corev1.Toleration{Key: "b", Operator: corev1.TolerationOpLt, Value: "9"})), tainting("n1", "b=5:NoSchedule"), ComparisonUnknown, "stays, but does not tolerate b=5:NoSchedule and could not be scheduled on this node again, unless the feature gate TaintTolerationComparisonOperators is on"},
		"one that could not, whatever the gate":                     {two(), tainting("n1", "b=5:NoSchedule"), ComparisonUnknown, "stays, but does not tolerate b=5:NoSchedule and could not be scheduled on this node again"},
		"one of a DaemonSet on a node that is drained":              {newWorld(node("n1"), node("n2")).run(agent()), drained(tainting("n1", "b:NoSchedule")), ComparisonOff, "is not evicted by the drain, but does not tolerate b:NoSchedule: the new machines get no such pod"},
		"one of a DaemonSet that does not tolerate it itself":       {newWorld(node("n1"), node("n2")).run(agent()).template("agent", corev1.PodSpec{}), leaves, ComparisonOff, "does not tolerate a:NoExecute; not recreated until the node's taints and labels allow it"},
		"one whose DaemonSet does not select the node any more":     {newWorld(gpu(), node("n2")).run(agent(tolerating(anywhere...))).template("agent", selects), relabelled(tainting("n1", "a:NoExecute")), ComparisonOff, "its DaemonSet does not select the node by its new labels; not recreated until the node's taints and labels allow it"},
		"one whose DaemonSet never tolerated what is there":         {newWorld(node("n1", "y:NoExecute")).run(agent(tolerating(anywhere...))).template("agent", corev1.PodSpec{}), labelling("n1", map[string]string{"new": "x"}), ComparisonOff, ""},
		"one of a DaemonSet of which the template is not known":     {newWorld(gpu()).run(agent(selecting("pool", "gpu"))), relabelled(Scenario{}), ComparisonOff, ""},
		"one that requires a label of a node that keeps its labels": {newWorld(gpu()).run(pod("p", "n1", selecting("pool", "gpu"), tolerating(anywhere...))), tainting("n1", "a:NoSchedule"), ComparisonOff, ""},
		"one of which the countdown runs on a node that loses its label": {
			newWorld(gpu("a:NoExecute"), node("n2")).run(pod("p", "n1", selecting("pool", "gpu"), tolerating(lasting(exists("a", noEx), 60), lasting(exists("b", noEx), 30)))), relabelled(tainting("n1", "a:NoExecute", "b:NoExecute")), ComparisonOff,
			"tolerates b:NoExecute for a limited time, and that countdown has started: this change does not affect it, and the API does not show when it ends",
		},
		"one of which the countdown runs, and that could not be put there again": {
			newWorld(node("n1", "a:NoExecute"), node("n2")).run(pod("p", "n1", tolerating(lasting(exists("a", noEx), 60)))), tainting("n1", "a:NoExecute", "b:NoSchedule"), ComparisonOff,
			"stays, but does not tolerate b:NoSchedule and could not be scheduled on this node again; tolerates a:NoExecute for a limited time, and that countdown has started: this change does not affect it, and the API does not show when it ends",
		},
		"a gate that is off decides for a template": {
			newWorld(node("n1")).run(agent(tolerating(anywhere...))).template("agent", corev1.PodSpec{Tolerations: []corev1.Toleration{greaterThan("x", "0")}}), tainting("n1", "x=1:NoExecute"), ComparisonOff,
			"its DaemonSet's template does not tolerate x=1:NoExecute, even if the pod does; not recreated until the node's taints and labels allow it",
		},
		"one that is stranded by another taint than the one that it leaves by": {
			newWorld(node("n1", "a:NoSchedule"), node("n2")).run(pod("p", "n1", tolerating(exists("a", "")))), tainting("n1", "b:NoSchedule", "c:NoExecute"), ComparisonOff,
			"does not tolerate c:NoExecute; it tolerates a:NoSchedule, which is removed, but not b:NoSchedule, which is added",
		},
		"one that its template strands": {
			newWorld(node("n1", "a:NoSchedule")).run(agent()).template("agent", corev1.PodSpec{Tolerations: []corev1.Toleration{exists("a", "")}}), tainting("n1", "b:NoSchedule"), ComparisonOff,
			"stays, but does not tolerate b:NoSchedule and could not be scheduled on this node again; its DaemonSet counts it as mis-scheduled; it tolerates a:NoSchedule, which is removed",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if v := only(t, Evaluate(tt.world.Snapshot, tt.change, tt.gate)); v.Reason != tt.want {
				t.Errorf("it says %q, want %q", v.Reason, tt.want)
			}
		})
	}
}

func TestJudge_namesTheTaintThatDecides(t *testing.T) {
	t.Parallel()
	forever, minute := exists("a", noEx), lasting(exists("b", noEx), 60)
	for name, tt := range map[string]struct {
		tolerations   []corev1.Toleration
		before, after []string
		comparison    Comparison
		want          Verdict
		seconds       int64
		at, reason    string
	}{
		"the first of those that are tolerated for ever":       {tolerations: []corev1.Toleration{forever, exists("b", noEx)}, after: []string{"a:NoExecute", "b:NoExecute"}, want: Stays, at: "b", reason: "tolerates b:NoExecute"},
		"one that is tolerated for a time before one for ever": {tolerations: []corev1.Toleration{forever, minute}, after: []string{"b:NoExecute", "a:NoExecute"}, want: EvictedAfter, seconds: 60, at: "b", reason: "tolerates b:NoExecute for 60s"},
		"the first of two that are tolerated equally long":     {tolerations: []corev1.Toleration{minute, lasting(exists("c", noEx), 60)}, after: []string{"b:NoExecute", "c:NoExecute"}, want: EvictedAfter, seconds: 60, at: "b", reason: "tolerates b:NoExecute for 60s"},
		// 2^64 ns are 18446744073.7 s: the controller's nanoseconds begin at zero again.
		"seconds that overflow twice are what is left of them": {tolerations: []corev1.Toleration{lasting(forever, 18446744084)}, after: []string{"a:NoExecute"}, want: EvictedAfter, seconds: 10, at: "a", reason: "tolerates a:NoExecute for 10s"},
		"a gate on which it depends whether a countdown runs": {
			tolerations: []corev1.Toleration{lasting(greaterThan("a", "1"), 60), lasting(exists("b", noEx), 30)}, before: []string{"a=5:NoExecute"}, after: []string{"a=5:NoExecute", "b:NoExecute"}, want: Unknown, at: "a",
			reason: "has a toleration with Lt or Gt: not known if the feature gate TaintTolerationComparisonOperators is on, evicted immediately if it is off; " + makeCertain,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := judge(tt.tolerations, taintsOf(tt.before...), taintsOf(tt.after...), tt.comparison)
			if got.verdict != tt.want || got.seconds != tt.seconds || got.reason != tt.reason || got.taint == nil || got.taint.Key != tt.at || got.toleration == nil {
				t.Errorf("got %s %d by %v (%q), want %s %d by %s (%q)", got.verdict, got.seconds, got.taint, got.reason, tt.want, tt.seconds, tt.at, tt.reason)
			}
		})
	}
}

// TestPlanned_ofPodAddsNothingWhereTheTemplateLosesNothingOfTheKind.
func TestPlanned_ofPodAddsNothingWhereTheTemplateLosesNothingOfTheKind(t *testing.T) {
	t.Parallel()
	x, all := equal("x", "1", noEx), exists("", "")
	for name, tt := range map[string]struct{ before, after, live, want []corev1.Toleration }{
		"a pod that has none has none":                                          {live: []corev1.Toleration{x}, want: []corev1.Toleration{x}},
		"one for every taint that stays is enough":                              {before: []corev1.Toleration{all}, after: []corev1.Toleration{all, x}, live: []corev1.Toleration{all}, want: []corev1.Toleration{all, x}},
		"other seconds take the place of those of before":                       {before: []corev1.Toleration{lasting(x, 30)}, after: []corev1.Toleration{lasting(x, 60)}, live: []corev1.Toleration{lasting(x, 30), exists("y", "")}, want: []corev1.Toleration{lasting(x, 60), exists("y", "")}},
		"what is gone leaves no trace":                                          {before: []corev1.Toleration{x}, live: []corev1.Toleration{x, exists("y", "")}, want: []corev1.Toleration{exists("y", "")}},
		"admission gives its own where the template loses one of not-ready":     {before: []corev1.Toleration{lasting(exists(corev1.TaintNodeNotReady, noEx), 700)}, live: []corev1.Toleration{lasting(exists(corev1.TaintNodeNotReady, noEx), 700)}, want: []corev1.Toleration{lasting(exists(corev1.TaintNodeNotReady, noEx), 300)}},
		"admission gives none where another one of unreachable takes its place": {before: []corev1.Toleration{exists(corev1.TaintNodeUnreachable, "")}, after: []corev1.Toleration{exists(corev1.TaintNodeUnreachable, noEx)}, live: []corev1.Toleration{exists(corev1.TaintNodeUnreachable, "")}, want: []corev1.Toleration{exists(corev1.TaintNodeUnreachable, noEx)}},
		"one of the kind that is not admission's own stays":                     {after: []corev1.Toleration{exists("node.kubernetes.io/not-ready", noEx)}, live: []corev1.Toleration{lasting(equal("node.kubernetes.io/not-ready", "", noEx), 9)}, want: []corev1.Toleration{lasting(equal("node.kubernetes.io/not-ready", "", noEx), 9), exists("node.kubernetes.io/not-ready", noEx)}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := Planned{Before: tt.before, After: tt.after}.OfPod(tt.live)
			if !slices.EqualFunc(got, tt.want, toleration.Equal) {
				t.Errorf("got %v, want %v", got, tt.want)
			}
		})
	}
}

// TestEvaluate_tolerationsThatMayComeLateMayStrandAPod.
func TestEvaluate_tolerationsThatMayComeLateMayStrandAPod(t *testing.T) {
	t.Parallel()
	p := pod("web-1", "n1", ownedBy("StatefulSet", "web"))
	key := snapshot.WorkloadKey{Namespace: "app", Owner: p.Controller.Owner}
	v := only(t, Evaluate(newWorld(node("n1", "x=1:NoSchedule"), node("n2")).run(p).Snapshot, Scenario{
		Taints: map[string][]corev1.Taint{"n1": taintsOf("x=2:NoSchedule")}, Tolerations: map[snapshot.WorkloadKey]Planned{key: {After: []corev1.Toleration{equal("x", "1", "")}}},
	}, ComparisonOff))
	if !v.Stranded || !v.SavedByTolerations || !v.OrderDependent {
		t.Errorf("stranded %t, spared %t, hedged %t: %s", v.Stranded, v.SavedByTolerations, v.OrderDependent, v.Reason)
	}
}

func TestRepin_tellsWhichBudgetsItIgnores(t *testing.T) {
	t.Parallel()
	w := newWorld(node("n1")).template("agent", corev1.PodSpec{}).budget("app", "agents", "app=web", 0)
	report := Repin(w.Snapshot, []*snapshot.Pod{pod("agent-1", "n1", ownedBy("DaemonSet", "agent"), pinned("n1"))}, map[string]string{"pool": "gpu"}, ComparisonOff)
	if v := only(t, report); v.Budget != "agents is bypassed: it allows 0 disruptions, but 1 of its pods is evicted" {
		t.Errorf("it says %q", v.Budget)
	}
}

func TestJoin_sortsNodesAndGaps(t *testing.T) {
	t.Parallel()
	got := Join(&Report{Nodes: []string{"n3", "n1"}, Gaps: []string{"b"}}, &Report{Nodes: []string{"n2", "n1"}, Gaps: []string{"a", "b"}})
	if diff := cmp.Diff(&Report{Nodes: []string{"n1", "n2", "n3"}, Gaps: []string{"a", "b"}}, got, cmpopts.IgnoreUnexported(Report{})); diff != "" {
		t.Error(diff)
	}
}

func TestReport_onNodesHasTheirPodsAlone(t *testing.T) {
	t.Parallel()
	w := newWorld(node("n1"), node("n2"), node("n3")).run(pod("a", "n1"), pod("b", "n2"), pod("c", "n3"))
	whole := Evaluate(w.Snapshot, draining("n1", "n2", "n3"), ComparisonOff)
	var got []string
	for _, v := range whole.On([]string{"n1", "n3"}).Pods {
		got = append(got, v.Pod.Name)
	}
	if strings.Join(got, " ") != "a c" || len(whole.Pods) != 3 {
		t.Errorf("there are %v, and %d in the whole", got, len(whole.Pods))
	}
}

func TestLimitsError_namesTheFirstReason(t *testing.T) {
	t.Parallel()
	none := int64(0)
	if err := (Limits{}).Allow(&Report{}); err != nil {
		t.Errorf("nothing exceeds: %v", err)
	}
	evicted := &Report{Pods: verdicts(2, "web", EvictedNow, nil)}
	if err := (Limits{MaxPods: &none}).Allow(evicted); err == nil || err.Error() != "max_pods does not allow 2 evictions" {
		t.Errorf("two evictions: %v", err)
	}
	for i := range evicted.Pods {
		evicted.Pods[i].Stranded = true
	}
	if err := (Limits{MaxPods: &none}).Allow(evicted); err == nil || err.Error() != "2 pods would be stranded" {
		t.Errorf("two stranded pods: %v", err)
	}
}

// TestEvictions_endStatefulSetsInTheirOrder: it is a habit of those of Kubernetes itself, and of OpenKruise's.
func TestEvictions_endStatefulSetsInTheirOrder(t *testing.T) {
	t.Parallel()
	of := func(group, name string) func(*snapshot.Pod) {
		return func(p *snapshot.Pod) {
			p.Controller.Owner = snapshot.Owner{Group: group, Kind: "StatefulSet", Name: name}
		}
	}
	w := newWorld(node("n1"), node("n2")).run(pod("a", "n1", ownedBy("StatefulSet", "a")), pod("b", "n1", of("apps.kruise.io", "b")), pod("c", "n1"), pod("d", "n1", of("example.com", "d")))
	w = w.run(pod("e", "n1", ownedBy("StatefulSet", "e")), pod("f", "n1", ownedBy("StatefulSet", "f"))).policy("e", true).policy("f", false)
	e := newEvaluation(w.Snapshot, draining("n1"), ComparisonOff)
	// Ordered, and whether that is not known.
	got := map[string][2]bool{}
	for _, one := range e.evictions(e.report().Pods) {
		got[one.Pod.Name] = [2]bool{one.Ordered, one.PolicyUnknown}
	}
	want := map[string][2]bool{"a": {true, true}, "b": {true, true}, "c": {}, "d": {}, "e": {true, false}, "f": {}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestAnswers_secondsCountUnderNoExecuteAlone, as for the scheduler.
func TestAnswers_secondsCountUnderNoExecuteAlone(t *testing.T) {
	t.Parallel()
	w := newWorld().run(pod("p", "n", tolerating(lasting(exists("a", ""), 60), exists("a", ""))))
	for notation, want := range map[string]string{"a:NoSchedule": "a:NoSchedule for ever by a Exists for 60s", "a:NoExecute": "a:NoExecute 60 s by a Exists for 60s, not a Exists"} {
		got := Answers(w.Snapshot, taintsOf(notation), everyPod, ComparisonOff)
		if len(got) != 1 || answered(got[0].Taints[0]) != want {
			t.Errorf("%s: got %v, want %s", notation, got, want)
		}
	}
}
