// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package kube

import (
	"cmp"
	"context"
	"errors"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/printable"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
)

// limitRanges lists the LimitRanges that are about containers and pods. It returns nil where there is no
// permission to: a preview names them as not modelled then.
func (c *Cluster) limitRanges(ctx context.Context) (snapshot.LimitRanges, error) {
	out := snapshot.LimitRanges{}
	err := c.each(ctx, "limitranges", func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
		return c.client.core.LimitRanges("").List(ctx, o)
	}, func() { clear(out) }, func(o runtime.Object) error {
		r := o.(*corev1.LimitRange) //nolint:forcetypeassert // The list holds nothing else.
		limits := slices.DeleteFunc(r.Spec.Limits, func(item corev1.LimitRangeItem) bool {
			return item.Type != corev1.LimitTypeContainer && item.Type != corev1.LimitTypePod
		})
		if len(limits) > 0 {
			out[r.Namespace] = append(out[r.Namespace], snapshot.LimitRange{Name: printable.Line(r.Name), Limits: limits})
		}
		return nil
	})
	for _, ranges := range out {
		slices.SortFunc(ranges, func(a, b snapshot.LimitRange) int { return cmp.Compare(a.Name, b.Name) })
	}
	if errors.Is(err, ErrForbidden) {
		return nil, nil
	}
	return out, err
}
