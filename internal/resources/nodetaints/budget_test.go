// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package nodetaints_test

import (
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/messages"
)

func TestNodeTaints_budget(t *testing.T) {
	t.Parallel()
	messages.Expect(t, "and max_pods allows", "of protected namespaces", "that protected_selector … matches")
	acctest.OnFake(t, func(t *testing.T, c *acctest.Cluster) {
		tf, name, namespace := terraform(t, c), acctest.Name(t, "node"), c.Namespace(t)
		c.Node(t, acctest.Node{Name: name})
		c.Pod(t, namespace, "one", name, func(p *corev1.Pod) { p.Labels = map[string]string{"tier": "db"} })
		c.Pod(t, namespace, "two", name, nil)
		for attribute, value := range map[string]any{"max_pods": 1, "protected_namespaces": []string{namespace}, "protected_selector": "tier in (db,cache)"} {
			config := map[string]any{"node_name": name, "taints": acctest.Objects(t, "dedicated=gpu:NoExecute"), "evictions": map[string]any{attribute: value}}
			acctest.WantAll(t, tf.Plan(t, newInstance(), config).Diagnostics.Errors(), attribute, "would be evicted", namespace+"/one")
			fromProvider := &acctest.Terraform{Provider: acctest.With(tf.Provider, map[string]any{"evictions": map[string]any{attribute: value}})}
			acctest.WantAll(t, fromProvider.Plan(t, newInstance(), acctest.With(config, map[string]any{"evictions": nil})).Diagnostics.Errors(), "would be evicted", attribute+" in evictions of the provider block")
		}
		wantTaints(t, c, name, "")
	})
}

// A cluster and its taints come by one apply: while the provider block is unknown the limit
// cannot be checked, and apply, which knows the cluster, checks it before it writes.
func TestNodeTaints_budgetOnAClusterThatTheSameApplyMakes(t *testing.T) {
	t.Parallel()
	acctest.OnFake(t, func(t *testing.T, c *acctest.Cluster) {
		tf, name, namespace := terraform(t, c), acctest.Name(t, "node"), c.Namespace(t)
		c.Node(t, acctest.Node{Name: name})
		c.Pod(t, namespace, "one", name, nil)
		unknown := &acctest.Terraform{Provider: map[string]any{"host": acctest.Unknown}}
		config := func(most int) map[string]any {
			return map[string]any{"node_name": name, "taints": acctest.Objects(t, "dedicated=gpu:NoExecute"), "evictions": map[string]any{"max_pods": most}}
		}
		for _, most := range []int{0, 1} {
			planned := unknown.Plan(t, newInstance(), config(most))
			if planned.Diagnostics.Errors() != "" {
				t.Fatalf("within %d: %s", most, planned.Diagnostics.Errors())
			}
			acctest.WantAll(t, planned.Diagnostics.Warnings(), `Unable to check the eviction limits for evictions on node "`+name+`" before apply`, "known only after apply")
			d := tf.Carry(t, newInstance(), planned, config(most))
			if most == 0 {
				acctest.WantAll(t, d.Errors(), "max_pods")
				wantTaints(t, c, name, "")
			} else if d.Errors() != "" {
				t.Fatal(d.Errors())
			}
		}
		wantTaints(t, c, name, "dedicated=gpu:NoExecute")
	})
}

// TestNodeTaints_aNodeThatIsNotReadyBreaksNoLimit: what its pods are in for is not of this change.
func TestNodeTaints_aNodeThatIsNotReadyBreaksNoLimit(t *testing.T) {
	t.Parallel()
	acctest.OnFake(t, func(t *testing.T, c *acctest.Cluster) {
		tf, pool, namespace := terraform(t, c), acctest.Name(t, "pool"), c.Namespace(t)
		silent := acctest.Parse(t, "node.kubernetes.io/unreachable:NoExecute node.kubernetes.io/unreachable:NoSchedule")
		c.Node(t, acctest.Node{Name: pool + "a", Labels: map[string]string{"pool": pool}, Taints: silent})
		c.Node(t, acctest.Node{Name: pool + "b", Labels: map[string]string{"pool": pool}})
		c.Pod(t, namespace, "one", pool+"a", func(p *corev1.Pod) {
			p.Spec.Tolerations = []corev1.Toleration{{Key: corev1.TaintNodeUnreachable, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute, TolerationSeconds: new(int64(300))}}
		})
		config := func(effect string) map[string]any {
			return map[string]any{"node_selector": "pool=" + pool, "taints": acctest.Objects(t, "dedicated=gpu:"+effect), "evictions": map[string]any{"max_pods": 0}}
		}
		i := newInstance()
		if warnings := tf.Settle(t, i, config("NoSchedule")).Warnings(); strings.Contains(warnings, "unknown") || strings.Contains(warnings, "evict") {
			t.Error(warnings)
		}
		acctest.WantAll(t, tf.Plan(t, i, config("NoExecute")).Diagnostics.Errors(), "max_pods")
		tf.Destroy(t, i)
	})
}

