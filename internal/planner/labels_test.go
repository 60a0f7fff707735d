// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package planner

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/eviction"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/label"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/machineset"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/toleration"
)

// labelledNode has labels beside pool=POOL; those after a "*" are marked as of generation g2,
// those after a "!" as another owner's, those after a "^" as of an earlier generation.
func labelledNode(t *testing.T, name, pool string, notations ...string) *snapshot.Node {
	t.Helper()
	n := aNode(t, name, pool)
	for _, one := range notations {
		key, value, _ := strings.Cut(strings.TrimLeft(one, "*!^"), "=")
		n.Labels[key] = value
		switch one[0] {
		case '*':
			n.LabelRecord = append(n.LabelRecord, label.Mark{Key: key, Owner: "me", Generation: "g2"})
		case '!':
			n.LabelRecord = append(n.LabelRecord, label.Mark{Key: key, Owner: "other", Generation: "g9"})
		case '^':
			n.LabelRecord = append(n.LabelRecord, label.Mark{Key: key, Owner: "me", Generation: "g1"})
		}
	}
	return n
}

func damaged(n *snapshot.Node, labels bool) *snapshot.Node {
	if labels {
		n.LabelRecordErr = errors.New("the record of labels is damaged")
	} else {
		n.RecordErr = errors.New("the record of taints is damaged")
	}
	return n
}

