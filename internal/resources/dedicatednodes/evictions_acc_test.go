// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package dedicatednodes_test

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
)

// TestAccDedicatedNodes_otherPodsAreEvictedAsPlanned: the workloads
// that the nodes are kept for stay, and no others.
func TestAccDedicatedNodes_otherPodsAreEvictedAsPlanned(t *testing.T) {
	t.Parallel()
	c := acctest.Connect(t)
	p := newPool(t, c, "Deployment")
	c.Pod(t, p.namespace, "stranger", p.nodes[0], nil)
	tf, i := terraform(t, c), newInstance()
	w := wish{taints: "team=a:NoExecute", labels: "dedicated=gpu", workloads: map[string]string{"Deployment": pinned}}
	d := tf.Plan(t, i, p.config(w)).Diagnostics
	acctest.WantAll(t, d.Warnings(), "Applying team=a:NoExecute to 2 nodes matching \"pool="+p.name+"\" evicts 1 pod: 1 lost", "Pod "+p.namespace+"/stranger",
		"Dedicating nodes matching \"pool="+p.name+"\" to its workloads restarts 4 pods", "adds team=a:NoExecute", "requires dedicated=gpu-"+p.name+" of its nodes")

	budget := acctest.With(p.config(w), map[string]any{"evictions": map[string]any{"max_pods": 0}})
	acctest.WantAll(t, tf.Plan(t, i, budget).Diagnostics.Errors(), `"evictions"`, `"max_pods"`, "1 pod would be evicted")
	evicted := c.Evictions(t, p.namespace)
	tf.Settle(t, i, p.config(w))
	p.gone("stranger")
	p.settled("Deployment", w)
	if names := evicted(); len(names) != 1 || names[0] != "stranger" {
		t.Fatalf("the taint-eviction controller deleted %v", names)
	}
	steps, _ := tf.Attributes(t, i)["steps"].([]any)
	// How many pods are left to wait for when it looks is the rollout's affair.
	of := regexp.QuoteMeta("of Deployment " + p.namespace + "/deployment")
	want := []string{"label 2 nodes", "add tolerations and a node selector to Deployment " + p.namespace + "/deployment", "wait for ([1-4] (missing )?pods?|the rollout) " + of, "change taints of 2 nodes"}
	for n, step := range want {
		if len(steps) != len(want) || !regexp.MustCompile("^"+step+"$").MatchString(fmt.Sprint(steps[n])) {
			t.Fatalf("the steps were %q, want %q", steps, want)
		}
	}
	// Workloads that require the labels now do not once they are removed.
	if d := tf.Plan(t, i, nil).Diagnostics; strings.Contains(d.Warnings(), "label") {
		t.Errorf("a destroy warns of the labels that its own workloads require: %s", d.Warnings())
	}
	tf.Destroy(t, i)
}

