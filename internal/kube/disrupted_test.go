// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package kube

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/fakeapi"
)

func TestSnapshot_readsThePodsWhoseEvictionIsGranted(t *testing.T) {
	t.Parallel()
	api := serve(fakeapi.New())
	api.Add(&policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"},
		Spec:       policyv1.PodDisruptionBudgetSpec{Selector: &metav1.LabelSelector{}},
		Status:     policyv1.PodDisruptionBudgetStatus{DisruptedPods: map[string]metav1.Time{"web-1": metav1.Now()}},
	})
	s, err := api.connect(t).Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]bool{"web-1": true}, s.Budgets["shop"][0].Disrupted); diff != "" {
		t.Error(diff)
	}
}
