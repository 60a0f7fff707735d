// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package rollout

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/kube"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/planner"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/workload"
)

const generation = "g2"

var gpu = corev1.Taint{Key: "dedicated", Value: "gpu", Effect: corev1.TaintEffectNoSchedule}

// gpuPool puts dedicated=gpu:NoSchedule on all nodes with the label pool=gpu, and
// removes it from others where it is owned.
func gpuPool() planner.NodeTaints {
	return planner.NodeTaints{
		Target: planner.Target{Selector: labels.SelectorFromSet(labels.Set{"pool": "gpu"})},
		Claim:  taint.Claim{Owner: "me", Generation: generation, Taints: []corev1.Taint{gpu}},
	}
}

// switchTo changes taints of nodes and nothing else.
func switchTo(ctx context.Context, cluster *kube.Cluster, desired planner.NodeTaints, approve func(context.Context, planner.NodePlan) error) error {
	_, err := carry(ctx, cluster, Request{Nodes: &desired}, hooks{approve: approve})
	return err
}

// approver writes down what it is asked.
type approver struct {
	api *testServer
	// says answers the nth question.
	says  func(nth int) error
	asked []string
}

func (a *approver) approve(_ context.Context, plan planner.NodePlan) error {
	names := make([]string, 0, len(plan.Switches))
	for _, s := range plan.Switches {
		names = append(names, s.Node.Name)
	}
	_, done := a.api.writes()
	a.asked = append(a.asked, fmt.Sprintf("%s after %d writes", strings.Join(names, " "), done))
	if a.says == nil {
		return nil
	}
	return a.says(len(a.asked))
}

