// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package preview

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/eviction"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/golden"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/machineset"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/planner"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/tf/message"
)

func TestMarkdown(t *testing.T) {
	t.Parallel()
	pool := planner.Target{Selector: labels.SelectorFromSet(labels.Set{"pool": "gpu"})}
	taints := []corev1.Taint{gpu}
	hostile := pod("odd", "x|y", "a`b|c", "a")
	hostile.Controller.Kind = "<Kind>"
	minute := int64(60)
	cases := []struct {
		name     string
		golden   string
		change   WhatIf
		snapshot *snapshot.Snapshot
	}{
		{"a pod of every kind is told at its time", "every-kind", WhatIf{Target: pool, Taints: taints}, shop()},
		{"the guide shows what a plan of one moment comes to", "guide", WhatIf{Target: pool, Taints: taints}, guide()},
		{"one node is named", "one-node", WhatIf{Target: planner.Target{Name: "a"}, Taints: taints}, shop()},
		{"a countdown that runs already is told as perhaps", "perhaps", WhatIf{Target: planner.Target{Name: "a"}, Taints: []corev1.Taint{{Key: "more", Effect: corev1.TaintEffectNoExecute}}},
			cluster([]*snapshot.Node{node("a", gpu)}, pod("ops", "slow", "slow-1", "a", corev1.Toleration{Operator: corev1.TolerationOpExists, Effect: gpu.Effect, TolerationSeconds: &minute}))},
		{"a NoSchedule taint has pods that stay with something to note", "no-schedule", WhatIf{Target: pool, Taints: []corev1.Taint{{Key: "full", Effect: corev1.TaintEffectNoSchedule}}}, cluster([]*snapshot.Node{node("a")}, pod("shop", "web", "web-1", "a"))},
		{"nothing to evict is said in one sentence", "nothing", WhatIf{Target: pool, Absent: []taint.ID{taint.IDOf(gpu)}}, cluster([]*snapshot.Node{node("a", gpu)}, pod("shop", "web", "web-1", "a", patient(5)))},
		{"removing and applying are told together", "both", WhatIf{Target: pool, Taints: []corev1.Taint{{Key: "new", Effect: corev1.TaintEffectNoExecute}}, Absent: []taint.ID{taint.IDOf(gpu)}}, cluster([]*snapshot.Node{node("a", gpu), node("b")}, pod("shop", "web", "web-1", "a"))},
		{"nodes that are so already are counted", "partly", WhatIf{Target: pool, Taints: taints}, cluster([]*snapshot.Node{node("a", gpu), node("b")}, pod("shop", "web", "web-1", "b"))},
		{"a change that is made already changes nothing", "already", WhatIf{Target: pool, Taints: taints}, cluster([]*snapshot.Node{node("a", gpu)}, pod("shop", "web", "web-1", "a"))},
		{"no node at all is said in one sentence", "no-node", WhatIf{Target: pool, Taints: taints}, cluster(nil)},
		{"a crowd is cut and counted", "crowd", WhatIf{Target: pool, Taints: taints}, crowd()},
		{"what Markdown gives a meaning is escaped", "escaped", WhatIf{Target: planner.Target{Name: "a"}, Taints: taints}, cluster([]*snapshot.Node{node("a")}, hostile)},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got := c.change.evaluate(c.snapshot, eviction.ComparisonUnknown).Markdown()
			golden.Check(t, c.golden+".golden.md", got)
		})
	}
}

// TestMarkdownBounded holds the text to what a forge takes as a comment.
func TestMarkdownBounded(t *testing.T) {
	t.Parallel()
	got := WhatIf{Target: planner.Target{Name: "a"}, Taints: []corev1.Taint{gpu}}.evaluate(crowd(), eviction.ComparisonUnknown).Markdown()
	if len(got) > 30_000 {
		t.Errorf("the text has %d characters", len(got))
	}
	if n := strings.Count(got, "\n- `"); n != maxPods {
		t.Errorf("the text lists %d pods, want %d", n, maxPods)
	}
}

