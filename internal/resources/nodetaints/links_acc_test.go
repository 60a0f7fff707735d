// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package nodetaints_test

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
)

// pinned makes a node and a Deployment of two pods that can only run there.
func pinned(t *testing.T, c *acctest.Cluster) (node, namespace string) {
	t.Helper()
	node, namespace = acctest.Name(t, "node"), c.Namespace(t)
	c.Node(t, acctest.Node{Name: node, Labels: map[string]string{"only": node}})
	c.Deployment(t, namespace, "web", 2, func(spec *corev1.PodSpec) { spec.NodeSelector = map[string]string{"only": node} })
	return node, namespace
}

func tolerationsOf(namespace, value string) map[string]any {
	return map[string]any{
		"workload":    map[string]any{"kind": "Deployment", "namespace": namespace, "name": "web"},
		"tolerations": []any{map[string]any{"key": "dedicated", "value": value, "effect": "NoExecute"}},
	}
}

// TestAccNodeTaints_plannedTolerationsCountWhereTheyAreLinked plans tolerations
// and the taint for them in one run, with and without a link.
func TestAccNodeTaints_plannedTolerationsCountWhereTheyAreLinked(t *testing.T) {
	t.Parallel()
	c := acctest.Connect(t)
	node, namespace := pinned(t, c)
	tf := terraform(t, c)
	taints := map[string]any{"node_name": node, "taints": acctest.Objects(t, "dedicated=gpu:NoExecute")}
	id := "terraform/workload_tolerations/Deployment/" + namespace + "/web/dedicated=gpu:NoExecute"
	for name, test := range map[string]struct {
		before, linked bool
		want           string
	}{
		"alone, the pods are evicted":                                   {want: "evicts 2 pods"},
		"in the same run and not linked, they may be":                   {before: true, want: "may evict 2 pods"},
		"linked, nothing is said, because no pod is evicted":            {before: true, linked: true},
		"linked to a resource that plans nothing, the pods are evicted": {linked: true, want: "evicts 2 pods"},
	} {
		t.Run(name, func(t *testing.T) {
			walk := tf.Walk(t)
			if test.before {
				if d := walk.Plan(&acctest.Instance{Type: "kubetaint_workload_tolerations"}, tolerationsOf(namespace, "gpu")).Diagnostics; d.Errors() != "" {
					t.Fatal(d.Errors())
				}
			}
			config := taints
			if test.linked {
				config = acctest.With(taints, map[string]any{"tolerated_by": []any{id}})
			}
			planned := walk.Plan(newInstance(), config)
			if planned.Diagnostics.Errors() != "" {
				t.Fatal(planned.Diagnostics.Errors())
			}
			warnings := planned.Diagnostics.Warnings()
			if test.want == "" && warnings != "" || !strings.Contains(warnings, test.want) {
				t.Errorf("the plan says %q, want %q", warnings, test.want)
			}
		})
	}
}

// TestAccNodeTaints_taintWaitsForTheLivePodsOfALink creates the tolerations in a
// way that does not wait, so that the taint must.
func TestAccNodeTaints_taintWaitsForTheLivePodsOfALink(t *testing.T) {
	t.Parallel()
	c := acctest.Connect(t)
	node, namespace := pinned(t, c)
	tf := terraform(t, c)
	evicted := c.Evictions(t, namespace)
	walk := tf.Walk(t)
	tolerations := &acctest.Instance{Type: "kubetaint_workload_tolerations"}
	wanted := acctest.With(tolerationsOf(namespace, "gpu"), map[string]any{"wait_for_rollout": false})
	if d := walk.ApplyChange(tolerations, tf.Plan(t, tolerations, wanted), wanted); d.Errors() != "" {
		t.Fatal(d.Errors())
	}
	taints := newInstance()
	config := map[string]any{
		"node_name": node, "taints": acctest.Objects(t, "dedicated=gpu:NoExecute"),
		"tolerated_by": []any{tf.Attributes(t, tolerations)["id"]},
	}
	if d := walk.ApplyChange(taints, tf.Plan(t, taints, config), config); d.Errors() != "" {
		t.Fatal(d.Errors())
	}
	wantTaints(t, c, node, "dedicated=gpu:NoExecute")
	c.Running(t, namespace, "web", 2)
	if names := evicted(); len(names) > 0 {
		t.Fatalf("the taint-eviction controller deleted %v", names)
	}
}