func TestSwitchTaints(t *testing.T) {
	t.Parallel()
	const ours = "*dedicated=gpu:NoSchedule"
	no := errors.New("no")
	tests := []struct {
		name  string
		nodes []*corev1.Node
		// before and after act around a write to a node; write counts the writes so far
		// from 1.
		before func(a *testServer, node string, write int) (status int)
		after  func(a *testServer, node string, write int)
		says   func(nth int) error

		asked []string
		// writes counts those that were carried out.
		writes int
		taints map[string]string
		err    error
		// refused are the nodes that a RefusedError names.
		refused []string
	}{
		{
			name:   "nodes that are as wanted are not asked about and not written",
			nodes:  []*corev1.Node{aNode("n1", "gpu", ours), aNode("n2", "web", "!dedicated=gpu:NoSchedule")},
			taints: map[string]string{"n1": ours, "n2": "dedicated=gpu:NoSchedule"},
		},
		{
			name:  "approve is called once before the first write, about nodes that are meant before those that leave",
			nodes: []*corev1.Node{aNode("n1", "web", ours), aNode("n2", "gpu", "foreign:NoExecute"), aNode("n3", "gpu")},
			asked: []string{"n2 n3 n1 after 0 writes"}, writes: 3,
			taints: map[string]string{"n1": "", "n2": "foreign:NoExecute " + ours, "n3": ours},
		},
		{
			name:  "a taint that is there already and not owned stops before the first write",
			nodes: []*corev1.Node{aNode("n1", "gpu"), aNode("n2", "gpu", "dedicated=web:NoSchedule"), aNode("n3", "web", ours)}, refused: []string{"n2"},
			taints: map[string]string{"n1": "", "n2": "dedicated=web:NoSchedule", "n3": ours},
		},
		{
			name:  "a taint of another resource stops before the first write",
			nodes: []*corev1.Node{aNode("n1", "gpu"), aNode("n2", "gpu", "!dedicated=gpu:NoSchedule")}, refused: []string{"n2"},
			taints: map[string]string{"n1": "", "n2": "dedicated=gpu:NoSchedule"},
		},
		{
			name:  "a node of a selector whose record cannot be read is not changed, and stops no other node",
			nodes: []*corev1.Node{aNode("n1", "gpu"), unreadable(aNode("n2", "gpu"))},
			asked: []string{"n1 after 0 writes"}, writes: 1,
			taints: map[string]string{"n1": ours, "n2": ""},
		},
		{
			name:  "a refusal that shows only when the node is written leaves that node alone, and nothing leaves",
			nodes: []*corev1.Node{aNode("n1", "gpu"), aNode("n2", "gpu"), aNode("n3", "web", ours)},
			before: func(a *testServer, node string, _ int) int {
				if node == "n2" {
					a.edit("n2", func(n *corev1.Node) { n.Spec.Taints = aNode("", "", "dedicated=web:NoSchedule").Spec.Taints })
				}
				return 0
			},
			asked: []string{"n1 n2 n3 after 0 writes"}, writes: 1, refused: []string{"n2"},
			taints: map[string]string{"n1": ours, "n2": "dedicated=web:NoSchedule", "n3": ours},
		},
		{
			name:  "approve is asked again about nodes that have come since, and about no others",
			nodes: []*corev1.Node{aNode("n1", "gpu")},
			after: func(a *testServer, _ string, write int) {
				if write == 1 {
					a.store(aNode("n2", "gpu"))
					a.store(aNode("n3", "web"))
				}
			},
			asked: []string{"n1 after 0 writes", "n2 after 1 writes"}, writes: 2,
			taints: map[string]string{"n1": ours, "n2": ours, "n3": ""},
		},
		{
			name:  "an error of approve stops everything",
			nodes: []*corev1.Node{aNode("n1", "gpu"), aNode("n2", "web", ours)},
			says:  func(int) error { return no },
			asked: []string{"n1 n2 after 0 writes"}, err: no,
			taints: map[string]string{"n1": "", "n2": ours},
		},
		{
			name:  "an error of approve about nodes that have come since leaves these alone",
			nodes: []*corev1.Node{aNode("n1", "gpu")},
			after: func(a *testServer, _ string, write int) {
				if write == 1 {
					a.store(aNode("n2", "gpu"))
				}
			},
			says: func(nth int) error {
				if nth == 2 {
					return no
				}
				return nil
			},
			asked: []string{"n1 after 0 writes", "n2 after 1 writes"}, writes: 1, err: no,
			taints: map[string]string{"n1": ours, "n2": ""},
		},
		{
			name:  "a taint that another writer takes away once is put back without asking again",
			nodes: []*corev1.Node{aNode("n1", "gpu")},
			after: func(a *testServer, node string, write int) {
				if write == 1 {
					a.edit(node, func(n *corev1.Node) { n.Spec.Taints = nil })
				}
			},
			asked: []string{"n1 after 0 writes"}, writes: 2,
			taints: map[string]string{"n1": ours},
		},
		{
			name:  "a writer who always changes back ends the run",
			nodes: []*corev1.Node{aNode("n1", "gpu"), aNode("n2", "gpu")},
			after: func(a *testServer, node string, _ int) {
				if node == "n2" {
					a.edit(node, func(n *corev1.Node) { n.Spec.Taints = nil })
				}
			},
			asked: []string{"n1 n2 after 0 writes"}, writes: 1 + maxRounds, err: &RevertedError{Thing: workload.Ref{Kind: "Node", Name: "n2"}},
			taints: map[string]string{"n1": ours, "n2": ""},
		},
		{
			// Each comes before a write, so that a test that has seen the write has seen it.
			name:  "nodes that join one after the other do not end it",
			nodes: []*corev1.Node{aNode("n00", "gpu")},
			before: func(a *testServer, _ string, write int) int {
				if write <= maxRounds+2 {
					a.store(aNode(fmt.Sprintf("n%02d", write), "gpu"))
				}
				return 0
			},
			asked: joinedOneByOne(maxRounds + 3), writes: maxRounds + 3,
			taints: allOf(ours, maxRounds+3),
		},
		{
			name:  "a node that goes away between plan and write is no error",
			nodes: []*corev1.Node{aNode("n1", "gpu"), aNode("n2", "gpu"), aNode("n3", "web", ours)},
			before: func(a *testServer, node string, _ int) int {
				if node != "n1" {
					a.Remove(aNode(node, ""))
				}
				return 0
			},
			asked: []string{"n1 n2 n3 after 0 writes"}, writes: 1,
			taints: map[string]string{"n1": ours},
		},
		{
			name:  "what another writer writes between plan and write is kept",
			nodes: []*corev1.Node{aNode("n1", "gpu"), aNode("n2", "web", ours)},
			before: func(a *testServer, node string, _ int) int {
				foreign := aNode("", "", "foreign:NoExecute").Spec.Taints[0]
				if !strings.Contains(a.taints()[node], taint.Format(foreign)) {
					a.edit(node, func(n *corev1.Node) { n.Spec.Taints = append(n.Spec.Taints, foreign) })
				}
				return 0
			},
			asked: []string{"n1 n2 after 0 writes"}, writes: 2,
			taints: map[string]string{"n1": "foreign:NoExecute " + ours, "n2": "foreign:NoExecute"},
		},
		{
			name:  "a node that is meant no more when it is written is left as it is",
			nodes: []*corev1.Node{aNode("n1", "gpu")},
			before: func(a *testServer, node string, _ int) int {
				a.edit(node, func(n *corev1.Node) { n.Labels["pool"] = "web" })
				return 0
			},
			asked:  []string{"n1 after 0 writes"},
			taints: map[string]string{"n1": ""},
		},
		{
			name:  "a write that fails lets the others end, and nothing leaves",
			nodes: []*corev1.Node{aNode("n1", "gpu"), aNode("n2", "gpu"), aNode("n3", "gpu"), aNode("n4", "web", ours)},
			before: func(_ *testServer, node string, _ int) int {
				if node == "n1" {
					return http.StatusForbidden
				}
				return 0
			},
			asked: []string{"n1 n2 n3 n4 after 0 writes"}, writes: 2, err: kube.ErrForbidden,
			taints: map[string]string{"n1": "", "n2": ours, "n3": ours, "n4": ours},
		},
		{
			name:  "of several errors the first in the order of the nodes is returned",
			nodes: []*corev1.Node{aNode("n1", "gpu"), aNode("n2", "gpu"), aNode("n3", "gpu")},
			before: func(_ *testServer, node string, _ int) int {
				return map[string]int{"n2": http.StatusUnprocessableEntity, "n3": http.StatusForbidden}[node]
			},
			asked: []string{"n1 n2 n3 after 0 writes"}, writes: 1, err: kube.ErrInvalid,
			taints: map[string]string{"n1": ours, "n2": "", "n3": ""},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				api := newServer(t, tt.nodes...)
				if tt.before != nil {
					api.before = func(node string, write int) int { return tt.before(api, node, write) }
				}
				if tt.after != nil {
					api.after = func(node string, write int) { tt.after(api, node, write) }
				}
				a := approver{api: api, says: tt.says}
				err := switchTo(t.Context(), api.follow(t, false), gpuPool(), a.approve)
				var refused []string
				if r := new(RefusedError); errors.As(err, &r) {
					for _, one := range r.Refusals {
						refused = append(refused, one.Node)
					}
				}
				if refused == nil && !errors.Is(err, tt.err) {
					t.Errorf("got error %v, want %v", err, tt.err)
				}
				if diff := cmp.Diff(tt.refused, refused); diff != "" {
					t.Errorf("refused: %s", diff)
				}
				if diff := cmp.Diff(tt.asked, a.asked); diff != "" {
					t.Errorf("approve was asked about: %s", diff)
				}
				if begun, done := api.writes(); done != tt.writes {
					t.Errorf("%d writes were carried out, want %d: %v", done, tt.writes, begun)
				}
				if diff := cmp.Diff(tt.taints, api.taints()); diff != "" {
					t.Errorf("taints: %s", diff)
				}
			})
		})
	}
}

