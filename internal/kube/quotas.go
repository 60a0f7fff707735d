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

// quotas lists the ResourceQuotas that limit pods. It returns nil where there is no permission to: a
// preview names them as not modelled then.
func (c *Cluster) quotas(ctx context.Context) (snapshot.Quotas, error) {
	out := snapshot.Quotas{}
	err := c.each(ctx, "resourcequotas", func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
		return c.client.core.ResourceQuotas("").List(ctx, o)
	}, func() { clear(out) }, func(o runtime.Object) error {
		q := o.(*corev1.ResourceQuota) //nolint:forcetypeassert // The list holds nothing else.
		if limits := limitsOf(&q.Status); len(limits) > 0 {
			out[q.Namespace] = append(out[q.Namespace], snapshot.Quota{Name: printable.Line(q.Name), Scopes: scopesOf(&q.Spec), Limits: limits})
		}
		return nil
	})
	if errors.Is(err, ErrForbidden) {
		return nil, nil
	}
	return out, err
}

// limitsOf returns what a status limits of pods. Admission reads hard limits from the status as well.
func limitsOf(status *corev1.ResourceQuotaStatus) []snapshot.QuotaLimit {
	var out []snapshot.QuotaLimit
	for name, hard := range status.Hard {
		if !snapshot.LimitsPods(name) {
			continue
		}
		used := status.Used[name]
		limit := snapshot.QuotaLimit{Resource: corev1.ResourceName(printable.Line(string(name))), Hard: snapshot.Whole(hard), Used: snapshot.Whole(used)}
		if name == corev1.ResourceCPU || name == corev1.ResourceRequestsCPU || name == corev1.ResourceLimitsCPU {
			limit.Hard, limit.Used = snapshot.Thousandths(hard), snapshot.Thousandths(used)
		}
		out = append(out, limit)
	}
	slices.SortFunc(out, func(a, b snapshot.QuotaLimit) int { return cmp.Compare(a.Resource, b.Resource) })
	return out
}

// scopesOf returns both forms of scopes as one
// (k8s.io/apiserver v0.37.2 pkg/admission/plugin/resourcequota/controller.go, getScopeSelectorsFromQuota).
func scopesOf(spec *corev1.ResourceQuotaSpec) []corev1.ScopedResourceSelectorRequirement {
	var out []corev1.ScopedResourceSelectorRequirement
	for _, scope := range spec.Scopes {
		out = append(out, corev1.ScopedResourceSelectorRequirement{ScopeName: scope, Operator: corev1.ScopeSelectorOpExists})
	}
	if spec.ScopeSelector != nil {
		out = append(out, spec.ScopeSelector.MatchExpressions...)
	}
	return out
}
