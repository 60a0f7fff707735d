// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package nodetaints_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/messages"
)

func TestNodeTaints_aLinkMustBeAnID(t *testing.T) {
	t.Parallel()
	acctest.OnFake(t, func(t *testing.T, c *acctest.Cluster) {
		tf := terraform(t, c)
		for id, says := range map[string]string{
			"kubetaint_workload_tolerations.web":           "This is an address and no id.",
			"kubetaint_workload_tolerations.web.id":        "This is an address and no id.",
			"module.shop.kubetaint_toleration_policy.x.id": "This is an address and no id.",
			"terraform/node_taints/node/a/b:NoSchedule":    "This is the id of a resource that owns taints",
			"shop/web":                        "An id is OWNER/TYPE/TARGET",
			"":                                "An id is OWNER/TYPE/TARGET",
			"terraform/workload_tolerations/": "An id is OWNER/TYPE/TARGET",
			"terraform/workload_tolerations/Deployment/shop/web/team=a:NoExecute": "",
			"h4x8k2zq":                             "",
			"terraform/toleration_policy/payments": "",
			"terraform/namespace_tolerations/shop/team=a:NoExecute;": "",
			"terraform/dedicated_nodes/node/a/team:NoExecute":        "",
		} {
			for _, typeName := range []string{"kubetaint_node_taints", "kubetaint_machine_set_taints"} {
				config := map[string]any{"node_name": "n"}
				if typeName != "kubetaint_node_taints" {
					config = map[string]any{"name": "n", "rollout": map[string]any{"strategy": "template_only"}}
				}
				config = acctest.With(config, map[string]any{"taints": acctest.Objects(t, "team=a:NoExecute"), "tolerated_by": []any{id}})
				got := tf.Walk(t).Validate(&acctest.Instance{Type: typeName}, config).Errors()
				if says == "" {
					if got != "" {
						t.Error(got)
					}
					continue
				}
				acctest.WantAll(t, got, `[AttributeName("tolerated_by").ElementKeyValue(`, "Unable to use tolerated_by \""+id+"\"", says, "tolerated_by = [kubetaint_workload_tolerations.web.id]")
			}
		}
	})
}

// linking plans taints that are linked to an id.
func linking(t *testing.T, node, taints string, id any) map[string]any {
	t.Helper()
	return map[string]any{"node_name": node, "taints": acctest.Objects(t, taints), "tolerated_by": []any{id}}
}

// TestNodeTaints_aLinkToNothingIsAWarning has ids that no resource has, as after a typing error.
func TestNodeTaints_aLinkToNothingIsAWarning(t *testing.T) {
	t.Parallel()
	messages.Expect(t, "wait for no pod that … is to protect")
	acctest.OnFakeWithControllers(t, func(t *testing.T, c *acctest.Cluster) {
		tf, namespace := terraform(t, c), c.Namespace(t)
		c.Deployment(t, namespace, "web", 0, nil)
		tolerations := &acctest.Instance{Type: "kubetaint_workload_tolerations"}
		apply(t, tf, tolerations, tolerationsOf(namespace, "gpu"))
		for name, id := range map[string]string{
			"a workload that does not exist": "terraform/workload_tolerations/Deployment/" + namespace + "/wbe/dedicated=gpu:NoExecute",
			"entries that are not owned":     "terraform/workload_tolerations/Deployment/" + namespace + "/web/dedicated=cpu:NoExecute",
			"letters and digits":             "payments",
			"another owner":                  "terrafrom/workload_tolerations/Deployment/" + namespace + "/web/dedicated=gpu:NoExecute",
			"a policy that does not exist":   "terraform/toleration_policy/" + acctest.Name(t, "policy"),
		} {
			i, node := newInstance(), acctest.Name(t, "node")
			c.Node(t, acctest.Node{Name: node})
			says := []string{`[AttributeName("tolerated_by")] Taints of node "` + node + `" wait for no pod that "` + id + `" is to protect: no resource has this id`, "nothing in the cluster has an ownership record of it"}
			w := tf.Walk(t)
			planned := w.Plan(i, linking(t, node, "dedicated=gpu:NoExecute", id))
			t.Log(name)
			acctest.WantAll(t, planned.Diagnostics.Warnings(), says...)
			apply(t, tf, i, linking(t, node, "dedicated=gpu:NoExecute", id))
			// It is told once: the workload may have been deleted since.
			if d := tf.Plan(t, i, linking(t, node, "dedicated=cpu:NoExecute", id)).Diagnostics; len(d) > 0 {
				t.Error(d.Errors(), d.Warnings())
			}
			if d := tf.Plan(t, i, nil).Diagnostics; len(d) > 0 {
				t.Error(d.Errors(), d.Warnings())
			}
			tf.Destroy(t, i)
		}
	})
}