// TestAccNodeTaints_linkToWhatDoesNotRollIsRefused shows that a taint does not
// rely on a template that no running pod follows.
func TestAccNodeTaints_linkToWhatDoesNotRollIsRefused(t *testing.T) {
	t.Parallel()
	c := acctest.Connect(t)
	node, namespace := pinned(t, c)
	c.PauseDeployment(t, namespace, "web")
	tf := terraform(t, c)
	walk := tf.Walk(t)
	wanted := acctest.With(tolerationsOf(namespace, "gpu"), map[string]any{"wait_for_rollout": false})
	tolerations := &acctest.Instance{Type: "kubetaint_workload_tolerations"}
	planned := walk.Plan(tolerations, wanted)
	if planned.Diagnostics.Errors() != "" {
		t.Fatal(planned.Diagnostics.Errors())
	}
	config := map[string]any{
		"node_name": node, "taints": acctest.Objects(t, "dedicated=gpu:NoExecute"),
		"tolerated_by": []any{"terraform/workload_tolerations/Deployment/" + namespace + "/web/dedicated=gpu:NoExecute"},
	}
	acctest.WantAll(t, walk.Plan(newInstance(), config).Diagnostics.Errors(), `AttributeName("tolerated_by")`, "Unable to rely on the tolerations of Deployment", "it is paused",
		"2 of its pods do not have them: web-", "kubectl rollout resume deployment/web -n "+namespace)

	// A later run, in which the tolerations have nothing to do, looks for itself.
	if d := tf.Carry(t, tolerations, planned, wanted); d.Errors() != "" {
		t.Fatal(d.Errors())
	}
	acctest.WantAll(t, tf.Apply(t, newInstance(), config).Errors(), `AttributeName("tolerated_by")`, "pods of Deployment", "do not tolerate them yet", "it is paused",
		"2 of its pods do not have them: web-", "kubectl rollout resume deployment/web -n "+namespace, "This apply has written no taint")
	wantTaints(t, c, node, "")
}

// TestAccNodeTaints_linkThatCannotBeLookedForWritesNoTaint: the linked resource has
// nothing to do in this run, and some kind of workload may not be listed.
func TestAccNodeTaints_linkThatCannotBeLookedForWritesNoTaint(t *testing.T) {
	t.Parallel()
	c := acctest.Connect(t)
	node, namespace := pinned(t, c)
	config := map[string]any{
		"node_name": node, "taints": acctest.Objects(t, "dedicated=gpu:NoExecute"),
		"tolerated_by": []any{"terraform/workload_tolerations/Deployment/" + namespace + "/web/dedicated=gpu:NoExecute"},
	}
	blind := &acctest.Terraform{Provider: c.ProviderAt(t, c.REST.Host, c.TokenWith(t, acctest.Without(c.Rights(t), "statefulsets", "list")...))}
	i := newInstance()
	acctest.WantAll(t, blind.Apply(t, i, config).Errors(), `find the workloads of "terraform/workload_tolerations/Deployment/`+namespace, "statefulsets")
	wantTaints(t, c, node, "")

	// If its records are found, kinds that cannot be listed do not matter.
	tolerations := &acctest.Instance{Type: "kubetaint_workload_tolerations"}
	terraform(t, c).Settle(t, tolerations, tolerationsOf(namespace, "gpu"))
	blind.Settle(t, i, config)
	wantTaints(t, c, node, "dedicated=gpu:NoExecute")
}