func unreadable(n *corev1.Node) *corev1.Node {
	n.Annotations = map[string]string{taint.OwnedAnnotation: "{"}
	return n
}

func TestSwitchTaints_writesSelectedNodesBeforeReleasedOnes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var nodes []*corev1.Node
		for n := range 5 {
			nodes = append(nodes, aNode(fmt.Sprintf("a-leaves-%d", n), "web", "*dedicated=gpu:NoSchedule"), aNode(fmt.Sprintf("b-comes-%d", n), "gpu"))
		}
		api := newServer(t, nodes...)
		api.before = func(node string, _ int) int {
			for other, taints := range api.taints() {
				if strings.HasPrefix(node, "a-") && strings.HasPrefix(other, "b-") && taints == "" {
					t.Errorf("%s is opened while %s is open already", node, other)
				}
			}
			return 0
		}
		a := approver{api: api}
		if err := switchTo(t.Context(), api.follow(t, false), gpuPool(), a.approve); err != nil {
			t.Fatal(err)
		}
		if _, done := api.writes(); done != len(nodes) {
			t.Errorf("%d writes, want one for each of %d nodes", done, len(nodes))
		}
	})
}

// joinedOneByOne is what is asked for nodes that come whenever one has been written.
func joinedOneByOne(nodes int) []string {
	var asked []string
	for n := range nodes {
		asked = append(asked, fmt.Sprintf("n%02d after %d writes", n, n))
	}
	return asked
}

func allOf(ours string, nodes int) map[string]string {
	out := map[string]string{}
	for n := range nodes {
		out[fmt.Sprintf("n%02d", n)] = ours
	}
	return out
}