// TestAccDedicatedNodes_daemonSetPodsAreDeletedByLabelsAsPlanned: no taint makes these
// pods are evicted, but labels that their DaemonSets select nodes by.
func TestAccDedicatedNodes_daemonSetPodsAreDeletedByLabelsAsPlanned(t *testing.T) {
	t.Parallel()
	c := acctest.Connect(t)
	p := newPool(t, c)
	w := wish{taints: "team=a:PreferNoSchedule", labels: "dedicated=gpu"}
	p.run("DaemonSet", "shuns", func(spec *corev1.PodSpec) {
		spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{
			NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchExpressions: []corev1.NodeSelectorRequirement{{Key: "dedicated", Operator: corev1.NodeSelectorOpDoesNotExist}}}},
		}}}
	})
	c.DaemonSet(t, p.namespace, "seeks", 0, func(spec *corev1.PodSpec) {
		spec.NodeSelector, spec.Tolerations = p.labels(w), []corev1.Toleration{{Key: "foreign", Operator: corev1.TolerationOpExists}}
	})
	tf, i := terraform(t, c), newInstance()
	where := `nodes matching "pool=` + p.name + `" evicts 2 pods: 2 of DaemonSets`
	acctest.WantAll(t, tf.Plan(t, i, p.config(w)).Diagnostics.Warnings(), "Applying label dedicated=gpu-"+p.name+" to 2 "+where, "DAEMON 2  DaemonSet "+p.namespace+"/shuns", "not recreated on these nodes")
	acctest.WantAll(t, tf.Plan(t, i, acctest.With(p.config(w), map[string]any{"evictions": map[string]any{"max_pods": 1}})).Diagnostics.Errors(), `"max_pods"`, "2 pods would be evicted")
	tf.Settle(t, i, p.config(w))
	c.Running(t, p.namespace, "shuns", 1)
	c.Running(t, p.namespace, "seeks", 2)

	planned := tf.Plan(t, i, nil)
	acctest.WantAll(t, planned.Diagnostics.Warnings(), "Removing label dedicated from 2 "+where, "DaemonSet "+p.namespace+"/seeks")
	if d := tf.Carry(t, i, planned, nil); d.Errors() != "" {
		t.Fatal(d.Errors())
	}
	c.Running(t, p.namespace, "shuns", 3)
	acctest.Until(t, "its pods have left the nodes", func(ctx context.Context) (bool, error) {
		pods, err := c.Admin.CoreV1().Pods(p.namespace).List(ctx, metav1.ListOptions{LabelSelector: "app=seeks"})
		return err == nil && len(pods.Items) == 0, err
	})
}

// TestAccDedicatedNodes_aPinnedDaemonSetIsDeletedElsewhereAsPlanned: its controller deletes
// its pods on nodes without the labels immediately, whatever its update strategy.
func TestAccDedicatedNodes_aPinnedDaemonSetIsDeletedElsewhereAsPlanned(t *testing.T) {
	t.Parallel()
	c := acctest.Connect(t)
	p := newPool(t, c, "DaemonSet")
	w := wish{taints: "team=a:NoExecute", labels: "dedicated=gpu", workloads: map[string]string{"DaemonSet": pinned}}
	tf, i := terraform(t, c), newInstance()
	budget := acctest.With(p.config(w), map[string]any{"evictions": map[string]any{"max_pods": 0}})
	acctest.WantAll(t, tf.Plan(t, i, budget).Diagnostics.Errors(), `"evictions"`, `"max_pods"`, "Unable to add node selector dedicated=gpu-"+p.name+" to DaemonSet", "1 pod would be evicted", "Nothing has been written. Choose other nodes, leave out pin for DaemonSets")
	title := "DaemonSet \"" + p.namespace + "/daemonset\""
	acctest.WantAll(t, tf.Plan(t, i, p.config(w)).Diagnostics.Warnings(),
		"Adding node selector dedicated=gpu-"+p.name+" to "+title+" evicts 1 pod: 1 of DaemonSets", "DAEMON 1  DaemonSet "+p.namespace+"/daemonset", "not recreated on these nodes",
		"to its workloads restarts 2 pods")
	tf.Settle(t, i, p.config(w))
	p.settled("DaemonSet", w)
	c.Running(t, p.namespace, "daemonset", 2)
	tf.Destroy(t, i)
	c.Running(t, p.namespace, "daemonset", 3)
}

