// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package kube

import (
	"math"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
)

func quantities(pairs ...string) corev1.ResourceList {
	out := corev1.ResourceList{}
	for i := 0; i < len(pairs); i += 2 {
		out[corev1.ResourceName(pairs[i])] = resource.MustParse(pairs[i+1])
	}
	return out
}

func TestSnapshot_keepsOfResourceQuotasWhatLimitsPods(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		api := town()
		class := corev1.ScopedResourceSelectorRequirement{ScopeName: corev1.ResourceQuotaScopePriorityClass, Operator: corev1.ScopeSelectorOpIn, Values: []string{"high"}}
		for name, status := range map[string]corev1.ResourceQuotaStatus{
			"services": {Hard: quantities("services", "1", "requests.storage", "1Gi", "count/deployments.apps", "1"), Used: quantities("services", "1")},
			"compute": {
				Hard: quantities("requests.cpu", "1500m", "pods", "3", "requests.example.com/gpu", "2", "limits.memory", "1Gi", "secrets", "1"),
				Used: quantities("requests.cpu", "2", "pods", "1", "limits.memory", "1Ki"),
			},
			"new": {},
		} {
			api.Add(&corev1.ResourceQuota{
				ObjectMeta: metav1.ObjectMeta{Namespace: "app", Name: name}, Status: status,
				Spec: corev1.ResourceQuotaSpec{
					Scopes:        []corev1.ResourceQuotaScope{corev1.ResourceQuotaScopeNotBestEffort},
					ScopeSelector: &corev1.ScopeSelector{MatchExpressions: []corev1.ScopedResourceSelectorRequirement{class}},
				},
			})
		}
		s, err := recreating(t, api.connect(t))
		if err != nil {
			t.Fatal(err)
		}
		want := snapshot.Quotas{"app": {{
			Name:   "compute",
			Scopes: []corev1.ScopedResourceSelectorRequirement{{ScopeName: corev1.ResourceQuotaScopeNotBestEffort, Operator: corev1.ScopeSelectorOpExists}, class},
			Limits: []snapshot.QuotaLimit{
				{Resource: "limits.memory", Hard: 1 << 30, Used: 1 << 10}, {Resource: "pods", Hard: 3, Used: 1},
				{Resource: "requests.cpu", Hard: 1500, Used: 2000}, {Resource: "requests.example.com/gpu", Hard: 2},
			},
		}}}
		if diff := cmp.Diff(want, s.Quotas); diff != "" {
			t.Error(diff)
		}
	})
}

// Users write such amounts for "no limit": thousandths of them are more than an int64 holds.
func TestLimitsOf_aHugeResourceQuotaIsNotExceeded(t *testing.T) {
	t.Parallel()
	for _, hard := range []string{"10P", "100P", "9223372036854775807", "10E", "1e18", "99999999999999999999"} {
		for _, name := range []corev1.ResourceName{"requests.cpu", "limits.cpu", "cpu", "memory", "pods", "requests.example.com/gpu"} {
			limits := limitsOf(&corev1.ResourceQuotaStatus{Hard: quantities(string(name), hard), Used: quantities(string(name), "3")})
			if len(limits) != 1 || limits[0].Exceeded() || limits[0].Hard-limits[0].Used < 1e15 || limits[0].Hard > math.MaxInt64/100 {
				t.Errorf("%s of %s: %v", hard, name, limits)
			}
		}
	}
}

func TestSnapshot_withoutPermissionToListResourceQuotasHasNone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		api := town()
		api.fault = onLists(403, "resourcequotas")
		s, err := recreating(t, api.connect(t))
		if err != nil || s.Quotas != nil || len(s.Gaps) > 0 {
			t.Errorf("got %v, quotas %v, gaps %q", err, s.Quotas, s.Gaps)
		}
	})
}
