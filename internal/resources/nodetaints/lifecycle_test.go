// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package nodetaints_test

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/messages"
)

const typeName = "kubetaint_node_taints"

// newInstance returns an instance that is not created yet.
func newInstance() *acctest.Instance {
	return &acctest.Instance{Type: typeName}
}

func terraform(t *testing.T, c *acctest.Cluster) *acctest.Terraform {
	t.Helper()
	return &acctest.Terraform{Provider: c.Provider(t)}
}

func wantTaints(t *testing.T, c *acctest.Cluster, node, want string) {
	t.Helper()
	if got := c.Taints(t, node); got != want {
		t.Fatalf("taints of %s are %q, want %q", node, got, want)
	}
}

func TestNodeTaints_lifecycle(t *testing.T) {
	t.Parallel()
	acctest.OnFake(t, func(t *testing.T, c *acctest.Cluster) {
		tf := terraform(t, c)
		name := acctest.Name(t, "node")
		added := metav1.Now().Rfc3339Copy()
		c.Node(t, acctest.Node{Name: name, Taints: []corev1.Taint{
			{Key: "foreign.example.com/b", Value: "1", Effect: corev1.TaintEffectNoSchedule, TimeAdded: &added},
			{Key: "foreign.example.com/a", Effect: corev1.TaintEffectNoExecute, TimeAdded: &added},
		}})
		i := newInstance()
		config := map[string]any{"node_name": name, "taints": acctest.Objects(t, "dedicated=gpu:NoExecute dedicated=gpu:NoSchedule")}
		foreign := "foreign.example.com/b=1:NoSchedule, foreign.example.com/a:NoExecute"

		tf.Settle(t, i, config)
		wantTaints(t, c, name, foreign+", dedicated=gpu:NoExecute, dedicated=gpu:NoSchedule")

		tf.Settle(t, i, acctest.With(config, map[string]any{"taints": acctest.Objects(t, "dedicated=web:NoExecute extra:PreferNoSchedule")}))
		wantTaints(t, c, name, foreign+", dedicated=web:NoExecute, extra:PreferNoSchedule")

		tf.Destroy(t, i)
		wantTaints(t, c, name, foreign)
		if record := c.Record(t, name); record != "" {
			t.Fatalf("the record outlives the resource: %s", record)
		}
		for _, taint := range c.Get(t, name).Spec.Taints {
			if taint.TimeAdded == nil || !taint.TimeAdded.Equal(&added) {
				t.Fatalf("timeAdded of the foreign taint %s changed to %v", taint.Key, taint.TimeAdded)
			}
		}
	})
}

func TestNodeTaints_previewNamesPods(t *testing.T) {
	t.Parallel()
	messages.Expect(t, "evicts … pod")
	acctest.OnFake(t, func(t *testing.T, c *acctest.Cluster) {
		tf := terraform(t, c)
		name, namespace := acctest.Name(t, "node"), c.Namespace(t)
		c.Node(t, acctest.Node{Name: name})
		c.Pod(t, namespace, "bare", name, nil)
		planned := tf.Plan(t, newInstance(), map[string]any{"node_name": name, "taints": acctest.Objects(t, "dedicated=gpu:NoExecute")})
		want := `Applying dedicated=gpu:NoExecute to node "` + name + `" evicts 1 pod: 1 lost`
		if got := planned.Diagnostics.Warnings(); !strings.Contains(got, want) || !strings.Contains(got, "bare") {
			t.Fatalf("the plan warns %q, want %q and the pod's name", got, want)
		}
	})
}
