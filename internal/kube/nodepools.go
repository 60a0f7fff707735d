// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package kube

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/printable"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
)

// nodePoolLabel names the NodePool of a node that Karpenter has added
// (kubernetes-sigs/karpenter pkg/apis/v1/labels.go, NodePoolLabelKey).
const nodePoolLabel = "karpenter.sh/nodepool"

var (
	nodePools          = schema.GroupVersionResource{Group: "karpenter.sh", Version: "v1", Resource: "nodepools"}
	machineAutoscalers = schema.GroupVersionResource{Group: "autoscaling.openshift.io", Version: "v1beta1", Resource: "machineautoscalers"}
)

// nodePool is as much of a NodePool as shows whether it may grow (kubernetes-sigs/karpenter pkg/apis/v1/nodepool.go).
type nodePool struct {
	metav1.ObjectMeta `json:"metadata"`

	Spec struct {
		Limits corev1.ResourceList `json:"limits"`
		// Replicas is set for a NodePool of a fixed size, to which Pending pods add nothing.
		Replicas *int64 `json:"replicas"`
	} `json:"spec"`
	Status struct {
		Resources  corev1.ResourceList `json:"resources"`
		Conditions []metav1.Condition  `json:"conditions"`
	} `json:"status"`
}

// grows reports whether Karpenter may add a node: it passes over NodePools that are not ready or are deleted
// (kubernetes-sigs/karpenter pkg/controllers/provisioning/provisioner.go, NewScheduler), and each node needs something
// of each resource that is limited (scheduling/scheduler.go, filterByRemainingResources).
func (p *nodePool) grows() bool {
	if p.DeletionTimestamp != nil || p.Spec.Replicas != nil {
		return false
	}
	for name, limit := range p.Spec.Limits {
		if has := p.Status.Resources[name]; has.Cmp(limit) >= 0 {
			return false
		}
	}
	for _, c := range p.Status.Conditions {
		if c.Type == "Ready" {
			return c.Status == metav1.ConditionTrue
		}
	}
	return true
}

// growingPools returns the NodePools that may grow, or those that nodes show where they cannot be listed.
func (c *Cluster) growingPools(ctx context.Context, nodes []*snapshot.Node) (names []string, err error) {
	err = listNamed(ctx, c, nodePools, "", func(p *nodePool) {
		if p.grows() {
			names = append(names, "NodePool "+printable.Line(p.Name))
		}
	}, func() { names = nil })
	if !absent(err) {
		return names, err
	}
	for _, n := range nodes {
		if pool := n.Labels[nodePoolLabel]; pool != "" {
			names = append(names, "NodePool "+printable.Line(pool))
		}
	}
	return names, nil
}

// scaledSets returns the MachineSets that a MachineAutoscaler may give more machines than the fewest
// (openshift/cluster-autoscaler-operator pkg/apis/autoscaling/v1beta1/machineautoscaler_types.go).
func (c *Cluster) scaledSets(ctx context.Context) (names []string, err error) {
	type autoscaler struct {
		Spec struct {
			MinReplicas    int32 `json:"minReplicas"`
			MaxReplicas    int32 `json:"maxReplicas"`
			ScaleTargetRef struct {
				Name string `json:"name"`
			} `json:"scaleTargetRef"`
		} `json:"spec"`
	}
	err = listNamed(ctx, c, machineAutoscalers, machineAPINamespace, func(a *autoscaler) {
		if a.Spec.ScaleTargetRef.Name != "" && a.Spec.MaxReplicas > a.Spec.MinReplicas {
			names = append(names, "MachineSet "+printable.Line(a.Spec.ScaleTargetRef.Name))
		}
	}, func() { names = nil })
	if absent(err) {
		return nil, nil
	}
	return names, err
}

// listNamed lists custom resources whose names are all that is wanted of them. One in another form is passed over.
func listNamed[T any](ctx context.Context, c *Cluster, resource schema.GroupVersionResource, namespace string, visit func(*T), begin func()) error {
	return c.each(ctx, resource.Resource, func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
		return c.dynamic.Resource(resource).Namespace(namespace).List(ctx, o)
	}, begin, func(o runtime.Object) error {
		if object, err := typed[T](o.(*unstructured.Unstructured)); err == nil { //nolint:forcetypeassert // A dynamic list holds nothing else.
			visit(object)
		}
		return nil
	})
}
