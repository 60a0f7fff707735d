// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package rollout

import (
	"strings"
	"testing"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/kube"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/workload"
)

// A tenant's workload with a copied id does not hold up taints that wait for another one, nor
// does its neighbour in the namespace.
func TestNameable(t *testing.T) {
	t.Parallel()
	web := kube.Marked{Ref: workload.Ref{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "shop", Name: "web"}, Labels: map[string]string{"app": "web", "example.com/tier": "front", "gpu": ""}}
	for target, want := range map[string]bool{
		"Deployment/shop/web/team=a:NoExecute":                               true,
		"Deployment/shop/web#spec.tolerations/team=a":                        true,
		"Deployment/shop/web/":                                               true,
		"Deployment/shop/db/team=a:NoExecute":                                false,
		"Deployment/shop/web-2/team=a:NoExecute":                             false,
		"Deployment/shop/we/team=a:NoExecute":                                false,
		"Deployment/shop/db/app=web":                                         false,
		"Deployment/tenant/web/team=a:NoExecute":                             false,
		"Deployment/shopping/web/team=a:NoExecute":                           false,
		"StatefulSet/shop/web/team=a:NoExecute":                              false,
		"Deployment/shop/app=web/team=a:NoExecute":                           true,
		"Deployment/shop/app=web#spec.tolerations/team=a:NoExecute":          true,
		"Deployment/shop/app=db/team=a:NoExecute":                            false,
		"Deployment/shop/example.com/tier=front/team=a:NoExecute":            true,
		"Deployment/shop/example.com/tier=back/team=a:NoExecute":             false,
		"Deployment/shop/app in (db,web),example.com/tier/example.com/a:b":   true,
		"Deployment/shop/app in (db,cache),example.com/tier/example.com/a:b": false,
		"Deployment/shop/gpu/team=a:NoExecute":                               true,
		"Deployment/shop/!gpu/team=a:NoExecute":                              false,
	} {
		for _, owner := range []string{"terraform", "a/b"} {
			if id := owner + "/workload_tolerations/" + target; nameable(id, web) != want {
				t.Errorf("%s can name it: %t, want %t", id, !want, want)
			}
		}
	}
	if !nameable("terraform/dedicated_nodes/pool=x/team:NoExecute", web) {
		t.Error("the id of another type names its nodes alone, and may have any workload")
	}
	if nameable("terraform/namespace_tolerations/shop/team=a", web) {
		t.Error("a resource that gives nothing to workloads names one")
	}
	dns := kube.Marked{Ref: workload.Ref{APIVersion: "operator.openshift.io/v1", Kind: "DNS", Name: "default"}}
	for _, other := range []string{"DNSes/default", "DNS/other"} {
		if nameable("terraform/workload_tolerations/"+other+"/team=a", dns) || !nameable("terraform/workload_tolerations/DNS/default/team=a", dns) {
			t.Error("an object without a namespace is named by its kind and its name")
		}
	}
	// Several groups may have kinds of one name. Ids of builds before there were groups in them have a
	// path wherever the kind is not known.
	agent := kube.Marked{Ref: workload.Ref{APIVersion: "apps.kruise.io/v1beta1", Kind: "DaemonSet", Namespace: "shop", Name: "agent"}, Labels: map[string]string{"app": "agent"}}
	for target, want := range map[string]bool{
		"DaemonSet.apps.kruise.io/shop/agent#spec.tolerations/team=a":     true,
		"DaemonSet.apps.kruise.io/shop/app=agent#spec.tolerations/team=a": true,
		"DaemonSet/shop/agent#spec.tolerations/team=a":                    true,
		"DaemonSet/shop/app=agent#spec.tolerations/team=a":                true,
		"DaemonSet/shop/agent/team=a":                                     false,
		"DaemonSet/shop/app=agent/team=a":                                 false,
		"DaemonSet.apps.example.com/shop/agent#spec.tolerations/team=a":   false,
		"DaemonSet.apps.kruise.io/shop/other#spec.tolerations/team=a":     false,
	} {
		if nameable("terraform/workload_tolerations/"+target, agent) != want {
			t.Errorf("%s can name an object of another group: %t, want %t", target, !want, want)
		}
	}
	// A label may be called as a kind is.
	called := web
	called.Labels = map[string]string{"StatefulSet": "", "Deployment": ""}
	if nameable("terraform/workload_tolerations/StatefulSet/shop/web/team=a", called) || nameable("terraform/workload_tolerations/Deployment/tenant/web/team=a", called) {
		t.Error("an id of another kind or namespace names it by a label")
	}
	// Only its length is the point.
	if nameable("terraform/workload_tolerations/Deployment/shop/"+strings.Repeat("x/", 500), web) {
		t.Error("a long id names it")
	}
}

func TestNamed(t *testing.T) {
	t.Parallel()
	for id, want := range map[string]string{
		"terraform/workload_tolerations/Deployment/shop/web/team=a:NoExecute":                             "Deployment/shop/web",
		"terraform/workload_tolerations/Deployment/shop/web":                                              "Deployment/shop/web",
		"terraform/workload_tolerations/IngressController/openshift-ingress-operator/default/a:NoExecute": "IngressController/openshift-ingress-operator/default",
		"terraform/workload_tolerations/Deployment/shop/app=web/team=a:NoExecute":                         "",
		"terraform/workload_tolerations/Deployment/shop/web#spec.tolerations/team=a:NoExecute":            "",
		"terraform/workload_tolerations/Widget.example.com/shop/web#spec.tolerations/a:NoExecute":         "",
		"terraform/workload_tolerations/Deployment/shop":                                                  "",
		"terraform/toleration_policy/payments":                                                            "",
		"terraform/dedicated_nodes/node/a/team:NoExecute":                                                 "",
		"kubetaint_workload_tolerations.web":                                                              "",
	} {
		ref, path, named := Named(id)
		if named != (want != "") || named && (ref.String() != want || len(path) == 0) {
			t.Errorf("%s names %s (%t), want %q", id, ref, named, want)
		}
	}
}
