// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package acctest

import (
	"context"
	"sync"
	"testing"

	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// Budget makes a PodDisruptionBudget that allows no eviction of an app's pods, and waits
// until it counts. It is deleted when the test ends, or by the returned function.
func (c *Cluster) Budget(t testing.TB, namespace, name, app string) (remove func()) {
	t.Helper()
	none, budgets := intstr.FromInt32(0), c.Admin.PolicyV1().PodDisruptionBudgets(namespace)
	_, err := budgets.Create(t.Context(), &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: policyv1.PodDisruptionBudgetSpec{
		MaxUnavailable: &none, Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}},
	}}, metav1.CreateOptions{})
	must(t, err)
	remove = sync.OnceFunc(func() {
		if err := budgets.Delete(context.Background(), name, metav1.DeleteOptions{}); err != nil {
			t.Errorf("deleting the PodDisruptionBudget %s: %v", name, err)
		}
	})
	t.Cleanup(remove)
	Until(t, "the PodDisruptionBudget "+name+" counts", func(ctx context.Context) (bool, error) {
		b, err := budgets.Get(ctx, name, metav1.GetOptions{})
		// Of pods without a controller none are expected.
		return err == nil && b.Status.ObservedGeneration >= b.Generation && b.Status.ExpectedPods+b.Status.CurrentHealthy > 0, nil
	})
	return remove
}
