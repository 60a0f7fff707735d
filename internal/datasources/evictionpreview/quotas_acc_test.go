// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package evictionpreview_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
)

// TestAccEvictionPreview_aLoweredQuotaKeepsReplacementsAway: where the pods that stay use what is left of
// a quota, as many evicted pods are not recreated as the preview counts.
func TestAccEvictionPreview_aLoweredQuotaKeepsReplacementsAway(t *testing.T) {
	t.Parallel()
	c := acctest.Connect(t)
	namespace, pool := c.Namespace(t), acctest.Name(t, "pool")
	from, to := pool+"-0", pool+"-1"
	for _, name := range []string{from, to} {
		c.Node(t, acctest.Node{Name: name, Labels: map[string]string{"pool": pool, "part": name}})
	}
	quotas := c.Admin.CoreV1().ResourceQuotas(namespace)
	_, err := quotas.Create(t.Context(), &corev1.ResourceQuota{
		ObjectMeta: metav1.ObjectMeta{Name: "compute"}, Spec: corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{corev1.ResourceRequestsCPU: resource.MustParse("400m")}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	inForce := func(hard, used string) {
		t.Helper()
		acctest.Until(t, "the quota is "+hard+", of which "+used+" are used", func(ctx context.Context) (bool, error) {
			quota, err := quotas.Get(ctx, "compute", metav1.GetOptions{})
			if err != nil {
				return false, err
			}
			h, u := quota.Status.Hard[corev1.ResourceRequestsCPU], quota.Status.Used[corev1.ResourceRequestsCPU]
			return h.Cmp(resource.MustParse(hard)) == 0 && u.Cmp(resource.MustParse(used)) == 0, nil
		})
	}
	inForce("400m", "0")
	deploy := func(name string, on map[string]string) {
		t.Helper()
		c.Deployment(t, namespace, name, 2, func(s *corev1.PodSpec) {
			s.NodeSelector, s.TerminationGracePeriodSeconds = on, new(int64(1))
			s.Containers[0].Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("100m")}
		})
		c.Running(t, namespace, name, 2)
	}
	cordon := func(on string) { c.Patch(t, to, `{"spec":{"unschedulable":`+on+`}}`) }
	deploy("stays", map[string]string{"part": to})
	cordon("true")
	deploy("web", map[string]string{"pool": pool})
	cordon("false")
	limit := func(hard string) {
		t.Helper()
		if _, err := quotas.Patch(t.Context(), "compute", types.MergePatchType, []byte(`{"spec":{"hard":{"requests.cpu":"`+hard+`"}}}`), metav1.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	limit("250m")
	inForce("250m", "400m")
	preview, d := (&acctest.Terraform{Provider: c.Provider(t)}).Data(t, "kubetaint_eviction_preview", map[string]any{"node_name": from, "taints": acctest.Objects(t, "team=a:NoExecute")})
	if d.Errors() != "" {
		t.Fatal(d.Errors())
	}
	markdown, _ := preview["markdown"].(string)
	if !strings.Contains(markdown, "2 not created") || !strings.Contains(markdown, "quota compute: requests.cpu") || strings.Contains(markdown, "Not modelled: quota") {
		t.Errorf("the preview is %s", markdown)
	}
	c.Patch(t, from, `{"spec":{"taints":[{"key":"team","value":"a","effect":"NoExecute"}]}}`)
	notCreated(t, c, namespace, "web", "exceeded quota: compute")
	inForce("250m", "200m")
	if pods, err := c.Admin.CoreV1().Pods(namespace).List(t.Context(), metav1.ListOptions{LabelSelector: "app=web"}); err != nil || len(pods.Items) > 0 {
		t.Errorf("%d pods are recreated: %v", len(pods.Items), err)
	}
}

// notCreated waits until the pods of a Deployment are gone, and the API server refuses others with this message.
func notCreated(t testing.TB, c *acctest.Cluster, namespace, app, message string) {
	t.Helper()
	acctest.Until(t, "the evicted pods of "+app+" are gone, and others are refused", func(ctx context.Context) (bool, error) {
		sets, err := c.Admin.AppsV1().ReplicaSets(namespace).List(ctx, metav1.ListOptions{LabelSelector: "app=" + app})
		if err != nil || len(sets.Items) != 1 {
			return false, err
		}
		status := sets.Items[0].Status
		return status.Replicas == 0 && slices.ContainsFunc(status.Conditions, func(one appsv1.ReplicaSetCondition) bool {
			return one.Type == appsv1.ReplicaSetReplicaFailure && strings.Contains(one.Message, message)
		}), nil
	})
}