func TestNodeTaints_destroyThatPutsBackATaintIsPreviewedAndBudgeted(t *testing.T) {
	t.Parallel()
	acctest.OnFake(t, func(t *testing.T, c *acctest.Cluster) {
		tf, name, namespace := terraform(t, c), acctest.Name(t, "node"), c.Namespace(t)
		c.Node(t, acctest.Node{Name: name, Taints: acctest.Parse(t, "maintenance:NoExecute")})
		i := newInstance()
		config := map[string]any{"node_name": name, "absent_taints": []any{map[string]any{"key": "maintenance", "effect": "NoExecute"}}}
		tf.Settle(t, i, config)
		// A controller that has not seen yet that the taint is gone would evict it immediately.
		c.Pod(t, namespace, "came-later", name, func(p *corev1.Pod) {
			hour := int64(3600)
			p.Spec.Tolerations = []corev1.Toleration{{Key: "maintenance", Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute, TolerationSeconds: &hour}}
		})
		acctest.WantAll(t, tf.Plan(t, i, nil).Diagnostics.Warnings(), `Restoring maintenance:NoExecute on node "`+name+`" evicts 1 pod`)
		tf.Settle(t, i, acctest.With(config, map[string]any{"evictions": map[string]any{"max_pods": 0}}))
		acctest.WantAll(t, tf.Apply(t, i, nil).Errors(), "max_pods")
		wantTaints(t, c, name, "")
	})
}

func TestNodeTaints_withoutPermissionForPodsOnlyABudgetFails(t *testing.T) {
	t.Parallel()
	messages.ExpectDetail(t, "The credentials have no permission")
	messages.Expect(t, "Unable to check the eviction limits for", "Unable to preview")
	acctest.OnFake(t, func(t *testing.T, c *acctest.Cluster) {
		name := acctest.Name(t, "node")
		c.Node(t, acctest.Node{Name: name})
		token := c.TokenWith(t,
			rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"nodes"}, Verbs: []string{"get", "list", "watch", "patch"}},
			rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"namespaces"}, ResourceNames: []string{"kube-system"}, Verbs: []string{"get"}},
		)
		tf := &acctest.Terraform{Provider: c.ProviderAt(t, c.REST.Host, token)}
		config := map[string]any{"node_name": name, "taints": acctest.Objects(t, "dedicated=gpu:NoExecute")}
		strict := acctest.With(config, map[string]any{"evictions": map[string]any{"max_pods": 10}})
		acctest.WantAll(t, tf.Plan(t, newInstance(), strict).Diagnostics.Errors(), `Unable to check the eviction limits for evictions on node "`+name+`": the cluster could not be read`, "evictions")

		i := newInstance()
		d := tf.Settle(t, i, config)
		acctest.WantAll(t, d.Warnings(), `Unable to preview evictions on node "`+name+`"`, "no permission")
		wantTaints(t, c, name, "dedicated=gpu:NoExecute")
		if strings.Contains(d.Warnings(), "evicts") && strings.Contains(d.Warnings(), "0 pods") {
			t.Fatal("a preview that could not be made must not read as no evictions")
		}
		tf.Destroy(t, i)
	})
}

func TestNodeTaints_nodesThatComeDuringAnApplyAreWithinTheBudgetToo(t *testing.T) {
	t.Parallel()
	acctest.OnFake(t, func(t *testing.T, c *acctest.Cluster) {
		pool, namespace := acctest.Name(t, "pool"), c.Namespace(t)
		labels := map[string]string{"pool": pool}
		c.Node(t, acctest.Node{Name: pool + "-0", Quiet: true, Labels: labels})
		proxy := c.Proxy(t)
		tf := &acctest.Terraform{Provider: proxy.Provider(t, c)}
		i := newInstance()
		config := map[string]any{"node_selector": "pool=" + pool, "taints": acctest.Objects(t, "dedicated=gpu:NoExecute"), "evictions": map[string]any{"max_pods": 0}}
		planned := tf.Plan(t, i, config)
		var once sync.Once
		proxy.Spoil(func(r acctest.Request) acctest.Fault {
			if r.Write() {
				once.Do(func() {
					c.Node(t, acctest.Node{Name: pool + "-1", Quiet: true})
					c.Pod(t, namespace, "came", pool+"-1", nil)
					// The pod is there before the node is one of the selector's.
					c.Patch(t, pool+"-1", `{"metadata":{"labels":{"pool":"`+pool+`"}}}`)
				})
			}
			return acctest.None
		})
		d := tf.Carry(t, i, planned, config)
		acctest.WantAll(t, d.Errors(), "max_pods", namespace+"/came", "This apply has written no taint to node "+pool+"-1.")
		wantTaints(t, c, pool+"-0", "dedicated=gpu:NoExecute")
		if strings.Contains(d.Errors(), "Nothing has been written") {
			t.Fatalf("a node is written: %s", d.Errors())
		}
		wantTaints(t, c, pool+"-1", "")
	})
}
