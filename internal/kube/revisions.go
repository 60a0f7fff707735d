// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package kube

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/workload"
)

// Templates returns the pod templates by which the pods of a Deployment, or of a Rollout of
// Argo, are made at this moment, the newest and those that it is leaving: of every
// ReplicaSet of it that wants pods, has some, or has not yet seen how many it should have.
// One that is behind makes pods of an old template although none is there. Nothing is
// returned for other kinds, whose controllers make pods from one template, except
// for what a workload.Workload says itself: that it relapses.
func (c *Cluster) Templates(ctx context.Context, w *workload.Workload) ([]corev1.PodSpec, error) {
	if deployment := w.Kind == "Deployment" && w.GroupVersionKind().Group == "apps"; !deployment && (!w.ArgoRollout() || w.Selector == "") {
		return nil, nil
	}
	var out []corev1.PodSpec
	err := c.patience().do(ctx, bounded(func(ctx context.Context) error {
		out = nil
		list, err := c.client.apps.ReplicaSets(w.Namespace).List(ctx, metav1.ListOptions{LabelSelector: w.Selector})
		if err != nil {
			return err
		}
		for i := range list.Items {
			rs := &list.Items[i]
			idle := rs.Spec.Replicas != nil && *rs.Spec.Replicas == 0 && rs.Status.Replicas == 0 && rs.Status.ObservedGeneration >= rs.Generation
			if owner := metav1.GetControllerOfNoCopy(rs); owner != nil && owner.UID == w.UID && !idle {
				out = append(out, rs.Spec.Template.Spec)
			}
		}
		return nil
	}))
	return out, wrap("list replicasets of "+w.String(), err)
}
