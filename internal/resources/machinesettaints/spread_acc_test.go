// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package machinesettaints_test

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
)

// TestAccMachineSetTaints_aDeletedNodeIsADomainUntilItIsGone: a pod is spread over a machine that is replaced and
// another node. The new machine repels it, also where it is placed there before nodelink writes the taint. Where it comes after the old one is gone, the pod may be placed on the other node
// before. Where it comes first, the pod is Pending. Plans say so, and the real scheduler does it.
func TestAccMachineSetTaints_aDeletedNodeIsADomainUntilItIsGone(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		rollout  map[string]any
		said     string
		mayPlace bool
	}{
		"rolling": {map[string]any{"strategy": "rolling"}, "evicts 1 pod: 0-1 pending", true},
		"surge":   {map[string]any{"strategy": "surge"}, "evicts 1 pod: 1 pending", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
			p, apps, beside := s.pool(1, nil), s.c.Namespace(t), acctest.Name(t, "node")
			s.c.Node(t, acctest.Node{Name: beside, Labels: map[string]string{"pool": p.Name, corev1.LabelHostname: beside}})
			s.c.Deployment(t, apps, "web", 2, func(spec *corev1.PodSpec) {
				spec.NodeSelector = map[string]string{"pool": p.Name}
				spec.Tolerations = acctestTolerations(t, foreign)
				spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{
					MaxSkew: 1, TopologyKey: corev1.LabelHostname, WhenUnsatisfiable: corev1.DoNotSchedule, LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}},
				}}
			})
			i, config := newInstance(), s.config(p.Name, "team=a:NoExecute", tt.rollout)
			planned := s.tf.Plan(t, i, config)
			acctest.WantAll(t, planned.Diagnostics.Warnings(), tt.said)
			s.apply(i, config)
			acctest.Until(t, "the pod is placed, or is known to be unschedulable", func(ctx context.Context) (bool, error) {
				pods := s.live(ctx, apps, "web")
				if len(pods) != 2 {
					return false, nil
				}
				for _, pod := range pods {
					if pod.Spec.NodeName != beside && !unschedulable(pod) {
						return false, nil
					}
				}
				return true, nil
			})
			placed := 0
			for _, pod := range s.live(t.Context(), apps, "web") {
				if pod.Spec.NodeName != "" {
					placed++
				}
			}
			if placed == 2 && !tt.mayPlace {
				t.Error("both pods are placed")
			}
		})
	}
}

func unschedulable(pod corev1.Pod) bool {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Reason == corev1.PodReasonUnschedulable {
			return true
		}
	}
	return false
}