// TestAccDedicatedNodes_budgetCountsLabelsAndTaintsTogether: of one pod per node, one leaves
// by the label and one by the taint.
func TestAccDedicatedNodes_budgetCountsLabelsAndTaintsTogether(t *testing.T) {
	t.Parallel()
	c := acctest.Connect(t)
	p := newPool(t, c)
	w := wish{taints: "team=a:NoExecute", labels: "dedicated=gpu"}
	c.DaemonSet(t, p.namespace, "shuns", 2, func(spec *corev1.PodSpec) {
		spec.Tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists}}
		spec.NodeSelector = map[string]string{"pool": p.name}
		spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{
			NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchExpressions: []corev1.NodeSelectorRequirement{{Key: "dedicated", Operator: corev1.NodeSelectorOpDoesNotExist}}}},
		}}}
	})
	for n, node := range p.nodes {
		c.Pod(t, p.namespace, fmt.Sprintf("stranger-%d", n), node, nil)
	}
	tf, i := terraform(t, c), newInstance()
	within := func(pods int) map[string]any {
		return acctest.With(p.config(w), map[string]any{"evictions": map[string]any{"max_pods": pods}})
	}
	acctest.WantAll(t, tf.Plan(t, i, within(3)).Diagnostics.Errors(), `"max_pods"`, "4 pods would be evicted")
	planned := tf.Plan(t, i, within(4))
	acctest.WantAll(t, planned.Diagnostics.Warnings(), "Applying label dedicated=gpu-"+p.name+" to 2 nodes", "Applying team=a:NoExecute to 2 nodes")
	if d := tf.Carry(t, i, planned, within(4)); d.Errors() != "" {
		t.Fatal(d.Errors())
	}
	p.gone("stranger-0")
	p.gone("stranger-1")
	tf.Destroy(t, i)
}

// TestAccDedicatedNodes_aRemovedWorkloadLosesItsPlacesAsPlanned takes workloads out of the
// list while the taints stay: their pods are replaced elsewhere, and those of a DaemonSet go
// immediately.
func TestAccDedicatedNodes_aRemovedWorkloadLosesItsPlacesAsPlanned(t *testing.T) {
	t.Parallel()
	c := acctest.Connect(t)
	p := newPool(t, c, "Deployment", "DaemonSet")
	tf, i := terraform(t, c), newInstance()
	w := wish{taints: "team=a:NoExecute", labels: "dedicated=gpu", workloads: map[string]string{"Deployment": pinned, "DaemonSet": tolerating}}
	tf.Settle(t, i, p.config(w))
	p.settled("Deployment", w)
	p.settled("DaemonSet", w)

	w.workloads = nil
	title := p.namespace + "/daemonset"
	planned := tf.Plan(t, i, p.config(w))
	acctest.WantAll(t, planned.Diagnostics.Warnings(), `AttributeName("workloads")`, "Removing the tolerations of 2 workloads immediately: 6 pods lose their place on nodes tainted team=a:NoExecute; 2 of the 6 are deleted immediately by the DaemonSet controller",
		"DaemonSet "+title, "deleted immediately, regardless of its update strategy", "its replacement cannot be scheduled on this node", "but on another", "leave their workload in workloads")
	if strings.Contains(planned.Diagnostics.Warnings(), "on no other node") {
		t.Errorf("the Deployment's pods find another node once it does not require the labels: %s", planned.Diagnostics.Warnings())
	}
	if d := tf.Carry(t, i, planned, p.config(w)); d.Errors() != "" {
		t.Fatal(d.Errors())
	}
	c.Running(t, p.namespace, "daemonset", 1)
	c.Running(t, p.namespace, "deployment", 4)
	for app, want := range map[string]int{"daemonset": 1, "deployment": 4} {
		acctest.Until(t, "the pods of "+app+" have left the nodes", func(ctx context.Context) (bool, error) {
			pods, err := c.Admin.CoreV1().Pods(p.namespace).List(ctx, metav1.ListOptions{LabelSelector: "app=" + app})
			return err == nil && len(pods.Items) == want && !slices.ContainsFunc(pods.Items, func(pod corev1.Pod) bool { return pod.Spec.NodeName != p.other }), err
		})
	}

	// If the taints are removed in the same apply, no pod loses its node by that.
	w.workloads = map[string]string{"Deployment": tolerating}
	tf.Settle(t, i, p.config(w))
	w.taints, w.workloads = "team=b:PreferNoSchedule", nil
	if d := tf.Plan(t, i, p.config(w)).Diagnostics; strings.Contains(d.Warnings(), "their place") {
		t.Errorf("the taint is gone by then: %s", d.Warnings())
	}
	tf.Destroy(t, i)
}
