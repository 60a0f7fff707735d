// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package nodetaints_test

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/toleration"
)

// A tenant guesses the id of a linked resource, writes a mark with it on its own Deployment and pauses
// that: nothing waits for its pods. The resource that is linked has no workload, so that no mark has a
// proof.
func TestNodeTaints_aForgedMarkHoldsUpNoLinkedTaint(t *testing.T) {
	t.Parallel()
	acctest.OnFake(t, func(t *testing.T, c *acctest.Cluster) {
		name, other, namespace := acctest.Name(t, "node"), acctest.Name(t, "other"), c.Namespace(t)
		for _, node := range []string{name, other} {
			c.Node(t, acctest.Node{Name: node})
		}
		tf := terraform(t, c)
		pool, poolConfig := &acctest.Instance{Type: "kubetaint_dedicated_nodes"}, map[string]any{"node_names": []any{other}, "taints": acctest.Objects(t, "dedicated=gpu:NoSchedule")}
		if d := tf.Apply(t, pool, poolConfig); d.Errors() != "" {
			t.Fatal(d.Errors())
		}
		id, _ := tf.Attributes(t, pool)["id"].(string)
		made := []corev1.Toleration{{Key: "made", Operator: corev1.TolerationOpExists}}
		labels := map[string]string{"app": "forged"}
		forged := &appsv1.Deployment{
			ObjectMeta: metav1.ObjectMeta{Name: "forged", Namespace: namespace, Annotations: map[string]string{
				toleration.OwnedAnnotation: toleration.Record{{Key: "made", Operator: corev1.TolerationOpExists, Owner: id, Generation: "guessed"}}.String(),
			}},
			Spec: appsv1.DeploymentSpec{
				Paused: true, Selector: &metav1.LabelSelector{MatchLabels: labels},
				Template: corev1.PodTemplateSpec{
					ObjectMeta: metav1.ObjectMeta{Labels: labels},
					Spec:       corev1.PodSpec{Tolerations: made, Containers: []corev1.Container{{Name: "c", Image: "i"}}},
				},
			},
		}
		if _, err := c.Admin.AppsV1().Deployments(namespace).Create(t.Context(), forged, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		c.Pod(t, namespace, "lacking", other, func(p *corev1.Pod) { p.Labels = labels })

		taints, config := newInstance(), map[string]any{
			"node_name": name, "taints": acctest.Objects(t, "team=a:NoSchedule"), "tolerated_by": []any{id},
			"timeouts": map[string]any{"create": "5s"},
		}
		walk := tf.Walk(t)
		if again := walk.Plan(pool, poolConfig); !again.Empty {
			t.Fatalf("the pool is planned again: %s", again.Diagnostics.Errors())
		}
		planned := walk.Plan(taints, config)
		if planned.Diagnostics.Errors() != "" {
			t.Fatal(planned.Diagnostics.Errors())
		}
		// The apply is a process of its own, in which the pool has nothing to do.
		if d := tf.Carry(t, taints, planned, config); d.Errors() != "" {
			t.Fatalf("the taint waits for a workload of another owner: %s", d.Errors())
		}
		wantTaints(t, c, name, "team=a:NoSchedule")
	})
}

// Between plan and apply, the mark of a linked workload is replaced by a made-up one: an update knows the
// generation from its last refresh, and waits for no workload on the word of another.
func TestNodeTaints_anUpdateKnowsTheGenerationOfWhatItIsLinkedTo(t *testing.T) {
	t.Parallel()
	acctest.OnFakeWithControllers(t, func(t *testing.T, c *acctest.Cluster) {
		name, namespace := acctest.Name(t, "node"), c.Namespace(t)
		c.Node(t, acctest.Node{Name: name})
		c.Deployment(t, namespace, "web", 1, nil)
		tf := terraform(t, c)
		tolerations := &acctest.Instance{Type: "kubetaint_workload_tolerations"}
		wanted := tolerationsOf(namespace, "gpu")
		if d := tf.Apply(t, tolerations, wanted); d.Errors() != "" {
			t.Fatal(d.Errors())
		}
		taints, config := newInstance(), func(entry string) map[string]any {
			return map[string]any{
				"node_name": name, "taints": acctest.Objects(t, entry), "tolerated_by": []any{tf.Attributes(t, tolerations)["id"]},
				"timeouts": map[string]any{"create": "1m", "update": "1m"},
			}
		}
		if d := tf.Apply(t, taints, config("a:NoSchedule")); d.Errors() != "" {
			t.Fatal(d.Errors())
		}
		walk := tf.Walk(t)
		for _, i := range []*acctest.Instance{tolerations, taints} {
			if d := walk.Refresh(i); d.Errors() != "" {
				t.Fatal(d.Errors())
			}
		}
		if again := walk.Plan(tolerations, wanted); !again.Empty {
			t.Fatalf("the tolerations are planned again: %s", again.Diagnostics.Errors())
		}
		planned := walk.Plan(taints, config("b:NoSchedule"))
		d, err := c.Admin.AppsV1().Deployments(namespace).Get(t.Context(), "web", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		id, _ := tf.Attributes(t, tolerations)["id"].(string)
		d.Annotations[toleration.OwnedAnnotation] = toleration.Record{{Key: "made", Operator: corev1.TolerationOpExists, Owner: id, Generation: "guessed"}}.String()
		if _, err := c.Admin.AppsV1().Deployments(namespace).Update(t.Context(), d, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
		if d := tf.Carry(t, taints, planned, config("b:NoSchedule")); d.Errors() != "" {
			t.Fatalf("the taint waits on the word of a made-up mark: %s", d.Errors())
		}
		wantTaints(t, c, name, "b:NoSchedule")
	})
}
