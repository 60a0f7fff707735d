// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package evictionpreview_test

import (
	"context"
	"strconv"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
)

// TestAccEvictionPreview_thePodManagementPolicyDecidesOnLaterPods: db-0 fits nowhere else and db-1 would. The preview of
// each policy is what the controllers do then.
func TestAccEvictionPreview_thePodManagementPolicyDecidesOnLaterPods(t *testing.T) {
	t.Parallel()
	for policy, want := range map[appsv1.PodManagementPolicyType]struct {
		pending string
		pods    []string
	}{
		appsv1.OrderedReadyPodManagement: {"2 pending", []string{"db-0"}},
		appsv1.ParallelPodManagement:     {"1 pending", []string{"db-0", "db-1"}},
	} {
		t.Run(string(policy), func(t *testing.T) {
			t.Parallel()
			c := acctest.Connect(t)
			namespace, pool := c.Namespace(t), acctest.Name(t, "pool")
			from, to := pool+"-0", pool+"-1"
			for name, cpu := range map[string]string{from: "9", to: "2"} {
				c.Node(t, acctest.Node{Name: name, Labels: map[string]string{"pool": pool}, Allocatable: corev1.ResourceList{
					corev1.ResourceCPU: resource.MustParse(cpu), corev1.ResourceMemory: resource.MustParse("8Gi"), corev1.ResourcePods: resource.MustParse("20"),
				}})
			}
			shrinkingSet(t, c, namespace, pool, to, policy)
			preview, d := (&acctest.Terraform{Provider: c.Provider(t)}).Data(t, "kubetaint_eviction_preview", map[string]any{"node_name": from, "taints": acctest.Objects(t, "team=a:NoExecute")})
			if d.Errors() != "" {
				t.Fatal(d.Errors())
			}
			if markdown, _ := preview["markdown"].(string); !strings.Contains(markdown, "evicts 2 pods: "+want.pending) || strings.Contains(markdown, "unless its podManagementPolicy") {
				t.Errorf("the preview is %s", markdown)
			}
			c.Patch(t, from, `{"spec":{"taints":[{"key":"team","value":"a","effect":"NoExecute"}]}}`)
			acctest.Until(t, "the evicted pods are gone, and "+strings.Join(want.pods, " and ")+" is there", func(ctx context.Context) (bool, error) {
				pods, err := c.Admin.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{})
				if err != nil || len(pods.Items) != len(want.pods) {
					return false, err
				}
				for i, name := range want.pods {
					one := pods.Items[i]
					placed := one.Name == "db-1" && one.Spec.NodeName == to || one.Name == "db-0" && one.Spec.NodeName == "" && len(one.Status.Conditions) > 0
					if one.Name != name || one.DeletionTimestamp != nil || !placed {
						return false, nil
					}
				}
				return true, nil
			})
		})
	}
}

// shrinkingSet makes a StatefulSet with two pods on the other node: db-0 requests 4 CPU, and db-1 requests 1 by a
// newer template.
func shrinkingSet(t *testing.T, c *acctest.Cluster, namespace, pool, cordoned string, policy appsv1.PodManagementPolicyType) {
	t.Helper()
	c.Patch(t, cordoned, `{"spec":{"unschedulable":true}}`)
	labels := map[string]string{"app": "db"}
	set := &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Name: "db"}, Spec: appsv1.StatefulSetSpec{
		Replicas: new(int32(2)), PodManagementPolicy: policy, Selector: &metav1.LabelSelector{MatchLabels: labels},
		UpdateStrategy: appsv1.StatefulSetUpdateStrategy{Type: appsv1.RollingUpdateStatefulSetStrategyType, RollingUpdate: &appsv1.RollingUpdateStatefulSetStrategy{Partition: new(int32(1))}},
		Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{
			NodeSelector: map[string]string{"pool": pool}, TerminationGracePeriodSeconds: new(int64(1)),
			Containers: []corev1.Container{{Name: "main", Image: "example.com/app", Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("4")}}}},
		}},
	}}
	sets := c.Admin.AppsV1().StatefulSets(namespace)
	if _, err := sets.Create(t.Context(), set, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	c.Running(t, namespace, "db", 2)
	if _, err := sets.Patch(t.Context(), "db", types.StrategicMergePatchType, []byte(`{"spec":{"template":{"spec":{"containers":[{"name":"main","resources":{"requests":{"cpu":"1"}}}]}}}}`), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	for i, cpu := range []string{"4", "1"} {
		name := "db-" + strconv.Itoa(i)
		acctest.Until(t, name+" runs and requests "+cpu+" CPU", func(ctx context.Context) (bool, error) {
			p, err := c.Admin.CoreV1().Pods(namespace).Get(ctx, name, metav1.GetOptions{})
			if err != nil {
				return false, nil //nolint:nilerr // It is being replaced.
			}
			requested := p.Spec.Containers[0].Resources.Requests[corev1.ResourceCPU]
			return p.Status.Phase == corev1.PodRunning && p.DeletionTimestamp == nil && requested.Cmp(resource.MustParse(cpu)) == 0, nil
		})
	}
	c.Uncordon(t, cordoned)
}
