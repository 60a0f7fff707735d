// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package rollout

import (
	"testing"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/workload"
)

// A tenant's workload with a copied id does not hold up taints that wait for another one.
func TestNameable(t *testing.T) {
	t.Parallel()
	web := workload.Ref{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "shop", Name: "web"}
	for id, want := range map[string]bool{
		"terraform/workload_tolerations/Deployment/shop/web/team=a:NoExecute":     true,
		"terraform/workload_tolerations/Deployment/shop/app=web/team=a:NoExecute": true,
		"a/b/workload_tolerations/Deployment/shop/web#spec.tolerations/team=a":    true,
		"terraform/workload_tolerations/Deployment/tenant/web/team=a:NoExecute":   false,
		"terraform/workload_tolerations/Deployment/shopping/web/team=a:NoExecute": false,
		"terraform/workload_tolerations/StatefulSet/shop/web/team=a:NoExecute":    false,
		"terraform/dedicated_nodes/pool=x/team:NoExecute":                         true,
	} {
		if got := nameable(id, web); got != want {
			t.Errorf("%s can name it: %t, want %t", id, got, want)
		}
	}
	dns := workload.Ref{APIVersion: "operator.openshift.io/v1", Kind: "DNS", Name: "default"}
	if !nameable("terraform/workload_tolerations/DNS/default/team=a", dns) || nameable("terraform/workload_tolerations/DNSes/default/team=a", dns) {
		t.Error("an object without a namespace is named by its kind")
	}
}
