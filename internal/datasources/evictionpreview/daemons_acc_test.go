// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package evictionpreview_test

import (
	"context"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
)

// TestAccEvictionPreview_theTemplateOfADaemonSetDecides: pods that do not follow their
// template by themselves are judged by it all the same, and the real DaemonSet controller
// does what the preview says.
func TestAccEvictionPreview_theTemplateOfADaemonSetDecides(t *testing.T) {
	t.Parallel()
	c := acctest.Connect(t)
	node, namespace := acctest.Name(t, "node"), c.Namespace(t)
	c.Node(t, acctest.Node{Name: node, Labels: map[string]string{"pool": node}})
	team := []corev1.Toleration{{Key: "team", Operator: corev1.TolerationOpExists}}
	old := map[types.UID]bool{}
	for name, change := range map[string]struct{ pods, template []corev1.Toleration }{
		"keeps": {team, team}, "gave-up": {team, nil}, "has-got": {nil, team}, "has-none": {nil, nil},
	} {
		c.DaemonSet(t, namespace, name, 1, func(spec *corev1.PodSpec) {
			spec.NodeSelector, spec.Tolerations = map[string]string{"pool": node}, change.pods
		})
		acctest.Until(t, name+" has a template that its pods do not follow", func(ctx context.Context) (bool, error) {
			d, err := c.Admin.AppsV1().DaemonSets(namespace).Get(ctx, name, metav1.GetOptions{})
			if err != nil {
				return false, err
			}
			d.Spec.UpdateStrategy = appsv1.DaemonSetUpdateStrategy{Type: appsv1.OnDeleteDaemonSetStrategyType}
			d.Spec.Template.Spec.Tolerations = change.template
			_, err = c.Admin.AppsV1().DaemonSets(namespace).Update(ctx, d, metav1.UpdateOptions{})
			return err == nil, nil
		})
		acctest.Until(t, "its controller has seen it", func(ctx context.Context) (bool, error) {
			d, err := c.Admin.AppsV1().DaemonSets(namespace).Get(ctx, name, metav1.GetOptions{})
			return err == nil && d.Status.ObservedGeneration == d.Generation, err
		})
	}
	pods, err := c.Admin.CoreV1().Pods(namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range pods.Items {
		old[pods.Items[i].UID] = true
	}
	preview, d := (&acctest.Terraform{Provider: c.Provider(t)}).Data(t, "kubetaint_eviction_preview", map[string]any{
		"node_name": node, "taints": acctest.Objects(t, "team=a:NoExecute"), "include_unaffected": true,
	})
	if d.Errors() != "" {
		t.Fatal(d.Errors())
	}
	// verdict, and whether another one is made
	want := map[string]struct {
		verdict string
		back    bool
		reason  string
	}{
		"keeps":    {"stays", true, "tolerates team=a:NoExecute"},
		"gave-up":  {"evicted_now", false, "its DaemonSet's template does not tolerate team=a:NoExecute"},
		"has-got":  {"evicted_now", true, "does not tolerate team=a:NoExecute"},
		"has-none": {"evicted_now", false, "does not tolerate team=a:NoExecute"},
	}
	said, _ := preview["pods"].([]any)
	if len(said) != len(want) {
		t.Fatalf("pods are %v", said)
	}
	for _, one := range said {
		pod := one.(map[string]any)
		w := want[strings.TrimPrefix(pod["owner"].(string), "DaemonSet/")]
		if pod["verdict"] != w.verdict || pod["reschedulable"] != w.back || !strings.Contains(pod["reason"].(string), w.reason) {
			t.Errorf("%v: %v, reschedulable %v, %v", pod["owner"], pod["verdict"], pod["reschedulable"], pod["reason"])
		}
	}

	c.Patch(t, node, `{"spec":{"taints":[{"key":"team","value":"a","effect":"NoExecute"}]}}`)
	c.Running(t, namespace, "keeps", 1)
	c.Running(t, namespace, "gave-up", 0)
	c.Running(t, namespace, "has-none", 0)
	acctest.Until(t, "a pod has come for the one that was evicted", func(ctx context.Context) (bool, error) {
		pods, err := c.Admin.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{})
		if err != nil {
			return false, err
		}
		stays, comes := 0, 0
		for i := range pods.Items {
			switch p := &pods.Items[i]; {
			case p.DeletionTimestamp != nil:
			case p.Labels["app"] == "keeps" && old[p.UID]:
				stays++
			case p.Labels["app"] == "has-got" && !old[p.UID] && p.Spec.NodeName == node:
				comes++
			default:
				return false, nil
			}
		}
		return stays == 1 && comes == 1, nil
	})
}
