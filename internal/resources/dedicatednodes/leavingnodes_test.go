// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package dedicatednodes_test

import (
	"context"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
)

// TestDedicatedNodes_planTellsOfOwnPodsOnANodeThatIsGivenUp: its pods stay there, and those of a DaemonSet are deleted and not
// recreated, since the templates still require the label.
func TestDedicatedNodes_planTellsOfOwnPodsOnANodeThatIsGivenUp(t *testing.T) {
	t.Parallel()
	for kind, want := range map[string][]string{
		"Deployment":  {"evicts no pods, but 2 pods of its workloads stay there", "STAYS 2", "moves once recreated"},
		"StatefulSet": {"evicts no pods, but 2 pods of its workloads stay there", "STAYS 2", "moves once recreated"},
		"DaemonSet":   {"evicts 1 pod: 1 of DaemonSets", "DAEMON 1", "not recreated on these nodes"},
	} {
		onFake(t, func(t *testing.T, c *acctest.Cluster) {
			p := newPool(t, c, kind)
			tf, i := terraform(t, c), newInstance()
			config := p.config(wish{taints: "team=a:NoExecute", labels: "dedicated=gpu", workloads: map[string]string{kind: pinned}})
			tf.Settle(t, i, config)
			c.Patch(t, p.nodes[1], `{"metadata":{"labels":{"keep":"yes"}}}`)
			less := acctest.With(config, map[string]any{"node_selector": "keep=yes,pool=" + p.name})
			acctest.WantAll(t, tf.Plan(t, i, less).Diagnostics.Warnings(), want...)
			tf.Settle(t, i, less)
			acctest.Until(t, "its pods are gone from the node, or stay", func(ctx context.Context) (bool, error) {
				pods, err := c.Admin.CoreV1().Pods(p.namespace).List(ctx, metav1.ListOptions{FieldSelector: "spec.nodeName=" + p.nodes[0]})
				return err == nil && (len(pods.Items) == 0) == (kind == "DaemonSet"), err
			})
			if said := tf.Plan(t, i, nil).Diagnostics.Warnings(); strings.Contains(said, "stay there") || strings.Contains(said, "DAEMON") {
				t.Errorf("a destroy takes the label out of the template as well, and its plan says %s", said)
			}
		})
	}
}

// TestDedicatedNodes_podsOfItsPolicyFindAPlaceAfterADestroy: what the policy had them require goes with it.
func TestDedicatedNodes_podsOfItsPolicyFindAPlaceAfterADestroy(t *testing.T) {
	t.Parallel()
	onFake(t, func(t *testing.T, c *acctest.Cluster) {
		p := newPool(t, c)
		tf, i := terraform(t, c), newInstance()
		config := acctest.With(p.config(wish{taints: "team=a:NoExecute", labels: "dedicated=gpu"}), map[string]any{"admission": map[string]any{
			"name": acctest.Name(t, "policy"), "pin": true, "match": map[string]any{"namespaces": []any{p.namespace}, "pod_selector": "app=batch"},
		}})
		tf.Settle(t, i, config)
		required := func(app string) func(*corev1.Pod) {
			return func(pod *corev1.Pod) {
				pod.Labels = map[string]string{"app": app}
				pod.OwnerReferences = []metav1.OwnerReference{{APIVersion: "batch/v1", Kind: "Job", Name: app, UID: types.UID(app), Controller: new(true)}}
				pod.Spec.Tolerations = []corev1.Toleration{{Key: "team", Value: "a", Effect: corev1.TaintEffectNoExecute}, {Key: "foreign", Operator: corev1.TolerationOpExists}}
				pod.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
					MatchExpressions: []corev1.NodeSelectorRequirement{{Key: "dedicated", Operator: corev1.NodeSelectorOpIn, Values: []string{"gpu-" + p.name}}},
				}}}}}
			}
		}
		c.Pod(t, p.namespace, "batch", p.nodes[0], required("batch"))
		if said := tf.Plan(t, i, nil).Diagnostics.Warnings(); said != "" {
			t.Errorf("the plan says %s", said)
		}
		// A pod that the policy does not mean requires the label by itself.
		c.Pod(t, p.namespace, "other", p.nodes[0], required("other"))
		acctest.WantAll(t, tf.Plan(t, i, nil).Diagnostics.Warnings(), "1 pod could not be scheduled again", "/other")
	})
}
