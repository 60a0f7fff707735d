// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package dedicatednodes_test

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/messages"
)

// TestDedicatedNodes_budgetIsCheckedAgainBeforeTheFirstWrite lets a pod come
// between plan and apply.
func TestDedicatedNodes_budgetIsCheckedAgainBeforeTheFirstWrite(t *testing.T) {
	t.Parallel()
	onFake(t, func(t *testing.T, c *acctest.Cluster) {
		p := newPool(t, c, "Deployment")
		tf, i := terraform(t, c), newInstance()
		w := wish{taints: "team=a:NoExecute", labels: "dedicated=gpu", workloads: map[string]string{"Deployment": pinned}}
		config := acctest.With(p.config(w), map[string]any{"evictions": map[string]any{"max_pods": 0}})
		planned := tf.Plan(t, i, config)
		if planned.Diagnostics.Errors() != "" {
			t.Fatal(planned.Diagnostics.Errors())
		}
		walk := tf.Walk(t)
		walk.Between = func() { c.Pod(t, p.namespace, "stranger", p.nodes[0], nil) }
		acctest.WantAll(t, walk.ApplyChange(i, planned, config).Errors(), `"evictions"`, "Nothing has been written")
		p.want(wish{}, "Deployment")
	})
}

// TestDedicatedNodes_onlyIsCheckedAtPlanAndAgainBeforeTheFirstWrite: labels and tolerations come before
// the taints, and none of them is written either.
func TestDedicatedNodes_onlyIsCheckedAtPlanAndAgainBeforeTheFirstWrite(t *testing.T) {
	t.Parallel()
	onFake(t, func(t *testing.T, c *acctest.Cluster) {
		p := newPool(t, c, "Deployment")
		tf, i := terraform(t, c), newInstance()
		c.Pod(t, p.namespace, "known", p.nodes[0], nil)
		w := wish{taints: "team=a:NoExecute", labels: "dedicated=gpu", workloads: map[string]string{"Deployment": pinned}}
		config := func(only ...any) map[string]any {
			return acctest.With(p.config(w), map[string]any{"evictions": map[string]any{"only": only}})
		}
		acctest.WantAll(t, tf.Plan(t, i, config()).Diagnostics.Errors(), `AttributeName("only")`, "1 pod of "+p.namespace+"/Pod/known would be evicted, and evictions.only = [] allows none",
			"  evictions = {\n    only = [\n      \""+p.namespace+"/Pod/known\",\n    ]\n  }")
		approved := config(p.namespace + "/Pod/known")
		planned := tf.Plan(t, i, approved)
		if planned.Diagnostics.Errors() != "" {
			t.Fatal(planned.Diagnostics.Errors())
		}
		walk := tf.Walk(t)
		walk.Between = func() { c.Pod(t, p.namespace, "stranger", p.nodes[0], nil) }
		acctest.WantAll(t, walk.ApplyChange(i, planned, approved).Errors(), "1 pod of "+p.namespace+"/Pod/stranger would be evicted", "Nothing has been written")
		p.want(wish{}, "Deployment")
	})
}

func TestDedicatedNodes_limitsCountWhatPreemptionEvictsElsewhere(t *testing.T) {
	t.Parallel()
	onFake(t, func(t *testing.T, c *acctest.Cluster) {
		name, tf, i := acctest.Name(t, "pool"), terraform(t, c), newInstance()
		c.Node(t, acctest.Node{Name: name, Labels: map[string]string{"pool": name, "gpu": name}})
		pods := c.Preempting(t, name, name)
		config := map[string]any{"node_selector": "gpu=" + name, "taints": acctest.Objects(t, "team=a:NoExecute"), "evictions": map[string]any{"protected_namespaces": []string{pods.Other}}}
		planned := tf.Plan(t, i, config)
		if planned.Diagnostics.Errors() != "" {
			t.Fatal(planned.Diagnostics.Errors())
		}
		walk := tf.Walk(t)
		walk.Between = pods.Calm
		acctest.WantAll(t, walk.ApplyChange(i, planned, config).Errors(), "protected_namespaces", "1 pod of protected namespaces would be evicted", "Nothing has been written")
		if taints := c.Get(t, name).Spec.Taints; len(taints) > 0 {
			t.Fatalf("the node has %v", taints)
		}
		pods.Exceeded(t, func(evictions map[string]any) string {
			config["evictions"] = evictions
			return tf.Plan(t, i, config).Diagnostics.Errors()
		})
	})
}

