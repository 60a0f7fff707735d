// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package workloadtolerations_test

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

// Two pods of a Deployment are on the only node that their template selects. A plan warns where no new one can run beside them,
// and there alone: the rollout stops with the old pods, and one new pod that is Pending.
func TestAccWorkloadTolerations_aSurgeWithoutRoomIsForeseen(t *testing.T) {
	t.Parallel()
	c := acctest.Connect(t)
	acctest.NeedKwok(t, "a node of a chosen size")
	for name, tt := range map[string]struct {
		surge, unavailable int
		pods               int64
		port               int
		stops              string
		// removed takes away the toleration, which the workload got when a pod was allowed to be missing.
		removed bool
	}{
		"room for one more":                  {pods: 3, surge: 1},
		"no room for one more":               {pods: 2, surge: 1, stops: "takes no more pods"},
		"no room, and one may be missing":    {pods: 2, unavailable: 1},
		"a host port that the old pod has":   {pods: 3, surge: 1, port: 8124, stops: "host port in use"},
		"a host port, and it may be missing": {pods: 3, unavailable: 1, port: 8125},
		"removed, and room for one more":     {pods: 3, surge: 1, removed: true},
		"removed, and no room for one more":  {pods: 2, surge: 1, removed: true, stops: "takes no more pods"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := openShopOn(t, c)
			s.pool += "-small"
			c.Node(t, acctest.Node{Name: s.pool, Labels: map[string]string{"shop": s.pool}, Allocatable: corev1.ResourceList{"cpu": resource.MustParse("4"), "memory": resource.MustParse("4Gi"), "pods": *resource.NewQuantity(tt.pods, resource.DecimalSI)}})
			replicas := 2
			if tt.port > 0 {
				replicas = 1
			}
			template := s.template("web", "")
			if tt.port > 0 {
				template["spec"].(map[string]any)["containers"].([]any)[0].(map[string]any)["ports"] = []any{map[string]any{"containerPort": 80, "hostPort": tt.port}}
			}
			pace := func(surge, unavailable int) map[string]any {
				return map[string]any{"rollingUpdate": map[string]any{"maxSurge": surge, "maxUnavailable": unavailable}}
			}
			strategy := pace(tt.surge, tt.unavailable)
			if tt.removed {
				strategy = pace(0, 1)
			}
			thing := s.make("Deployment", "web", replicas, "", map[string]any{"template": template, "strategy": strategy})
			config, i := s.manage(thing, "team=a:NoExecute", map[string]any{"wait_for_rollout": false}), s.fresh()
			if tt.removed {
				s.tf.Settle(t, i, s.manage(thing, "team=a:NoExecute", nil))
				c.Change(t, thing, "somebody", fmt.Sprintf(`{"spec":{"strategy":{"rollingUpdate":{"maxSurge":%d,"maxUnavailable":%d}}}}`, tt.surge, tt.unavailable))
				config = nil
			}
			planned := s.tf.Plan(t, i, config)
			said := planned.Diagnostics.Warnings()
			if tt.stops == "" {
				if strings.Contains(said, "stops a rollout") {
					t.Errorf("it warns of a rollout that ends: %s", said)
				}
			} else {
				says(t, "warning", said, "stops a rollout: no node takes", tt.stops)
			}
			if d := append(planned.Diagnostics, s.tf.Carry(t, i, planned, config)...); d.Errors() != "" {
				t.Fatal(d.Errors())
			}
			acctest.Until(t, "the rollout has ended or stopped", func(ctx context.Context) (bool, error) {
				d, err := c.Admin.AppsV1().Deployments(s.namespace).Get(ctx, "web", metav1.GetOptions{})
				if err != nil || d.Status.ObservedGeneration < d.Generation {
					return false, err
				}
				if tt.stops == "" {
					return int(d.Status.UpdatedReplicas) == replicas && int(d.Status.AvailableReplicas) == replicas && int(d.Status.Replicas) == replicas, nil
				}
				pods, err := c.Admin.CoreV1().Pods(s.namespace).List(ctx, metav1.ListOptions{})
				pending := 0
				for n := range pods.Items {
					for _, condition := range pods.Items[n].Status.Conditions {
						if condition.Type == corev1.PodScheduled && condition.Status == corev1.ConditionFalse && condition.Reason == corev1.PodReasonUnschedulable {
							pending++
						}
					}
				}
				return pending == 1 && len(pods.Items) == replicas+1, err
			})
		})
	}
}
