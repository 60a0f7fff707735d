// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package nodetaints_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
)

// TestAccNodeTaints_oneOfTwoResourcesCountsTheOther: each taints a node whose pod fits on the other one. The plan says
// of one that its pod fits and of the other one that both are Pending, as happens by the real scheduler.
func TestAccNodeTaints_oneOfTwoResourcesCountsTheOther(t *testing.T) {
	t.Parallel()
	c, cli := acctest.Connect(t), acctest.NewCLI(t)
	pool, apps := acctest.Name(t, "pool"), c.Namespace(t)
	for _, app := range []string{"a", "b"} {
		c.Node(t, acctest.Node{Name: pool + "-" + app, Labels: map[string]string{"pool": pool}, Allocatable: corev1.ResourceList{
			corev1.ResourceCPU: resource.MustParse("4"), corev1.ResourceMemory: resource.MustParse("4Gi"), corev1.ResourcePods: resource.MustParse("10"),
		}})
		c.Deployment(t, apps, app, 1, func(spec *corev1.PodSpec) {
			spec.NodeSelector = map[string]string{"pool": pool}
			spec.Containers[0].Resources.Requests = corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("2Gi")}
		})
		if app == "a" {
			// The second pod is to run on the second node.
			c.Cordon(t, apps, pool+"-a")
		}
	}
	c.Uncordon(t, pool+"-a")
	write := func(evictions string) {
		var config strings.Builder
		for _, app := range []string{"a", "b"} {
			fmt.Fprintf(&config, "resource %q %q {\n  node_name = %q\n  taints = [{ key = \"dedicated\", value = \"gpu\", effect = \"NoExecute\" }]\n%s}\n", typeName, app, pool+"-"+app, evictions)
		}
		cli.Write(c.Provider(t), config.String())
	}
	write("  evictions = { max_pending = 0 }\n")
	out, ok := cli.Run("plan", "-input=false", "-no-color")
	if ok {
		t.Fatalf("both pods become Pending, and the plan succeeds:\n%s", out)
	}
	acctest.WantAll(t, acctest.Unfold(out), "2 pods would stay Pending, and max_pending allows 0 (1 evicted by other resources)")
	write("")
	out = acctest.Unfold(cli.MustRun("plan", "-input=false", "-no-color"))
	acctest.WantAll(t, out, "evicts 1 pod: 1 pending", "Other resources of this plan evict 1 pod as well: 2 pending in all.")
	if n := strings.Count(out, "1 pod: 1 pending"); n != 1 {
		t.Errorf("%d resources count the other one:\n%s", n, out)
	}
	cli.MustRun("apply", "-auto-approve", "-input=false")
	acctest.Until(t, "both pods are Pending", func(ctx context.Context) (bool, error) {
		pods, err := c.Admin.CoreV1().Pods(apps).List(ctx, metav1.ListOptions{})
		if err != nil {
			return false, err
		}
		pending := 0
		for _, p := range pods.Items {
			if p.Spec.NodeName == "" && p.DeletionTimestamp == nil {
				pending++
			}
		}
		return pending == 2 && len(pods.Items) == 2, nil
	})
	cli.MustRun("destroy", "-auto-approve", "-input=false")
	c.Running(t, apps, "a", 1)
	c.Running(t, apps, "b", 1)
}