func TestHeading_whereNothingChanges(t *testing.T) {
	t.Parallel()
	pool := planner.Target{Selector: labels.SelectorFromSet(labels.Set{"pool": "gpu"})}
	both := []corev1.Taint{gpu, {Key: "new", Effect: corev1.TaintEffectNoExecute}}
	gone := []taint.ID{taint.IDOf(gpu)}
	_, sets := station()
	for want, tt := range map[string]struct {
		change WhatIf
		nodes  []*snapshot.Node
	}{
		`Applying dedicated=gpu:NoExecute to node "a" changes nothing: the node already has it`:                                       {WhatIf{Target: planner.Target{Name: "a"}, Taints: both[:1]}, []*snapshot.Node{node("a", gpu)}},
		`Applying dedicated=gpu:NoExecute, new:NoExecute to 2 nodes matching "pool=gpu" changes nothing: the nodes already have them`: {WhatIf{Target: pool, Taints: both}, []*snapshot.Node{node("a", both...), node("b", both...)}},
		`Removing dedicated:NoExecute from 2 nodes matching "pool=gpu" changes nothing: the nodes already lack it`:                    {WhatIf{Target: pool, Absent: gone}, []*snapshot.Node{node("a"), node("b")}},
		`Removing dedicated:NoExecute and applying new:NoExecute to node "a" changes nothing: the node is already like that`:          {WhatIf{Target: planner.Target{Name: "a"}, Taints: both[1:], Absent: gone}, []*snapshot.Node{node("a", both[1])}},
		`There is no node "c": removing dedicated:NoExecute changes nothing`:                                                          {WhatIf{Target: planner.Target{Name: "c"}, Absent: gone}, []*snapshot.Node{node("a")}},
		`Applying dedicated=gpu:NoExecute to MachineSet "openshift-machine-api/other" changes no machine`:                             {WhatIf{MachineSets: &MachineSets{Target: machineset.Target{Namespace: "openshift-machine-api", Name: "other"}, Rollout: machineset.Rollout{Strategy: machineset.Rolling, MaxUnavailable: 1}}, Taints: both[:1]}, nil},
		`There is no MachineSet "openshift-machine-api/none": applying dedicated=gpu:NoExecute changes nothing`:                       {WhatIf{MachineSets: &MachineSets{Target: machineset.Target{Namespace: "openshift-machine-api", Name: "none"}, Rollout: machineset.Rollout{Strategy: machineset.TemplateOnly}}, Taints: both[:1]}, nil},
	} {
		t.Run(want, func(t *testing.T) {
			t.Parallel()
			s := cluster(tt.nodes)
			change := tt.change
			if change.MachineSets != nil {
				change = change.imagine(s, sets, eviction.ComparisonOff, 1)
			} else {
				change = change.evaluate(s, eviction.ComparisonOff)
			}
			if got := change.Heading(); got != want {
				t.Errorf("got %q", got)
			}
		})
	}
}

// Every pod that is not recreated immediately has a row of its kind, as in the warnings of a plan.
func TestMarkdown_tellsLostFromPending(t *testing.T) {
	t.Parallel()
	agent := pod("ops", "agent", "agent-1", "a")
	agent.Controller.Kind = "DaemonSet"
	agent.Scheduling.Affinity = &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchFields: []corev1.NodeSelectorRequirement{{Key: "metadata.name", Operator: corev1.NodeSelectorOpIn, Values: []string{"a"}}}}}}
	picky := pod("shop", "train", "train-1", "a")
	picky.Scheduling.NodeSelector = map[string]string{"name": "a"}
	got := WhatIf{Target: planner.Target{Name: "a"}, Taints: []corev1.Taint{gpu}}.evaluate(cluster([]*snapshot.Node{node("a"), node("b")}, agent, picky, pod("ops", "", "debug", "a")), eviction.ComparisonOff).Markdown()
	for _, want := range []string{
		"evicts 3 pods: 1 lost, 1 pending, 1 of DaemonSets",
		"| LOST | 1 | Pod ops/debug | 0s | no controller |\n| PENDING | 1 | Deployment shop/train | 0s | no node: 1 taint, 1 selector |\n| DAEMON | 1 | DaemonSet ops/agent | 0s | not recreated while tainted |\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("nothing says %q in\n%s", want, got)
		}
	}
}

// A table of a plan's warning and one of a pull request are the same rows in the same order.
func TestMarkdown_hasTheRowsOfThePlan(t *testing.T) {
	t.Parallel()
	for name, s := range map[string]*snapshot.Snapshot{"every kind": shop(), "a crowd": crowd()} {
		w := WhatIf{Target: planner.Target{Selector: labels.SelectorFromSet(labels.Set{"pool": "gpu"})}, Taints: []corev1.Taint{gpu}}.evaluate(s, eviction.ComparisonOff)
		_, detail := message.Preview(w.Subject(), w.Report)
		var rows []string
		for line := range strings.Lines(detail) {
			// A reason that is too long for the row is in the next line, which is indented further.
			if fields := strings.Fields(line); strings.HasPrefix(line, "  ") && line[2] != ' ' && fields[0] != "…" {
				rows = append(rows, "| "+strings.Join(fields[:2], " | ")+" | "+strings.Join(fields[2:4], " ")+" | "+fields[4]+" | ")
			}
		}
		if len(rows) < 6 {
			t.Fatalf("%s: the plan has no rows:\n%s", name, detail)
		}
		rest := w.Markdown()
		for _, row := range rows {
			_, after, found := strings.Cut(rest, row)
			if !found {
				t.Fatalf("%s: %q is missing, or in another place, in\n%s", name, row, w.Markdown())
			}
			rest = after
		}
	}
}