func TestDedicatedNodes_planTellsWhatALabelsNewValueDoesToADaemonSet(t *testing.T) {
	t.Parallel()
	messages.Expect(t, "are replaced simultaneously")
	onFake(t, func(t *testing.T, c *acctest.Cluster) {
		p := newPool(t, c, "DaemonSet")
		tf, i := terraform(t, c), newInstance()
		w := wish{taints: "team=a:NoExecute", labels: "dedicated=gpu", workloads: map[string]string{"DaemonSet": pinned}}
		tf.Settle(t, i, p.config(w))
		w.labels = "dedicated=web"
		d := tf.Plan(t, i, p.config(w)).Diagnostics
		acctest.WantAll(t, d.Warnings(), `"labels"`, "are replaced simultaneously", "give the new value another key")
		tf.Settle(t, i, p.config(w))
		p.settled("DaemonSet", w)
		w.labels = "reserved=gpu"
		if d := tf.Plan(t, i, p.config(w)).Diagnostics; strings.Contains(d.Warnings(), "simultaneously") {
			t.Fatal(d.Warnings())
		}
		tf.Destroy(t, i)
		p.want(wish{}, "DaemonSet")
	})
}

// TestDedicatedNodes_whatOthersOfTheRunPlanIsNotDenied: whether another resource of the
// same run writes its tolerations before the taints is not known, and the plan does not
// guess.
func TestDedicatedNodes_whatOthersOfTheRunPlanIsNotDenied(t *testing.T) {
	t.Parallel()
	messages.Expect(t, "unless the tolerations of this plan come first", "may evict … pod")
	onFake(t, func(t *testing.T, c *acctest.Cluster) {
		p := newPool(t, c)
		c.Deployment(t, p.namespace, "stranger", 1, func(spec *corev1.PodSpec) {
			spec.NodeSelector, spec.Tolerations = map[string]string{"pool": p.name}, []corev1.Toleration{{Key: "foreign", Operator: corev1.TolerationOpExists}}
		})
		config := p.config(wish{taints: "team=a:NoExecute", labels: "dedicated=gpu"})
		tolerations := map[string]any{
			"workload":    map[string]any{"kind": "Deployment", "namespace": p.namespace, "name": "stranger"},
			"tolerations": []any{map[string]any{"key": "team", "operator": "Equal", "value": "a", "effect": "NoExecute"}},
		}
		tf := terraform(t, c)
		acctest.WantAll(t, tf.Plan(t, newInstance(), config).Diagnostics.Warnings(), "evicts 1 pod")
		walk := tf.Walk(t)
		if d := walk.Plan(&acctest.Instance{Type: "kubetaint_workload_tolerations"}, tolerations).Diagnostics; d.Errors() != "" {
			t.Fatal(d.Errors())
		}
		d := walk.Plan(newInstance(), config).Diagnostics
		acctest.WantAll(t, d.Warnings(), "may evict 1 pod")
		if strings.Contains(d.Warnings(), "evicts 1 pod") {
			t.Errorf("it is not known: %s", d.Warnings())
		}
	})
}

// TestDedicatedNodes_strandedPodsAreRefused: others that tolerate the old taint
// could run there.
func TestDedicatedNodes_strandedPodsAreRefused(t *testing.T) {
	t.Parallel()
	messages.Expect(t, "apply will refuse this")
	onFake(t, func(t *testing.T, c *acctest.Cluster) {
		p := newPool(t, c, "Deployment")
		tf, i := terraform(t, c), newInstance()
		workloads := map[string]string{"Deployment": tolerating}
		tf.Settle(t, i, p.config(wish{taints: "team=a:NoExecute", workloads: workloads}))
		c.Pod(t, p.namespace, "stranger", p.nodes[0], func(pod *corev1.Pod) {
			pod.Spec.Tolerations = []corev1.Toleration{{Key: "team", Value: "a", Operator: corev1.TolerationOpEqual}}
		})
		config := p.config(wish{taints: "team=b:NoExecute", workloads: workloads})
		acctest.WantAll(t, tf.Plan(t, i, config).Diagnostics.Warnings(), "apply will refuse this: 1 pod tolerates the replaced taint but not the new one", "name their workload in workloads of this resource")
		acctest.WantAll(t, tf.Apply(t, i, config).Errors(), `"workloads"`, "1 pod tolerates the replaced taint, but not the new one", "Nothing has been written")
		p.want(wish{taints: "team=a:NoExecute", workloads: workloads}, "Deployment")
		// Taints that evict no pod strand as well: what comes to replace the pod finds no place.
		config = p.config(wish{taints: "team=b:NoSchedule", workloads: workloads})
		acctest.WantAll(t, tf.Apply(t, i, config).Errors(), `"workloads"`, "Unable to apply team=b:NoSchedule to ", "1 pod tolerates the replaced taint, but not the new one", "name their workload in workloads of this resource")
		p.want(wish{taints: "team=a:NoExecute", workloads: workloads}, "Deployment")
		config = p.config(wish{taints: "team=b:NoExecute", workloads: workloads})

		evicted := c.Evictions(t, p.namespace)
		config["evictions"] = map[string]any{"stranded": "evict"}
		tf.Settle(t, i, config)
		p.gone("stranger")
		if names := evicted(); len(names) != 1 {
			t.Fatalf("the taint-eviction controller deleted %v", names)
		}
		p.want(wish{taints: "team=b:NoExecute", workloads: workloads}, "Deployment")
		tf.Destroy(t, i)
	})
}
