// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package evictionpreview

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
		change   whatIf
		snapshot *snapshot.Snapshot
	}{
		{"a pod of every kind is told at its time", "every-kind", whatIf{target: pool, taints: taints}, shop()},
		{"one node is named", "one-node", whatIf{target: planner.Target{Name: "a"}, taints: taints}, shop()},
		{"a countdown that runs already is told as perhaps", "perhaps", whatIf{target: planner.Target{Name: "a"}, taints: []corev1.Taint{{Key: "more", Effect: corev1.TaintEffectNoExecute}}},
			cluster([]*snapshot.Node{node("a", gpu)}, pod("ops", "slow", "slow-1", "a", corev1.Toleration{Operator: corev1.TolerationOpExists, Effect: gpu.Effect, TolerationSeconds: &minute}))},
		{"a NoSchedule taint has pods that stay with something to note", "no-schedule", whatIf{target: pool, taints: []corev1.Taint{{Key: "full", Effect: corev1.TaintEffectNoSchedule}}}, cluster([]*snapshot.Node{node("a")}, pod("shop", "web", "web-1", "a"))},
		{"nothing to evict is said in one sentence", "nothing", whatIf{target: pool, absent: []taint.ID{taint.IDOf(gpu)}}, cluster([]*snapshot.Node{node("a", gpu)}, pod("shop", "web", "web-1", "a", patient(5)))},
		{"removing and applying are told together", "both", whatIf{target: pool, taints: []corev1.Taint{{Key: "new", Effect: corev1.TaintEffectNoExecute}}, absent: []taint.ID{taint.IDOf(gpu)}}, cluster([]*snapshot.Node{node("a", gpu), node("b")}, pod("shop", "web", "web-1", "a"))},
		{"nodes that are so already are counted", "partly", whatIf{target: pool, taints: taints}, cluster([]*snapshot.Node{node("a", gpu), node("b")}, pod("shop", "web", "web-1", "b"))},
		{"a change that is made already changes nothing", "already", whatIf{target: pool, taints: taints}, cluster([]*snapshot.Node{node("a", gpu)}, pod("shop", "web", "web-1", "a"))},
		{"no node at all is said in one sentence", "no-node", whatIf{target: pool, taints: taints}, cluster(nil)},
		{"a crowd is cut and counted", "crowd", whatIf{target: pool, taints: taints}, crowd()},
		{"what Markdown gives a meaning is escaped", "escaped", whatIf{target: planner.Target{Name: "a"}, taints: taints}, cluster([]*snapshot.Node{node("a")}, hostile)},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got := c.change.evaluate(c.snapshot, eviction.ComparisonUnknown).markdown()
			golden.Check(t, c.golden+".golden.md", got)
		})
	}
}

// TestMarkdownBounded holds the text to what a forge takes as a comment.
func TestMarkdownBounded(t *testing.T) {
	t.Parallel()
	got := whatIf{target: planner.Target{Name: "a"}, taints: []corev1.Taint{gpu}}.evaluate(crowd(), eviction.ComparisonUnknown).markdown()
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
		change whatIf
		nodes  []*snapshot.Node
	}{
		`Applying dedicated=gpu:NoExecute to node "a" changes nothing: the node already has it`:                                       {whatIf{target: planner.Target{Name: "a"}, taints: both[:1]}, []*snapshot.Node{node("a", gpu)}},
		`Applying dedicated=gpu:NoExecute, new:NoExecute to 2 nodes matching "pool=gpu" changes nothing: the nodes already have them`: {whatIf{target: pool, taints: both}, []*snapshot.Node{node("a", both...), node("b", both...)}},
		`Removing dedicated:NoExecute from 2 nodes matching "pool=gpu" changes nothing: the nodes already lack it`:                    {whatIf{target: pool, absent: gone}, []*snapshot.Node{node("a"), node("b")}},
		`Removing dedicated:NoExecute and applying new:NoExecute to node "a" changes nothing: the node is already like that`:          {whatIf{target: planner.Target{Name: "a"}, taints: both[1:], absent: gone}, []*snapshot.Node{node("a", both[1])}},
		`There is no node "c": removing dedicated:NoExecute changes nothing`:                                                          {whatIf{target: planner.Target{Name: "c"}, absent: gone}, []*snapshot.Node{node("a")}},
		`Applying dedicated=gpu:NoExecute to MachineSet "openshift-machine-api/other" changes no machine`:                             {whatIf{fleet: &fleet{target: machineset.Target{Namespace: "openshift-machine-api", Name: "other"}, rollout: machineset.Rollout{Strategy: machineset.Rolling, MaxUnavailable: 1}}, taints: both[:1]}, nil},
		`There is no MachineSet "openshift-machine-api/none": applying dedicated=gpu:NoExecute changes nothing`:                       {whatIf{fleet: &fleet{target: machineset.Target{Namespace: "openshift-machine-api", Name: "none"}, rollout: machineset.Rollout{Strategy: machineset.TemplateOnly}}, taints: both[:1]}, nil},
	} {
		t.Run(want, func(t *testing.T) {
			t.Parallel()
			s := cluster(tt.nodes)
			change := tt.change
			if change.fleet != nil {
				change = change.imagine(s, sets, eviction.ComparisonOff, 1)
			} else {
				change = change.evaluate(s, eviction.ComparisonOff)
			}
			if got := change.heading(); got != want {
				t.Errorf("got %q", got)
			}
		})
	}
}

// Every pod that leaves and does not come back at once stands in one column and one note.
func TestMarkdown_tellsLostFromPending(t *testing.T) {
	t.Parallel()
	agent := pod("ops", "agent", "agent-1", "a")
	agent.Controller.Kind = "DaemonSet"
	agent.Scheduling.Affinity = &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchFields: []corev1.NodeSelectorRequirement{{Key: "metadata.name", Operator: corev1.NodeSelectorOpIn, Values: []string{"a"}}}}}}
	picky := pod("shop", "train", "train-1", "a")
	picky.Scheduling.NodeSelector = map[string]string{"name": "a"}
	got := whatIf{target: planner.Target{Name: "a"}, taints: []corev1.Taint{gpu}}.evaluate(cluster([]*snapshot.Node{node("a"), node("b")}, agent, picky, pod("ops", "", "debug", "a")), eviction.ComparisonOff).markdown()
	for _, want := range []string{
		"evicts 3 pods: 1 lost, 1 pending, 1 of DaemonSets",
		"| DaemonSet/agent | ops | 1 | 0 | 0 | 0 | 0 | 1 | 0 | 0 |", "| Pod/debug | ops | 1 | 0 | 0 | 0 | 0 | 1 | 0 | 0 |", "| Deployment/train | shop | 1 | 0 | 0 | 0 | 0 | 0 | 1 | 0 |",
		"- Lost, because no controller recreates them: 1 pod.", "pods of a DaemonSet have no other node by design: 1 pod.", "- Recreated but Pending, because no node would take them: 1 pod.",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("nothing says %q in\n%s", want, got)
		}
	}
}

// TestEscape_makesNeitherMentionsNorLinks of what others have named.
func TestEscape_makesNeitherMentionsNorLinks(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"@team":                   "&#64;team",
		"https://example.com/a":   "https&#58;//example.com/a",
		"www.example.com":         "www&#46;example.com",
		"<b> & `c` | [d](e)\n# f": "&lt;b> &amp; \\`c\\` \\| \\[d\\](e) # f",
	} {
		if got := escape(in); got != want {
			t.Errorf("%q is escaped as %q, want %q", in, got, want)
		}
	}
}
