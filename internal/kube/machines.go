// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package kube

import (
	"context"
	"errors"

	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// MachineTaints returns the taints of OpenShift's Machines, by namespace/name.
// The nodelink controller puts each of them on the Machine's node again
// whenever it is missing there (openshift/machine-api-operator
// pkg/controller/nodelink/nodelink_controller.go, addTaintsToNode). They are
// listed once per process; a cluster without the Machine API has none.
func (c *Cluster) MachineTaints(ctx context.Context) (map[string][]corev1.Taint, error) {
	return c.machines.get(ctx, func() (map[string][]corev1.Taint, error) {
		taints := map[string][]corev1.Taint{}
		resource := c.dynamic.Resource(machinev1beta1.GroupVersion.WithResource("machines"))
		err := each(ctx, "machines", func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			return resource.List(ctx, o)
		}, func() { clear(taints) }, func(o runtime.Object) error {
			var machine machinev1beta1.Machine
			content := o.(*unstructured.Unstructured).UnstructuredContent() //nolint:forcetypeassert // A dynamic list holds nothing else.
			if err := runtime.DefaultUnstructuredConverter.FromUnstructured(content, &machine); err != nil {
				return err
			}
			taints[machine.Namespace+"/"+machine.Name] = machine.Spec.Taints
			return nil
		})
		if errors.Is(err, ErrNotFound) {
			return taints, nil
		}
		return taints, err
	})
}
