// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package workloadtolerations_test

import (
	"fmt"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
)

// passingDefinition is a kind of a test's own: it is uninstalled in its middle.
const passingDefinition = `{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"%[1]s.%[2]s"},
"spec":{"group":"%[2]s","scope":"Namespaced","names":{"plural":"%[1]s","singular":"passer","kind":"Passer"},
"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object","properties":{
"spec":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}}}}]}}`

// TestAccWorkloadTolerations_aKindThatIsUninstalledIsGone: a refresh drops the state of its
// objects, and a destroy that has not refreshed ends without an error.
func TestAccWorkloadTolerations_aKindThatIsUninstalledIsGone(t *testing.T) {
	t.Parallel()
	s := openShop(t)
	const plural = "passers"
	group := acctest.Name(t, "passing") + ".test"
	s.c.Define(t, schema.GroupVersionResource{Group: group, Version: "v1", Resource: plural}, fmt.Sprintf(passingDefinition, plural, group))
	s.tf = &acctest.Terraform{Provider: s.c.ProviderAt(t, s.c.REST.Host, s.c.TokenAnd(t, rbacv1.PolicyRule{
		APIGroups: []string{group}, Resources: []string{plural}, Verbs: []string{"get", "list", "patch"},
	}))}
	passer := func(name string) acctest.Thing {
		return s.custom(acctest.Thing{APIVersion: group + "/v1", Kind: "Passer", Namespace: s.namespace, Name: name}, map[string]any{"placement": map[string]any{"zone": "a"}})
	}
	refreshed, destroyed, path := s.fresh(), s.fresh(), map[string]any{"path": acctest.WidgetPath}
	s.apply(refreshed, s.manage(passer("one"), "team=a:NoExecute", path))
	s.apply(destroyed, s.manage(passer("two"), "team=a:NoExecute", path))
	planned := s.tf.Plan(t, destroyed, nil)
	s.c.Remove(t, acctest.Thing{APIVersion: "apiextensions.k8s.io/v1", Kind: "CustomResourceDefinition", Name: plural + "." + group})
	s.until("the kind is not served any more", func() bool {
		groups, err := s.c.Admin.Discovery().ServerGroups()
		return err == nil && !strings.Contains(groups.String(), group)
	})
	if d := s.tf.Walk(t).Refresh(refreshed); d.Errors() != "" || refreshed.Exists() {
		t.Errorf("after a refresh the state has it: %t, and says: %s", refreshed.Exists(), d.Errors())
	}
	if d := s.tf.Carry(t, destroyed, planned, nil); d.Errors() != "" || destroyed.Exists() {
		t.Errorf("after a destroy the state has it: %t, and says: %s", destroyed.Exists(), d.Errors())
	}
}