func TestPlanLabels(t *testing.T) {
	t.Parallel()
	wants := func(target Target, notations ...string) NodeLabels {
		d := NodeLabels{Target: target, Claim: label.Claim{Owner: "me", Generation: "g2", Labels: map[string]string{}}}
		for _, one := range notations {
			key, value, _ := strings.Cut(one, "=")
			d.Claim.Labels[key] = value
		}
		return d
	}
	release := func(d NodeLabels) NodeLabels { d.Claim.Release = true; return d }
	takeOver := func(d NodeLabels) NodeLabels { d.Claim.TakeOver = true; return d }
	gpu := pool(t, "gpu")
	for name, tt := range map[string]struct {
		nodes   []*snapshot.Node
		desired NodeLabels
		// want are the nodes that change, and how, taken those where labels are adopted, refused
		// parts of the refusals.
		want    []string
		taken   []string
		refused []string
		words   string
	}{
		"a node that is meant gets the labels":                         {nodes: []*snapshot.Node{labelledNode(t, "a", "gpu")}, desired: wants(gpu, "tier=x"), want: []string{"a: pool=gpu, tier=x"}, words: "label tier=x"},
		"a node that is not meant gets nothing":                        {nodes: []*snapshot.Node{labelledNode(t, "a", "web")}, desired: wants(gpu, "tier=x"), words: "labels "},
		"a node by its name gets them":                                 {nodes: []*snapshot.Node{labelledNode(t, "a", "web"), labelledNode(t, "b", "web")}, desired: wants(Target{Name: "b"}, "tier=x"), want: []string{"b: pool=web, tier=x"}, words: "label tier=x"},
		"a node that is as wanted is left":                             {nodes: []*snapshot.Node{labelledNode(t, "a", "gpu", "*tier=x")}, desired: wants(gpu, "tier=x"), words: "labels "},
		"a node that is meant no more gives up what is ours":           {nodes: []*snapshot.Node{labelledNode(t, "a", "web", "*tier=x", "!zone=y")}, desired: wants(gpu, "tier=x"), want: []string{"a: pool=web, zone=y"}, words: "label tier"},
		"a release takes ours away":                                    {nodes: []*snapshot.Node{labelledNode(t, "a", "gpu", "*tier=x", "role=z")}, desired: release(wants(gpu, "tier=x")), want: []string{"a: pool=gpu, role=z"}, words: "label tier"},
		"two labels are told, and more are counted":                    {nodes: []*snapshot.Node{labelledNode(t, "a", "gpu"), labelledNode(t, "b", "gpu")}, desired: wants(gpu, "tier=x", "role=y"), want: []string{"a: pool=gpu, role=y, tier=x", "b: pool=gpu, role=y, tier=x"}, words: "labels role=y, tier=x"},
		"three labels are one and two more":                            {nodes: []*snapshot.Node{labelledNode(t, "a", "gpu")}, desired: wants(gpu, "tier=x", "role=y", "zone=z"), want: []string{"a: pool=gpu, role=y, tier=x, zone=z"}, words: "labels role=y and 2 more"},
		"what an earlier create has marked is taken over":              {nodes: []*snapshot.Node{labelledNode(t, "a", "gpu", "^tier=x"), labelledNode(t, "b", "gpu")}, desired: takeOver(wants(gpu, "tier=x")), want: []string{"a: pool=gpu, tier=x", "b: pool=gpu, tier=x"}, taken: []string{"a"}, words: "label tier=x"},
		"what is not meant is not taken over":                          {nodes: []*snapshot.Node{labelledNode(t, "a", "web", "^tier=x")}, desired: takeOver(wants(gpu, "tier=x")), words: "labels "},
		"a label of another owner refuses":                             {nodes: []*snapshot.Node{labelledNode(t, "a", "gpu", "tier=y")}, desired: wants(gpu, "tier=x"), refused: []string{"a tier=y"}, words: "labels "},
		"a label of another owner on a node that is not meant is left": {nodes: []*snapshot.Node{labelledNode(t, "a", "web", "tier=y")}, desired: wants(gpu, "tier=x"), words: "labels "},
		"a node that a label makes leave its selector refuses":         {nodes: []*snapshot.Node{ours(labelledNode(t, "a", "gpu"), "pool")}, desired: wants(gpu, "pool=web"), want: []string{"a: pool=web"}, refused: []string{`a with its new labels, the selector "pool=gpu" would not match it any more`}, words: "label pool=web"},
		"a node by name may lose what another selects it by":           {nodes: []*snapshot.Node{ours(labelledNode(t, "a", "gpu"), "pool")}, desired: wants(Target{Name: "a"}, "pool=web"), want: []string{"a: pool=web"}, words: "label pool=web"},
		"a release may take away what it is selected by":               {nodes: []*snapshot.Node{ours(labelledNode(t, "a", "gpu"), "pool")}, desired: release(wants(gpu, "pool=gpu")), want: []string{"a: "}, words: "label pool"},
		"a node of a selector with a damaged record is left":           {nodes: []*snapshot.Node{damaged(labelledNode(t, "a", "gpu"), true)}, desired: wants(gpu, "tier=x"), words: "labels "},
		"so is one with a damaged record of taints":                    {nodes: []*snapshot.Node{damaged(labelledNode(t, "a", "gpu"), false)}, desired: wants(gpu, "tier=x"), words: "labels "},
		"a damaged record of a node by name refuses":                   {nodes: []*snapshot.Node{damaged(labelledNode(t, "a", "gpu"), true)}, desired: wants(Target{Name: "a"}, "tier=x"), want: []string{"a: pool=gpu, tier=x"}, refused: []string{"a the record of labels is damaged (repair it; or remove it with \"kubectl annotate node a " + label.OwnedAnnotation + "-\""}, words: "label tier=x"},
		"a damaged record refuses a release":                           {nodes: []*snapshot.Node{damaged(labelledNode(t, "a", "gpu"), true)}, desired: release(wants(gpu, "tier=x")), refused: []string{"a the record of labels is damaged"}, words: "labels "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := PlanLabels(tt.nodes, tt.desired)
			var got, refused []string
			for _, s := range p.Switches {
				got = append(got, s.Node.Name+": "+label.Format(s.Merged.Labels))
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("labels: %s", diff)
			}
			for _, r := range p.Refusals {
				words := r.Node + " " + r.Why
				if r.Label != nil {
					words += r.Label.Key + "=" + r.Label.Value
				}
				if !r.Labels {
					t.Errorf("%s is not about labels", words)
				}
				refused = append(refused, words)
			}
			if len(refused) != len(tt.refused) || len(refused) > 0 && !strings.HasPrefix(refused[0], tt.refused[0]) {
				t.Errorf("refused: %q, want %q", refused, tt.refused)
			}
			if diff := cmp.Diff(tt.taken, p.TakenOver); diff != "" {
				t.Errorf("taken over: %s", diff)
			}
			if p.Words() != tt.words {
				t.Errorf("it says %q, want %q", p.Words(), tt.words)
			}
		})
	}
}

