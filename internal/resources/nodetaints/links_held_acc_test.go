// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package nodetaints_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/golden"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/toleration"
)

// held is a workload whose pods do not follow its template, with tolerations that
// were applied without a wait for them, and a taint that is linked to these.
type held struct {
	t               *testing.T
	c               *acctest.Cluster
	tf              *acctest.Terraform
	node, namespace string
	tolerations     *acctest.Instance
	// wanted and taints are the configurations.
	wanted, taints map[string]any
}

// newHeld makes a workload on a node of its own, and lets it be held back before
// the tolerations are applied.
func newHeld(t *testing.T, c *acctest.Cluster, kind string, hold func(namespace string)) *held {
	t.Helper()
	h := &held{t: t, c: c, tf: terraform(t, c), node: acctest.Name(t, "node"), namespace: c.Namespace(t)}
	c.Node(t, acctest.Node{Name: h.node, Labels: map[string]string{"only": h.node}})
	here := func(spec *corev1.PodSpec) { spec.NodeSelector = map[string]string{"only": h.node} }
	switch kind {
	case "StatefulSet":
		c.StatefulSet(t, h.namespace, "web", 2, here)
	case "DaemonSet":
		c.DaemonSet(t, h.namespace, "web", 1, here)
	default:
		c.Deployment(t, h.namespace, "web", 2, here)
	}
	hold(h.namespace)
	h.tolerations = &acctest.Instance{Type: "kubetaint_workload_tolerations"}
	h.wanted = acctest.With(tolerationsOf(h.namespace, "gpu"), map[string]any{
		"workload": map[string]any{"kind": kind, "namespace": h.namespace, "name": "web"}, "wait_for_rollout": false,
	})
	if d := h.tf.Apply(t, h.tolerations, h.wanted); d.Errors() != "" {
		t.Fatal(d.Errors())
	}
	h.taints = map[string]any{
		"node_name": h.node, "taints": acctest.Objects(t, "dedicated=gpu:NoExecute"),
		"tolerated_by": []any{h.tf.Attributes(t, h.tolerations)["id"]},
	}
	return h
}

// told begins a run in which the tolerations have nothing to do, and report what they
// are.
func (h *held) told() *acctest.Walk {
	h.t.Helper()
	walk := h.tf.Walk(h.t)
	if again := walk.Plan(h.tolerations, h.wanted); !again.Empty || again.Diagnostics.Errors() != "" {
		h.t.Fatalf("the tolerations are planned again: %s", again.Diagnostics.Errors())
	}
	return walk
}

// without returns the running pods that do not carry the tolerations.
func (h *held) without() []string {
	h.t.Helper()
	pods, err := h.c.Admin.CoreV1().Pods(h.namespace).List(h.t.Context(), metav1.ListOptions{LabelSelector: "app=web"})
	if err != nil {
		h.t.Fatal(err)
	}
	var out []string
	for _, p := range pods.Items {
		wanted := corev1.Toleration{Key: "dedicated", Operator: corev1.TolerationOpEqual, Value: "gpu", Effect: corev1.TaintEffectNoExecute}
		if p.DeletionTimestamp == nil && !toleration.Contains(p.Spec.Tolerations, wanted) {
			out = append(out, p.Name)
		}
	}
	return out
}

// serves expects that the link lets the taint through in a run, and that no pod
// is evicted.
func (h *held) serves(run *acctest.Walk, pods int) {
	h.t.Helper()
	planned := h.told().Plan(newInstance(), h.taints)
	if d := planned.Diagnostics; len(d) > 0 {
		h.t.Fatalf("all pods carry the tolerations, and the plan says: %s%s", d.Errors(), d.Warnings())
	}
	evicted := h.c.Evictions(h.t, h.namespace)
	if d := run.ApplyChange(newInstance(), planned, h.taints); d.Errors() != "" {
		h.t.Fatal(d.Errors())
	}
	wantTaints(h.t, h.c, h.node, "dedicated=gpu:NoExecute")
	h.c.Running(h.t, h.namespace, "web", pods)
	if names := evicted(); len(names) > 0 {
		h.t.Fatalf("the taint-eviction controller deleted %v", names)
	}
}

