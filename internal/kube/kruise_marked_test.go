// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package kube

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/fakeapi"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/toleration"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/workload"
)

// Kinds of other groups have the names of Kubernetes' own: rights can name OpenKruise's DaemonSets and Volcano's Jobs,
// and what is marked there is neither Kubernetes' nor left out with its kinds.
func TestMarked_tellsKindsOfTheSameNameApartByTheirGroup(t *testing.T) {
	t.Parallel()
	const tolerations = `[{"key":"team","operator":"Equal","value":"a","effect":"NoExecute","owner":"me","generation":"g1"}]`
	custom := []workload.Kind{
		{APIVersion: "apps.kruise.io/v1beta1", Kind: "DaemonSet", Plural: "daemonsets"},
		{APIVersion: "batch.volcano.sh/v1alpha1", Kind: "Job", Plural: "jobs"},
	}
	var served []fakeapi.Kind
	for _, kind := range custom {
		served = append(served, fakeapi.CustomKind(kind.APIVersion, kind.Kind, kind.Plural))
	}
	api := town(served...)
	api.Add(&appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Namespace: "app", Name: "builtin", UID: "b", Annotations: map[string]string{toleration.OwnedAnnotation: tolerations}}})
	for _, kind := range custom {
		object := &unstructured.Unstructured{}
		object.SetAPIVersion(kind.APIVersion)
		object.SetKind(kind.Kind)
		object.SetNamespace("app")
		object.SetName("custom")
		object.SetAnnotations(map[string]string{toleration.OwnedAnnotation: tolerations})
		api.Add(object)
	}
	want := []workload.Ref{
		{APIVersion: "apps.kruise.io/v1beta1", Kind: "DaemonSet", Namespace: "app", Name: "custom"},
		{APIVersion: "apps/v1", Kind: "DaemonSet", Namespace: "app", Name: "builtin"},
		{APIVersion: "batch.volcano.sh/v1alpha1", Kind: "Job", Namespace: "app", Name: "custom"},
	}
	c := api.connect(t)
	// As if the rights of the credentials had named them.
	if _, err := c.custom.get(t.Context(), func() ([]workload.Kind, error) { return custom, nil }); err != nil {
		t.Fatal(err)
	}
	for name, list := range map[string]func(context.Context) ([]Marked, error){"MarkedAnywhere": c.MarkedAnywhere, "MarkedRolling": c.MarkedRolling} {
		marked, err := list(t.Context())
		if err != nil {
			t.Fatal(name, err)
		}
		var got []workload.Ref
		for _, m := range marked {
			got = append(got, m.Ref)
		}
		slices.SortFunc(got, func(a, b workload.Ref) int { return strings.Compare(a.APIVersion, b.APIVersion) })
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(name, diff)
		}
	}
	// Templates are those of Kubernetes' own, whichever kind is listed last.
	if _, err := c.listControllers(t.Context(), custom[0]); err != nil {
		t.Fatal(err)
	}
	if got := c.daemons(); len(got) != 1 || got["b"] == nil {
		t.Errorf("the templates of %v are kept", got)
	}
}
