// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package workloadtolerations_test

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
)

// A surge needs room beside the old pod, and takes that of a pod of a lower priority where it may.
func TestWorkloadTolerations_planTellsWhomNewPodsPreempt(t *testing.T) {
	t.Parallel()
	inShop(t, func(t *testing.T, s *shop) {
		pool := acctest.Name(t, "pool")
		s.c.Node(t, acctest.Node{Name: pool, Labels: map[string]string{"pool": pool}, Allocatable: corev1.ResourceList{
			corev1.ResourceCPU: resource.MustParse("4"), corev1.ResourceMemory: resource.MustParse("8Gi"), corev1.ResourcePods: resource.MustParse("10"),
		}})
		template := s.template("web", "")
		spec := template["spec"].(map[string]any)
		spec["nodeSelector"], spec["priority"] = map[string]any{"pool": pool}, 1000
		spec["containers"].([]any)[0].(map[string]any)["resources"] = map[string]any{"requests": map[string]any{"cpu": "3"}}
		thing := s.make("Deployment", "web", 1, "", map[string]any{"template": template, "strategy": map[string]any{"rollingUpdate": map[string]any{"maxSurge": 1, "maxUnavailable": 0}}})
		pods := s.c.Preempting(t, pool, pool)
		config := s.manage(thing, "team=a:NoExecute", map[string]any{"wait_for_rollout": false})
		if said := s.tf.Plan(t, s.fresh(), config).Diagnostics.Warnings(); strings.Contains(said, "preempt") {
			t.Fatalf("there is room for both: %s", said)
		}
		pods.Calm()
		says(t, "warning", s.tf.Plan(t, s.fresh(), config).Diagnostics.Warnings(), "Adding tolerations to Deployment",
			"evicts no pods, but new pods preempt others: 1 pending, 1 preempted elsewhere", "PENDING 1  ReplicationController "+pods.Other+"/calm", "preempted; no node")
	})
}
