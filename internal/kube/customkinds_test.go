// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package kube

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	authorizationv1 "k8s.io/api/authorization/v1"
)

func TestCustomResources_areThoseThatRightsName(t *testing.T) {
	t.Parallel()
	managed := []string{"get", "list", "patch"}
	rule := func(group, resource string, verbs ...string) authorizationv1.ResourceRule {
		return authorizationv1.ResourceRule{APIGroups: []string{group}, Resources: []string{resource}, Verbs: verbs}
	}
	named := rule("example.com", "widgets", managed...)
	named.ResourceNames = []string{"one"}
	for name, tt := range map[string]struct {
		rules []authorizationv1.ResourceRule
		want  []string
	}{
		"a custom resource that is managed by path":          {[]authorizationv1.ResourceRule{rule("example.com", "widgets", managed...)}, []string{"widgets.example.com"}},
		"one that two rules name is there once":              {[]authorizationv1.ResourceRule{rule("example.com", "widgets", managed...), rule("example.com", "widgets", "*")}, []string{"widgets.example.com"}},
		"all verbs are enough":                               {[]authorizationv1.ResourceRule{rule("example.com", "widgets", "*")}, []string{"widgets.example.com"}},
		"what may not be listed cannot be found":             {[]authorizationv1.ResourceRule{rule("example.com", "widgets", "get", "patch")}, nil},
		"what may not be patched has no tolerations of ours": {[]authorizationv1.ResourceRule{rule("example.com", "widgets", "get", "list")}, nil},
		"rights to one object are none to the list":          {[]authorizationv1.ResourceRule{named}, nil},
		"rights to everything name nothing":                  {[]authorizationv1.ResourceRule{rule("*", "*", "*")}, nil},
		"rights to a whole group name nothing":               {[]authorizationv1.ResourceRule{rule("example.com", "*", "*")}, nil},
		"a subresource is no object":                         {[]authorizationv1.ResourceRule{rule("example.com", "widgets/status", managed...)}, nil},
		"Kubernetes' own kinds are looked for without":       {[]authorizationv1.ResourceRule{rule("apps", "deployments", managed...), rule("", "nodes", managed...), rule("networking.k8s.io", "ingresses", managed...)}, nil},
		"OpenShift's kinds are looked for on OpenShift":      {[]authorizationv1.ResourceRule{rule("operator.openshift.io", "ingresscontrollers", managed...)}, nil},
		"another kind of OpenShift's is one like any other":  {[]authorizationv1.ResourceRule{rule("operator.openshift.io", "consoles", managed...)}, []string{"consoles.operator.openshift.io"}},
		"the templates of MachineSets hold taints alone":     {[]authorizationv1.ResourceRule{rule("machine.openshift.io", "machinesets", managed...)}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got []string
			for _, resource := range customResources(tt.rules) {
				got = append(got, resource.String())
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}