// TestAccNodeTaints_linkWithoutARolloutServesOncePodsTolerate deletes
// the pods of a workload that leaves that to others, one by one.
func TestAccNodeTaints_linkWithoutARolloutServesOncePodsTolerate(t *testing.T) {
	t.Parallel()
	c := acctest.Connect(t)
	for kind, pods := range map[string]int{"StatefulSet": 2, "DaemonSet": 1} {
		t.Run(kind+" with OnDelete", func(t *testing.T) {
			t.Parallel()
			h := newHeld(t, c, kind, func(namespace string) {
				c.Change(t, acctest.Thing{APIVersion: "apps/v1", Kind: kind, Namespace: namespace, Name: "web"}, "somebody",
					`{"spec":{"updateStrategy":{"type":"OnDelete","rollingUpdate":null}}}`)
			})
			// A controller that has not seen the new template makes a pod of the old one.
			c.Observed(t, acctest.Thing{APIVersion: "apps/v1", Kind: kind, Namespace: h.namespace, Name: "web"})
			for left := pods; left > 0; left-- {
				behind := h.without()
				if len(behind) != left {
					t.Fatalf("%v do not carry the tolerations, want %d", behind, left)
				}
				planned := h.told().Plan(newInstance(), h.taints)
				acctest.WantAll(t, planned.Diagnostics.Errors(), `AttributeName("tolerated_by")`, fmt.Sprintf("Unable to rely on the tolerations of %s \"%s/web\"", kind, h.namespace),
					"its update strategy is OnDelete", fmt.Sprintf("%d of its pods", left), behind[0], "delete its pods one by one")
				if kind == "StatefulSet" && left == pods {
					golden.Check(t, "link_that_does_not_roll.golden", strings.ReplaceAll(planned.Diagnostics.Errors(), h.namespace, "shop"))
				}
				if err := c.Admin.CoreV1().Pods(h.namespace).Delete(t.Context(), behind[0], metav1.DeleteOptions{}); err != nil {
					t.Fatal(err)
				}
				acctest.Until(t, behind[0]+" is made anew", func(context.Context) (bool, error) { return len(h.without()) == left-1, nil })
				c.Running(t, h.namespace, "web", pods)
			}
			// Tolerations that have nothing to do are not told when Terraform applies.
			h.serves(h.tf.Walk(t), pods)
		})
	}
}

// TestAccNodeTaints_refusalNamesTolerationsAlreadyWritten has pods
// that do not follow in time, so that they are stranded after their template is
// written.
func TestAccNodeTaints_refusalNamesTolerationsAlreadyWritten(t *testing.T) {
	t.Parallel()
	c := acctest.Connect(t)
	old := &acctest.Instance{Type: "kubetaint_node_taints"}
	h := newHeld(t, c, "StatefulSet", func(namespace string) {
		tolerations := acctest.With(tolerationsOf(namespace, "cpu"), map[string]any{"workload": map[string]any{"kind": "StatefulSet", "namespace": namespace, "name": "web"}})
		tf := terraform(t, c)
		tf.Settle(t, &acctest.Instance{Type: "kubetaint_workload_tolerations"}, tolerations)
		c.Change(t, acctest.Thing{APIVersion: "apps/v1", Kind: "StatefulSet", Namespace: namespace, Name: "web"}, "somebody",
			`{"spec":{"updateStrategy":{"type":"OnDelete","rollingUpdate":null}}}`)
	})
	h.tf.Settle(t, old, map[string]any{"node_name": h.node, "taints": acctest.Objects(t, "dedicated=cpu:NoExecute")})
	if got := c.Tolerations(t, h.namespace, "StatefulSet", "web"); got != "dedicated=cpu:NoExecute, dedicated=gpu:NoExecute" {
		t.Fatalf("the template has %q", got)
	}
	d := h.tf.Apply(t, old, map[string]any{"node_name": h.node, "taints": acctest.Objects(t, "dedicated=gpu:NoExecute")})
	acctest.WantAll(t, d.Errors(), `AttributeName("tolerated_by")`, "2 pods tolerate the replaced taint, but not the new one",
		"This apply has written no taint to node "+h.node+". What it wrote before, such as tolerations or other taints, stays as it is.")
	if strings.Contains(d.Errors(), "Nothing has been written") {
		t.Fatalf("the tolerations are written: %s", d.Errors())
	}
	wantTaints(t, c, h.node, "dedicated=cpu:NoExecute")
}

// TestAccNodeTaints_linkToWhatWasPausedAfterItsRolloutServes pauses a Deployment
// when its pods carry the tolerations.
func TestAccNodeTaints_linkToWhatWasPausedAfterItsRolloutServes(t *testing.T) {
	t.Parallel()
	c := acctest.Connect(t)
	h := newHeld(t, c, "Deployment", func(string) {})
	acctest.Until(t, "all pods carry the tolerations", func(context.Context) (bool, error) { return len(h.without()) == 0, nil })
	c.Running(t, h.namespace, "web", 2)
	c.PauseDeployment(t, h.namespace, "web")
	h.serves(h.told(), 2)
}
