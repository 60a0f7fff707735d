// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package workloadtolerations_test

import (
	"fmt"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
)

const (
	widgetGroup = "test.kubetaint.io"
	widgetPath  = "spec.placement.tolerations"
)

// noPods are rights to workloads without any to pods.
var noPods = []rbacv1.PolicyRule{
	{APIGroups: []string{""}, Resources: []string{"namespaces"}, Verbs: []string{"get"}},
	{APIGroups: []string{""}, Resources: []string{"nodes"}, Verbs: []string{"get", "list", "watch"}},
	{APIGroups: []string{"apps"}, Resources: []string{"deployments", "replicasets"}, Verbs: []string{"get", "list", "patch"}},
}

// widgetRights are what a user adds to the documented role for custom resources
// that are managed by path.
var widgetRights = []rbacv1.PolicyRule{{APIGroups: []string{widgetGroup}, Resources: []string{"widgets", "gadgets"}, Verbs: []string{"get", "list", "patch"}}}

// widgetDefinition is a custom resource definition that knows a list of
// tolerations, and drops every field that it does not know.
const widgetDefinition = `{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"%[1]ss.test.kubetaint.io"},
"spec":{"group":"test.kubetaint.io","scope":"%[3]s","names":{"plural":"%[1]ss","singular":"%[1]s","kind":"%[2]s"},
"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object","properties":{"spec":{"type":"object","properties":{
"size":{"type":"integer"},
"placement":{"type":"object","properties":{"zone":{"type":"string"},"tolerations":{"type":"array","items":{"type":"object","properties":{
"key":{"type":"string"},"operator":{"type":"string"},"value":{"type":"string"},"effect":{"type":"string"},"tolerationSeconds":{"type":"integer","format":"int64"}}}}}}}}}}}}]}}`

func (s *shop) define(singular, kind, scope string) {
	s.t.Helper()
	s.c.Define(s.t, schema.GroupVersionResource{Group: widgetGroup, Version: "v1", Resource: singular + "s"}, fmt.Sprintf(widgetDefinition, singular, kind, scope))
}

// widget makes an object of a custom kind.
func (s *shop) widget(name string, spec map[string]any) acctest.Thing {
	s.t.Helper()
	s.define("widget", "Widget", "Namespaced")
	return s.custom(acctest.Thing{APIVersion: widgetGroup + "/v1", Kind: "Widget", Namespace: s.namespace, Name: name}, spec)
}

// gadget makes an object of a custom kind without a namespace, named after the
// shop.
func (s *shop) gadget(spec map[string]any) acctest.Thing {
	s.t.Helper()
	s.define("gadget", "Gadget", "Cluster")
	return s.custom(acctest.Thing{APIVersion: widgetGroup + "/v1", Kind: "Gadget", Name: s.namespace}, spec)
}

func (s *shop) custom(thing acctest.Thing, spec map[string]any) acctest.Thing {
	s.t.Helper()
	if spec == nil {
		spec = map[string]any{"size": 3}
	}
	s.c.Make(s.t, thing, map[string]any{"spec": spec, "metadata": map[string]any{"labels": map[string]any{"app": thing.Name}}})
	return thing
}