func ours(n *snapshot.Node, key string) *snapshot.Node {
	n.LabelRecord = append(n.LabelRecord, label.Mark{Key: key, Owner: "me", Generation: "g2"})
	return n
}

func TestNodeLabels_unreadableAreThoseThatAreMeant(t *testing.T) {
	t.Parallel()
	nodes := []*snapshot.Node{damaged(labelledNode(t, "a", "gpu"), true), damaged(labelledNode(t, "b", "web"), true), damaged(labelledNode(t, "c", "gpu"), false), labelledNode(t, "d", "gpu")}
	if diff := cmp.Diff([]string{"a"}, NodeLabels{Target: pool(t, "gpu")}.Unreadable(nodes)); diff != "" {
		t.Error(diff)
	}
}

func TestLabelPlan_whatIsRemovedHasTheValuesOfTheNodes(t *testing.T) {
	t.Parallel()
	d := NodeLabels{Target: pool(t, "gpu"), Claim: label.Claim{Owner: "me", Generation: "g2", Release: true, Labels: map[string]string{"tier": "x", "lost": "l"}}}
	p := PlanLabels([]*snapshot.Node{
		labelledNode(t, "a", "gpu", "*tier=x"), labelledNode(t, "b", "gpu", "*tier=y"), labelledNode(t, "c", "gpu", "*tier=x"), ours(labelledNode(t, "d", "gpu"), "lost"),
	}, d)
	if diff := cmp.Diff(map[string][]string{"tier": {"x", "y"}}, p.removed()); diff != "" {
		t.Errorf("removed: %s", diff)
	}
	more := LabelPlan{Switches: append(p.Switches, LabelSwitch{Node: labelledNode(t, "e", "gpu")})}
	if got := more.removing(); len(got.Switches) != len(p.Switches) || len(more.Switches) != len(p.Switches)+1 {
		t.Errorf("%d nodes lose labels of %d", len(got.Switches), len(more.Switches))
	}
}

func TestTarget_namesAndMatchesNodes(t *testing.T) {
	t.Parallel()
	node := func(name, pool string) *snapshot.Node { return aNode(t, name, pool) }
	for name, tt := range map[string]struct {
		target Target
		text   string
		named  []string
		// match are the nodes a and b of the pool gpu, and c of web, that are meant.
		match string
	}{
		"by name":          {target: Target{Name: "a"}, text: "node/a", named: []string{"a"}, match: "a"},
		"by names":         {target: Target{Names: []string{"b", "c"}}, text: "nodes/b,c", named: []string{"b", "c"}, match: "b c"},
		"by no name":       {target: Target{Names: []string{}}, text: "nodes/", named: []string{}},
		"by a selector":    {target: pool(t, "gpu"), text: "selector/pool=gpu", match: "a b"},
		"by a MachineSet":  {target: Target{MachineSets: machines("pool", "")}, text: "machine_sets/openshift-machine-api/pool"},
		"by MachineSets":   {target: Target{MachineSets: machines("", "pool==gpu")}, text: "machine_sets/openshift-machine-api/pool=gpu"},
		"by an old script": {target: selecting("pool==gpu"), text: "selector/pool=gpu", match: "a b"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := tt.target.String(); got != tt.text {
				t.Errorf("it is %s, want %s", got, tt.text)
			}
			if diff := cmp.Diff(tt.named, tt.target.Named()); diff != "" {
				t.Errorf("named: %s", diff)
			}
			var match []string
			for _, n := range []*snapshot.Node{node("a", "gpu"), node("b", "gpu"), node("c", "web")} {
				if tt.target.Matches(n) {
					match = append(match, n.Name)
				}
			}
			if strings.Join(match, " ") != tt.match {
				t.Errorf("it means %v, want %s", match, tt.match)
			}
		})
	}
}

