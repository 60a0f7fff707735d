// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package kube

import (
	"context"
	"errors"
	"slices"

	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/printable"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
)

// learnPriorities lists the PriorityClasses once evicted pods name one, and reports whether snapshots have more from now
// on. Without the right to, they stay unknown.
func (c *Cluster) learnPriorities(ctx context.Context, s *snapshot.Snapshot, evicted []*snapshot.Pod) (learned bool, err error) {
	named := func(p *snapshot.Pod) bool { return p.Controller != nil && p.Requests().NamesClass() }
	if s.PriorityClasses != nil || !slices.ContainsFunc(evicted, named) {
		return false, nil
	}
	classes, err := c.priorities.get(ctx, func() (*snapshot.PriorityClasses, error) { return c.priorityClasses(ctx) })
	return classes != nil, err
}

// priorityClasses lists the PriorityClasses, nil where there is no permission to: a preview names them as not modelled
// then. Of several default ones, that of the lowest value counts
// (k8s.io/kubernetes v1.37.2 plugin/pkg/admission/priority/admission.go, getDefaultPriorityClass).
func (c *Cluster) priorityClasses(ctx context.Context) (*snapshot.PriorityClasses, error) {
	out := snapshot.PriorityClasses{}
	var byDefault *schedulingv1.PriorityClass
	err := c.each(ctx, "priorityclasses", func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
		return c.client.scheduling.PriorityClasses().List(ctx, o)
	}, func() {
		clear(out)
		byDefault = nil
	}, func(o runtime.Object) error {
		class := o.(*schedulingv1.PriorityClass) //nolint:forcetypeassert // The list holds nothing else.
		if class.GlobalDefault && (byDefault == nil || class.Value < byDefault.Value) {
			byDefault = class
		}
		out[printable.Line(class.Name)] = snapshot.PriorityClass{
			Value: class.Value, Patient: class.PreemptionPolicy != nil && *class.PreemptionPolicy == corev1.PreemptNever,
		}
		return nil
	})
	if errors.Is(err, ErrForbidden) {
		return nil, nil
	}
	if byDefault != nil && err == nil {
		name := printable.Line(byDefault.Name)
		one := out[name]
		one.Default = true
		out[name] = one
	}
	return &out, err
}
