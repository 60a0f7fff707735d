// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package evictionpreview_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
)

func cores(n string) corev1.ResourceList {
	return corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(n)}
}

// limit gives a namespace one LimitRange of containers, in the place of the one that it has, and waits until
// new pods get its default request of CPU.
func limit(t testing.TB, c *acctest.Cluster, namespace string, item corev1.LimitRangeItem) {
	t.Helper()
	item.Type = corev1.LimitTypeContainer
	ranges := c.Admin.CoreV1().LimitRanges(namespace)
	if err := ranges.Delete(t.Context(), "sizes", metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
		t.Fatal(err)
	}
	if _, err := ranges.Create(t.Context(), &corev1.LimitRange{ObjectMeta: metav1.ObjectMeta{Name: "sizes"}, Spec: corev1.LimitRangeSpec{Limits: []corev1.LimitRangeItem{item}}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	want := item.DefaultRequest[corev1.ResourceCPU]
	acctest.Until(t, "the LimitRange is in force", func(ctx context.Context) (bool, error) {
		p, err := c.Admin.CoreV1().Pods(namespace).Create(ctx, &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: "try"}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "c"}}},
		}, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		return err == nil && p.Spec.Containers[0].Resources.Requests.Cpu().Equal(want), nil
	})
}

// TestAccEvictionPreview_limitRangesChangeAndRefuseReplacements: a namespace gets LimitRanges after its pods.
// One Deployment has a request below the new minimum, which refuses its new pods. Another has none, and its
// three new pods get the new default, of which the other node has room for two.
func TestAccEvictionPreview_limitRangesChangeAndRefuseReplacements(t *testing.T) {
	t.Parallel()
	c := acctest.Connect(t)
	namespace, pool := c.Namespace(t), acctest.Name(t, "pool")
	from, to := pool+"-0", pool+"-1"
	// Its default is in the pods, and not in those that are created after it is gone.
	limit(t, c, namespace, corev1.LimitRangeItem{DefaultRequest: cores("200m")})
	for _, name := range []string{from, to} {
		c.Node(t, acctest.Node{Name: name, Labels: map[string]string{"pool": pool}, Allocatable: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("5"), corev1.ResourceMemory: resource.MustParse("8Gi"), corev1.ResourcePods: resource.MustParse("20")}})
	}
	cordon := func(on string) { c.Patch(t, to, `{"spec":{"unschedulable":`+on+`}}`) }
	deploy := func(name string, replicas int32, requests corev1.ResourceList) {
		t.Helper()
		c.Deployment(t, namespace, name, replicas, func(s *corev1.PodSpec) {
			s.NodeSelector, s.TerminationGracePeriodSeconds = map[string]string{"pool": pool}, new(int64(1))
			s.Containers[0].Resources.Requests = requests
		})
		c.Running(t, namespace, name, int(replicas))
	}
	cordon("true")
	deploy("small", 1, cores("50m"))
	deploy("plain", 3, nil)
	cordon("false")
	limit(t, c, namespace, corev1.LimitRangeItem{Min: cores("100m"), DefaultRequest: cores("2")})

	preview, d := (&acctest.Terraform{Provider: c.Provider(t)}).Data(t, "kubetaint_eviction_preview", map[string]any{"node_name": from, "taints": acctest.Objects(t, "team=a:NoExecute")})
	if d.Errors() != "" {
		t.Fatal(d.Errors())
	}
	markdown, _ := preview["markdown"].(string)
	for _, part := range []string{"1 not created", "LimitRange sizes: min cpu", "1 pending"} {
		if !strings.Contains(markdown, part) {
			t.Errorf("the preview does not have %q: %s", part, markdown)
		}
	}
	c.Patch(t, from, `{"spec":{"taints":[{"key":"team","value":"a","effect":"NoExecute"}]}}`)
	notCreated(t, c, namespace, "small", "minimum cpu usage per Container is 100m")
	acctest.Until(t, "two pods of the other run on the other node, and one finds no room", func(ctx context.Context) (bool, error) {
		pods, err := c.Admin.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{LabelSelector: "app=plain"})
		if err != nil || len(pods.Items) != 3 {
			return false, err
		}
		running, pending := 0, 0
		for _, p := range pods.Items {
			switch {
			case p.Spec.NodeName == to && p.Status.Phase == corev1.PodRunning:
				running++
			case p.Spec.NodeName == "" && slices.ContainsFunc(p.Status.Conditions, func(one corev1.PodCondition) bool {
				return one.Type == corev1.PodScheduled && strings.Contains(one.Message, "Insufficient cpu")
			}):
				pending++
			}
		}
		return running == 2 && pending == 1, nil
	})
}