// The colour is that of the gravest row.
func TestMarkdown_alerts(t *testing.T) {
	t.Parallel()
	a, c := node("a"), &snapshot.Node{Name: "c"}
	picky := pod("shop", "train", "train-1", "a")
	picky.Scheduling.NodeSelector = map[string]string{"name": "a"}
	for name, tt := range map[string]struct {
		snapshot *snapshot.Snapshot
		want     string
	}{
		"no pod is evicted":            {cluster([]*snapshot.Node{a, c}), "> [!NOTE]\n> **Applying "},
		"all fit elsewhere":            {cluster([]*snapshot.Node{a, c}, pod("shop", "web", "web-1", "a")), "> [!WARNING]\n> **Applying "},
		"one is Pending":               {cluster([]*snapshot.Node{a, c}, pod("shop", "web", "web-1", "a"), picky), "> [!CAUTION]\n> **Applying "},
		"one is lost":                  {cluster([]*snapshot.Node{a, c}, pod("shop", "", "debug", "a")), "> [!CAUTION]\n> **Applying "},
		"a countdown has begun before": {cluster([]*snapshot.Node{node("a", corev1.Taint{Key: "old", Effect: gpu.Effect})}, pod("shop", "web", "web-1", "a", patient(5), corev1.Toleration{Key: "old", Operator: "Exists", TolerationSeconds: new(int64(9)), Effect: gpu.Effect})), "> [!WARNING]\n> **Applying "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := (WhatIf{Target: planner.Target{Name: "a"}, Taints: []corev1.Taint{gpu}}).evaluate(tt.snapshot, eviction.ComparisonOff).Markdown(); !strings.HasPrefix(got, tt.want) {
				t.Errorf("it begins otherwise than with %q:\n%s", tt.want, got)
			}
		})
	}
}

func TestMarkdown_drawsATimelineOfSeveralMoments(t *testing.T) {
	t.Parallel()
	done := pod("shop", "job", "job-1", "a", patient(7))
	done.Completed = true
	ended := pod("shop", "old", "old-1", "a", patient(8))
	ended.Terminating = true
	hostile := pod("odd", "x : y", "odd-1", "a")
	hostile.Controller.Kind = "K\n```"
	for name, tt := range map[string]struct {
		pods []*snapshot.Pod
		want string
	}{
		"no pod":                  {nil, ""},
		"one moment":              {[]*snapshot.Pod{pod("shop", "web", "web-1", "a"), pod("shop", "web", "web-2", "a")}, ""},
		"pods that have ended":    {[]*snapshot.Pod{pod("shop", "web", "web-1", "a"), done, ended}, ""},
		"two moments":             {[]*snapshot.Pod{pod("shop", "web", "web-1", "a"), pod("shop", "slow", "slow-1", "a", patient(30)), pod("shop", "web", "web-2", "a")}, "timeline\n    0s : 2 Deployment shop/web\n    30s : 1 Deployment shop/slow\n"},
		"names with a syntax":     {[]*snapshot.Pod{hostile, pod("shop", "slow", "slow-1", "a", patient(30))}, "timeline\n    0s : 1 K____ odd/x _ y\n    30s : 1 Deployment shop/slow\n"},
		"the seconds are ordered": {[]*snapshot.Pod{pod("shop", "a", "a-1", "a", patient(300)), pod("shop", "b", "b-1", "a", patient(30))}, "timeline\n    30s : 1 Deployment shop/b\n    300s : 1 Deployment shop/a\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := WhatIf{Target: planner.Target{Name: "a"}, Taints: []corev1.Taint{gpu}}.evaluate(cluster([]*snapshot.Node{node("a"), {Name: "c"}}, tt.pods...), eviction.ComparisonOff).Markdown()
			_, drawn, _ := strings.Cut(got, "```mermaid\n")
			drawn, _, _ = strings.Cut(drawn, "```")
			if drawn != tt.want {
				t.Errorf("it draws %q in\n%s", drawn, got)
			}
		})
	}
}

func TestMarkdown_shortensNamesOfNodesThatRemainApart(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ nodes, want []string }{
		"a domain is cut":                  {[]string{"ip-10-0-1-2.ec2.internal", "ip-10-0-1-3.ec2.internal"}, []string{"ip-10-0-1-2", "ip-10-0-1-3"}},
		"the same host in two domains":     {[]string{"w1.a.example", "w1.b.example", "w2.a.example"}, []string{"w1.a.example", "w1.b.example", "w2.a.example"}},
		"a host and itself with a domain":  {[]string{"w1", "w1.a.example"}, []string{"w1", "w1.a.example"}},
		"addresses have no domain":         {[]string{"10.0.1.2"}, []string{"10.0.1.2"}},
		"names without a domain are whole": {[]string{"gke-pool-1", "gke-pool-2"}, []string{"gke-pool-1", "gke-pool-2"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var pods []eviction.PodVerdict
			for _, n := range tt.nodes {
				pods = append(pods, eviction.PodVerdict{Pod: &snapshot.Pod{Node: n}})
			}
			short := shortNames(pods)
			for i, n := range tt.nodes {
				if short[n] != tt.want[i] {
					t.Errorf("%s is called %s, want %s", n, short[n], tt.want[i])
				}
			}
		})
	}
}
