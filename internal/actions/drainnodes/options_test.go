// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package drainnodes_test

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/messages"
)

// guarded is a node with a Deployment whose PodDisruptionBudget allows no eviction.
func guarded(t *testing.T, c *acctest.Cluster) (node, apps string) {
	t.Helper()
	node, apps = acctest.Name(t, "node"), c.Namespace(t)
	c.Node(t, acctest.Node{Name: node, Labels: map[string]string{"pool": node}})
	c.Deployment(t, apps, "db", 2, func(spec *corev1.PodSpec) { spec.NodeSelector = map[string]string{"pool": node} })
	c.Running(t, apps, "db", 2)
	c.Budget(t, apps, "strict", "db")
	return node, apps
}

// twoDBs are the pods of a Deployment db with two replicas, as podsOn and pods name them.
const twoDBs = "db" + " db"

// podsOn names the pods of a node by their app, sorted, without those that are being deleted.
func podsOn(t *testing.T, c *acctest.Cluster, node string) string {
	t.Helper()
	list, err := c.Admin.CoreV1().Pods("").List(t.Context(), metav1.ListOptions{FieldSelector: "spec.nodeName=" + node})
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, p := range list.Items {
		if p.DeletionTimestamp == nil {
			out = append(out, p.Labels["app"])
		}
	}
	slices.Sort(out)
	return strings.Join(out, " ")
}

// TestDrainNodes_disableEvictionDeletesPods past a PodDisruptionBudget, with a right that the role for
// everything else does not have.
func TestDrainNodes_disableEvictionDeletesPods(t *testing.T) {
	t.Parallel()
	messages.Expect(t, "Unable to drain", "the drain timed out")
	acctest.OnFakeWithControllers(t, func(t *testing.T, c *acctest.Cluster) {
		node, _ := guarded(t, c)
		config := func(more ...any) map[string]any {
			out := map[string]any{"node_name": node, "timeout": "20s", "wait_for_replacements": false}
			for i := 0; i < len(more); i += 2 {
				out[more[i].(string)] = more[i+1]
			}
			return out
		}
		may := &acctest.Terraform{Provider: c.ProviderAt(t, c.REST.Host, c.TokenAnd(t, acctest.RightsToDeletePods(t)...))}
		acctest.WantAll(t, may.Invoke(t, "kubetaint_drain_nodes", config()).Errors(), "the drain timed out", "cannot be evicted yet: The disruption budget strict needs 2 healthy pods")

		const said = "deletes 2 pods, bypassing PodDisruptionBudgets: 2 pending, 2 beyond a PodDisruptionBudget"
		for _, tf := range []*acctest.Terraform{may, {Provider: c.Provider(t)}} {
			plan := tf.Walk(t).PlanAction("kubetaint_drain_nodes", config("disable_eviction", true))
			if acctest.WantAll(t, plan.Warnings(), `Draining node "`+node+`" `+said); strings.Contains(plan.Warnings(), neverEnds) {
				t.Errorf("the plan reports that a PodDisruptionBudget holds the drain: %s", plan.Warnings())
			}
		}
		few := &acctest.Terraform{Provider: c.Provider(t)}
		acctest.WantAll(t, few.Invoke(t, "kubetaint_drain_nodes", config("disable_eviction", true)).Errors(),
			"With disable_eviction, a drain deletes pods, and the credentials have no permission for that", "Add that rule, or drain without disable_eviction.", "kubectl uncordon "+node)
		if got := podsOn(t, c, node); got != twoDBs {
			t.Fatalf("without the right the node has %q", got)
		}
		acctest.WantAll(t, may.Invoke(t, "kubetaint_drain_nodes", config("disable_eviction", true, "evictions", map[string]any{"max_pods": 1})).Errors(), "2 pods would be deleted, and max_pods allows 1")
		if d := may.Invoke(t, "kubetaint_drain_nodes", config("disable_eviction", true)); d.Errors() != "" {
			t.Fatal(d.Errors())
		}
		if got := podsOn(t, c, node); got != "" || !c.Get(t, node).Spec.Unschedulable {
			t.Fatalf("the node has %q", got)
		}
	})
}

// TestDrainNodes_podSelectorLeavesOtherPods, which stop no drain, at plan and at apply.
func TestDrainNodes_podSelectorLeavesOtherPods(t *testing.T) {
	t.Parallel()
	acctest.OnFakeWithControllers(t, func(t *testing.T, c *acctest.Cluster) {
		node, apps := guarded(t, c)
		c.Deployment(t, apps, "web", 2, func(spec *corev1.PodSpec) { spec.NodeSelector = map[string]string{"pool": node} })
		c.Running(t, apps, "web", 2)
		c.Pod(t, apps, "bare", node, func(p *corev1.Pod) { p.Labels = map[string]string{"app": "bare"} })
		tf, config := &acctest.Terraform{Provider: c.Provider(t)}, func(selector any) map[string]any {
			return map[string]any{"node_name": node, "pod_selector": selector, "wait_for_replacements": false, "timeout": "20s"}
		}
		acctest.WantAll(t, tf.Invoke(t, "kubetaint_drain_nodes", config(nil)).Errors(), "1 pod stops the drain", "bare")
		acctest.WantAll(t, tf.Invoke(t, "kubetaint_drain_nodes", config("app=bare")).Errors(), "1 pod stops the drain", "bare")
		acctest.WantAll(t, tf.Invoke(t, "kubetaint_drain_nodes", config("app in")).Errors(), "must be a label selector")
		none := tf.Walk(t).PlanAction("kubetaint_drain_nodes", config("app=wbe"))
		acctest.WantAll(t, none.Warnings(), `No pod on node "`+node+`" matches "app=wbe": the drain evicts none`)
		quick := tf.Walk(t).PlanAction("kubetaint_drain_nodes", acctest.With(config("app=wbe"), map[string]any{"disable_eviction": true}))
		acctest.WantAll(t, quick.Warnings(), `No pod on node "`+node+`" matches "app=wbe": the drain deletes none`)
		if c.Get(t, node).Spec.Unschedulable {
			t.Fatal("a plan has cordoned the node")
		}
		plan := tf.Walk(t).PlanAction("kubetaint_drain_nodes", config("app=web"))
		acctest.WantAll(t, plan.Warnings(), `Draining node "`+node+`" of pods matching "app=web" evicts 2 pods: 2 pending`)
		for _, word := range []string{neverEnds, "/db", "bare", "No pod on"} {
			if strings.Contains(plan.Warnings(), word) {
				t.Errorf("the plan says %q: %s", word, plan.Warnings())
			}
		}
		if d := tf.Invoke(t, "kubetaint_drain_nodes", config("app=web")); d.Errors() != "" {
			t.Fatal(d.Errors())
		}
		if got := podsOn(t, c, node); got != "bare "+twoDBs {
			t.Fatalf("the node has %q", got)
		}
		// The others still hold another drain.
		acctest.WantAll(t, tf.Walk(t).PlanAction("kubetaint_drain_nodes", config("app=db")).Warnings(), neverEnds)
	})
}