func TestNodeTaints_needsMachinesWhereTaintsGoOrMustBeAbsent(t *testing.T) {
	t.Parallel()
	gpu := pool(t, "gpu")
	of := func(n *snapshot.Node, machine string) *snapshot.Node { n.Machine = machine; return n }
	absent := func(d NodeTaints) NodeTaints { d.Claim.Absent = []taint.ID{{Key: "x", Effect: "NoExecute"}}; return d }
	release := func(d NodeTaints) NodeTaints { d.Claim.Release = true; return d }
	for name, tt := range map[string]struct {
		node    *snapshot.Node
		desired NodeTaints
		want    bool
	}{
		"a taint that must be absent":                     {of(aNode(t, "a", "gpu"), "m/a"), absent(desire(t, gpu)), true},
		"a taint of ours that goes":                       {of(aNode(t, "a", "gpu", "*x:NoExecute"), "m/a"), desire(t, gpu, "y:NoExecute"), true},
		"a taint that comes":                              {of(aNode(t, "a", "gpu"), "m/a"), desire(t, gpu, "y:NoExecute"), false},
		"a taint of ours that stays":                      {of(aNode(t, "a", "gpu", "*x:NoExecute"), "m/a"), desire(t, gpu, "x:NoExecute"), false},
		"a taint that goes from a node without a Machine": {aNode(t, "a", "gpu", "*x:NoExecute"), desire(t, gpu, "y:NoExecute"), false},
		"a taint that must be absent elsewhere":           {of(aNode(t, "a", "web"), "m/a"), absent(desire(t, gpu)), false},
		"what is given up":                                {of(aNode(t, "a", "gpu", "*x:NoExecute"), "m/a"), release(absent(desire(t, gpu, "x:NoExecute"))), true},
		"a node that leaves":                              {of(aNode(t, "a", "web", "*x:NoExecute"), "m/a"), desire(t, gpu, "x:NoExecute"), true},
	} {
		if got := NeedMachines([]*snapshot.Node{tt.node}, tt.desired, NodeLabels{}); got != tt.want {
			t.Errorf("%s needs Machines: %t", name, got)
		}
	}
}

func selecting(selector string) Target {
	parsed, err := labels.Parse(selector)
	if err != nil {
		panic(err)
	}
	return Target{Selector: parsed}
}

// machines are those of a name, or of a selector.
func machines(name, selector string) *machineset.Target {
	out := &machineset.Target{Namespace: machineset.OperatorNamespace, Name: name}
	if selector != "" {
		out.Selector = selecting(selector).Selector
	}
	return out
}

// TestOrder_removedLabelsLeaveNoPlaceForOtherPods: the template of its own workload no longer requires them.
func TestOrder_removedLabelsLeaveNoPlaceForOtherPods(t *testing.T) {
	t.Parallel()
	web, other := aWorkload(t, "Deployment", "web"), aWorkload(t, "Deployment", "other")
	gpu := map[string]string{"dedicated": "gpu"}
	web.NodeSelector, web.LabelRecord = gpu, label.Record{{Key: "dedicated", Owner: "me", Generation: "g2"}}
	pods := []*snapshot.Pod{aPod(t, web, "a1", "a"), aPod(t, other, "o1", "a"), aPod(t, other, "o2", "a")}
	pods[0].Scheduling.NodeSelector, pods[1].Scheduling.NodeSelector = gpu, gpu
	claim := label.Claim{Owner: "me", Generation: "g2", Labels: gpu, Release: true}
	plan := Order(aSnapshot([]*snapshot.Node{labelledNode(t, "a", "gpu", "*dedicated=gpu")}, pods...), Change{
		Labels:    []NodeLabels{{Target: pool(t, "gpu"), Claim: claim}},
		Workloads: []Tolerations{{Workload: web, Claim: toleration.Claim{Owner: "me", Generation: "g2"}, Pin: claim, NoWait: true}},
	}, eviction.ComparisonOff)
	var got []string
	for _, v := range plan.Steps[len(plan.Steps)-1].Report.Pods {
		got = append(got, fmt.Sprintf("%s %s, no place %t, with a reason %t", v.Pod.Name, v.Verdict, v.NoPlace, v.Reason != ""))
	}
	want := []string{"a1 stays, no place false, with a reason false", "o1 stays, no place true, with a reason true", "o2 stays, no place false, with a reason false"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