// TestNodeTaints_aLinkThatIsKnownIsNoWarning has ids of resources that this run creates, that have a
// record, or that an apply does not walk.
func TestNodeTaints_aLinkThatIsKnownIsNoWarning(t *testing.T) {
	t.Parallel()
	covering := func(spec *corev1.PodSpec) {
		spec.Tolerations = []corev1.Toleration{{Key: "dedicated", Operator: corev1.TolerationOpExists}}
	}
	linked := "kubetaint_workload_tolerations"
	policy := func(t *testing.T, namespace string) map[string]any {
		t.Helper()
		return map[string]any{"name": namespace, "match": map[string]any{"namespaces": []any{namespace}}, "tolerations": acctest.TolerationObjects(t, "dedicated*")}
	}
	for name, tt := range map[string]struct {
		typeName string
		foreign  func(*corev1.PodSpec)
		config   func(t *testing.T, namespace string) map[string]any
		// exists is set for what an earlier run has created, and apart for what is in another state.
		exists, apart bool
		deleted       bool
	}{
		"tolerations that this run creates":          {typeName: linked},
		"tolerations that exist":                     {typeName: linked, exists: true},
		"tolerations of another state":               {typeName: linked, exists: true, apart: true},
		"tolerations that foreign ones cover":        {typeName: linked, exists: true, foreign: covering},
		"and those of another state":                 {typeName: linked, exists: true, apart: true, foreign: covering},
		"tolerations whose workload is deleted":      {typeName: linked, exists: true, deleted: true},
		"tolerations of a selector without a match":  {typeName: linked, exists: true, config: selectingNothing},
		"and those of another state with a selector": {typeName: linked, exists: true, apart: true, config: selectingNothing},
		"a policy that this run creates":             {typeName: "kubetaint_toleration_policy", config: policy},
		"a policy of another state":                  {typeName: "kubetaint_toleration_policy", config: policy, exists: true, apart: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			acctest.OnFakeWithControllers(t, func(t *testing.T, c *acctest.Cluster) {
				tf, namespace, node := terraform(t, c), c.Namespace(t), acctest.Name(t, "node")
				c.Node(t, acctest.Node{Name: node})
				c.Deployment(t, namespace, "web", 0, tt.foreign)
				from, config := &acctest.Instance{Type: tt.typeName}, tolerationsOf(namespace, "gpu")
				if tt.config != nil {
					config = tt.config(t, namespace)
				}
				if tt.exists {
					apply(t, tf, from, config)
				}
				w, i := tf.Walk(t), newInstance()
				var id any
				if tt.exists {
					id = tf.Attributes(t, from)["id"]
				}
				if !tt.apart {
					w.Refresh(from)
				}
				if tt.deleted {
					if err := c.Admin.AppsV1().Deployments(namespace).Delete(t.Context(), "web", metav1.DeleteOptions{}); err != nil {
						t.Fatal(err)
					}
				}
				if !tt.apart && !tt.deleted {
					planned := w.Plan(from, config)
					created := *from
					created.State = planned.State
					id = tf.Attributes(t, &created)["id"]
				}
				taints := linking(t, node, "dedicated=gpu:NoExecute", id)
				planned := w.Plan(i, taints)
				if len(planned.Diagnostics) > 0 {
					t.Fatal(planned.Diagnostics.Errors(), planned.Diagnostics.Warnings())
				}
				if !tt.exists {
					return
				}
				// An apply is a process of its own, which walks no resource that does not change.
				if d := tf.Carry(t, i, planned, taints); len(d) > 0 && !tt.deleted {
					t.Fatal(d.Errors(), d.Warnings())
				}
			})
		})
	}
}

// selectingNothing has tolerations of Deployments that no label selects.
func selectingNothing(t *testing.T, namespace string) map[string]any {
	t.Helper()
	return map[string]any{
		"workload":    map[string]any{"kind": "Deployment", "namespace": namespace, "selector": "app=none"},
		"tolerations": acctest.TolerationObjects(t, "dedicated=gpu:NoExecute"),
	}
}

func TestNodeTaints_anUnknownLinkIsNoWarning(t *testing.T) {
	t.Parallel()
	acctest.OnFake(t, func(t *testing.T, c *acctest.Cluster) {
		node := acctest.Name(t, "node")
		c.Node(t, acctest.Node{Name: node})
		if d := terraform(t, c).Plan(t, newInstance(), linking(t, node, "dedicated=gpu:NoExecute", acctest.Unknown)).Diagnostics; len(d) > 0 {
			t.Error(d.Errors(), d.Warnings())
		}
	})
}
