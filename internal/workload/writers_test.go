// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package workload

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestObserve_namesOtherWriters(t *testing.T) {
	t.Parallel()
	const list = `"fieldsV1":{"f:spec":{"f:template":{"f:spec":{"f:tolerations":{}}}}}`
	field := func(manager, operation, fields string) string {
		return `{"managedFields":[{"apiVersion":"apps/v1","fieldsType":"FieldsV1","manager":"` + manager + `","operation":"` + operation + `",` + fields + `}]}`
	}
	tests := []struct {
		name, metadata string
		want           []string
	}{
		{name: "no other writer", metadata: `{}`},
		{name: "Helm's label", metadata: `{"labels":{"app.kubernetes.io/managed-by":"Helm"}}`, want: []string{"Helm"}},
		{name: "Helm's annotation", metadata: `{"annotations":{"meta.helm.sh/release-name":"shop"}}`, want: []string{"Helm"}},
		{name: "the label of an unknown writer", metadata: `{"labels":{"app.kubernetes.io/managed-by":"hand"}}`},
		{name: "Argo CD's annotation", metadata: `{"annotations":{"argocd.argoproj.io/tracking-id":"shop:apps/Deployment:shop/web"}}`, want: []string{"Argo CD"}},
		{name: "Argo CD's label", metadata: `{"labels":{"argocd.argoproj.io/instance":"shop"}}`, want: []string{"Argo CD"}},
		{name: "the label that Argo CD shares with all writers", metadata: `{"labels":{"app.kubernetes.io/instance":"shop"}}`},
		{name: "Flux by a kustomization", metadata: `{"labels":{"kustomize.toolkit.fluxcd.io/name":"shop"}}`, want: []string{"Flux"}},
		{name: "Flux by a release, which is one of Helm too", metadata: `{"labels":{"helm.toolkit.fluxcd.io/name":"shop","app.kubernetes.io/managed-by":"Helm"}}`, want: []string{"Flux", "Helm"}},
		{name: "the Operator Lifecycle Manager", metadata: `{"labels":{"olm.owner":"shop.v1"}}`, want: []string{"the Operator Lifecycle Manager"}},
		{name: "a manager of the list is named as readers know it", metadata: field("kubectl-client-side-apply", "Update", list), want: []string{"kubectl apply"}},
		{name: "kubectl's server-side apply", metadata: field("kubectl", "Apply", list), want: []string{"kubectl apply --server-side"}},
		{name: "Helm by its writes", metadata: field("helm", "Update", list), want: []string{"Helm"}},
		{name: "Helm in Terraform by its writes", metadata: field("terraform-provider-helm_v2.13.0_x5", "Update", list), want: []string{"Helm"}},
		{name: "Flux's Helm by its writes", metadata: field("helm-controller", "Update", list), want: []string{"Flux"}},
		{name: "kubectl edit, which no configuration stands behind, is not one that comes back", metadata: field("kubectl-edit", "Update", list)},
		{name: "Argo CD by its writes without server-side apply", metadata: field("argocd-controller", "Update", list), want: []string{"Argo CD"}},
		{name: "Argo CD by its replacements", metadata: field("argocd-application-controller", "Update", list), want: []string{"Argo CD"}},
		{name: "Argo CD by its writes", metadata: field("argocd-controller", "Apply", list), want: []string{"Argo CD"}},
		{name: "Flux by its writes", metadata: field("kustomize-controller", "Apply", list), want: []string{"Flux"}},
		{name: "hashicorp/kubernetes by its writes", metadata: field("HashiCorp", "Update", list), want: []string{"hashicorp/kubernetes"}},
		{name: "kubernetes_manifest by its writes", metadata: field("Terraform", "Apply", list), want: []string{"hashicorp/kubernetes"}},
		{name: "an unknown manager is named as it calls itself", metadata: field("shop-operator", "Update", list), want: []string{"shop-operator"}},
		{name: "our own manager is no other", metadata: field("terraform-provider-kubetaint", "Update", list)},
		{name: "a manager of the objects on the way alone", metadata: field("shop-operator", "Update", `"fieldsV1":{"f:spec":{"f:template":{"f:spec":{".":{},"f:nodeSelector":{}}}}}`)},
		{name: "a manager of something else", metadata: field("hpa", "Update", `"fieldsV1":{"f:spec":{"f:replicas":{}}}`)},
		{name: "a manager of a list with that name elsewhere", metadata: field("shop-operator", "Update", `"fieldsV1":{"f:tolerations":{},"f:spec":{"f:tolerations":{}}}`)},
		{name: "a manager of nothing", metadata: field("shop-operator", "Update", `"fieldsV1":{}`)},
		{
			name: "all writers once, sorted",
			metadata: `{"labels":{"app.kubernetes.io/managed-by":"Helm"},"annotations":{"meta.helm.sh/release-name":"shop"},"managedFields":[` +
				`{"manager":"zoo","operation":"Update","fieldsType":"FieldsV1",` + list + `},{"manager":"helm","operation":"Update","fieldsType":"FieldsV1",` + list + `},` +
				`{"manager":"helm","operation":"Apply","fieldsType":"FieldsV1",` + list + `},{"manager":"empty","operation":"Update"}]}`,
			want: []string{"Helm", "zoo"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := observe(t, object(t, "apps/v1", "Deployment", `{"metadata":`+tt.metadata+`,"spec":{}}`))
			if diff := cmp.Diff(tt.want, w.Writers, cmpopts.EquateEmpty()); diff != "" {
				t.Error(diff)
			}
		})
	}
}
