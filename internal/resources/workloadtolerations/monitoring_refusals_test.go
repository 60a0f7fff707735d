// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package workloadtolerations_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/toleration"
)

func TestMonitoring_refusals(t *testing.T) {
	t.Parallel()
	other := func(namespace, name string) map[string]any {
		return map[string]any{"workload": map[string]any{"kind": "ConfigMap", "namespace": namespace, "name": name}}
	}
	for name, tt := range map[string]struct {
		text string
		more map[string]any
		want []string
	}{
		"another ConfigMap": {byHand, other("openshift-monitoring", "other"), []string{
			`[AttributeName("workload")] Unable to find tolerations in ConfigMap "openshift-monitoring/other"`, "openshift-user-workload-monitoring/user-workload-monitoring-config",
		}},
		"a ConfigMap of another namespace": {byHand, other("shop", "cluster-monitoring-config"), []string{`Unable to find tolerations in ConfigMap "shop/cluster-monitoring-config"`}},
		"a selector":                       {byHand, map[string]any{"workload": map[string]any{"kind": "ConfigMap", "namespace": "openshift-monitoring", "selector": "a=b"}}, []string{"Unable to find tolerations in ConfigMap"}},
		"a component that has no tolerations": {byHand, component("nodeExporter"), []string{
			`[AttributeName("path")] Unable to find the component "nodeExporter.tolerations" of ConfigMap`, "alertmanagerMain.tolerations, k8sPrometheusAdapter.tolerations",
		}},
		"a component without its list": {byHand, map[string]any{"path": "prometheusK8s.nodeSelector"}, []string{`Unable to find the component "prometheusK8s.nodeSelector"`}},
		"a text that is damaged": {"prometheusK8s: [", nil, []string{
			`[AttributeName("workload")] Unable to`, "config.yaml cannot be edited", "did not find expected", "Nothing has been written", "kubectl edit configmap cluster-monitoring-config -n openshift-monitoring",
		}},
		"a list that is none":         {"prometheusK8s:\n  tolerations: 1\n", component("prometheusK8s"), []string{"config.yaml cannot be edited", "prometheusK8s.tolerations", "is not a list"}},
		"a list that others share":    {"prometheusK8s:\n  tolerations: &a\n  - key: x\nthanosQuerier:\n  tolerations: *a\n", component("prometheusK8s"), []string{"config.yaml cannot be edited", "line 2: an anchor", "write it out"}},
		"a field that no entry has":   {"prometheusK8s:\n  tolerations:\n  - kye: x\n", component("prometheusK8s"), []string{"config.yaml cannot be edited", "kye"}},
		"a component that is no map":  {"prometheusK8s: on\n", component("prometheusK8s"), []string{"config.yaml cannot be edited", "prometheusK8s is not a mapping"}},
		"a text of several documents": {"a: 1\n---\nb: 1\n", component("prometheusK8s"), []string{"more than one document"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inMonitoring(t, tt.text, func(t *testing.T, s *shop, _ func()) {
				s.refused(s.fresh(), s.monitoring("team=a:NoExecute", tt.more), tt.want...)
				if d := s.tf.Apply(t, s.fresh(), s.monitoring("team=a:NoExecute", tt.more)); d.Errors() == "" {
					t.Fatal("it is applied")
				}
				if s.text() != tt.text || len(s.c.Config(t).Annotations) > 0 {
					t.Fatalf("the ConfigMap has become %q with %v", s.text(), s.c.Config(t).Annotations)
				}
			})
		})
	}
}

// TestMonitoring_withoutItsNamespaceNothingIsCreated is so where there is no monitoring of OpenShift's.
func TestMonitoring_withoutItsNamespaceNothingIsCreated(t *testing.T) {
	t.Parallel()
	inShop(t, func(t *testing.T, s *shop) {
		s.refused(s.fresh(), s.monitoring("team=a:NoExecute", nil), "Unable to find alertmanagerMain of ConfigMap", "no such object among its namespaces")
	})
}

// TestMonitoring_aDamagedRecordIsNamed, with the component that it is of.
func TestMonitoring_aDamagedRecordIsNamed(t *testing.T) {
	t.Parallel()
	inMonitoring(t, byHand, func(t *testing.T, s *shop, _ func()) {
		found := s.c.Config(t)
		found.Annotations = map[string]string{toleration.OwnedAnnotation + ".thanosQuerier": "["}
		if _, err := s.c.Admin.CoreV1().ConfigMaps(found.Namespace).Update(t.Context(), found, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
		s.refused(s.fresh(), s.monitoring("team=a:NoExecute", nil), "who owns the tolerations of thanosQuerier of ConfigMap", "kubetaint.io/owned-tolerations.thanosQuerier is damaged",
			"kubectl annotate configmap cluster-monitoring-config -n openshift-monitoring kubetaint.io/owned-tolerations.thanosQuerier-")
	})
}

// TestMonitoring_whatRetiresGoesWithTheTaint, in another run that knows nothing of the ConfigMap.
func TestMonitoring_whatRetiresGoesWithTheTaint(t *testing.T) {
	t.Parallel()
	inMonitoring(t, byHand, func(t *testing.T, s *shop, begin func()) {
		begin()
		s.c.Patch(t, s.pool, `{"metadata":{"labels":{"node.openshift.io/os_id":"rhcos"}}}`)
		i := s.fresh()
		s.apply(i, s.monitoring("team=a:NoExecute", nil))
		taints := &acctest.Instance{Type: "kubetaint_node_taints"}
		if d := s.tf.Apply(t, taints, map[string]any{"node_name": s.pool, "taints": acctest.Objects(t, "team=a:NoExecute")}); d.Errors() != "" {
			t.Fatal(d.Errors())
		}
		s.together(i, taints)
		says(t, "warning", s.destroy(i).Warnings(), "stays for now: team=a:NoExecute", "prometheusK8s of ConfigMap")
		if diff := cmp.Diff([]string{"prometheusK8s", "prometheusOperator", "thanosQuerier"}, s.marks()); diff != "" {
			t.Fatalf("those without pods need none: %s", diff)
		}
		s.tf = &acctest.Terraform{Provider: s.c.Provider(t)}
		if d := s.tf.Apply(t, taints, nil); d.Errors() != "" {
			t.Fatal(d.Errors())
		}
		if diff := cmp.Diff(byHand, s.text()); diff != "" || len(s.c.Config(t).Annotations) > 0 {
			t.Fatalf("the ConfigMap is not as it was: %s%v", diff, s.c.Config(t).Annotations)
		}
	})
}

// TestMonitoring_import imports the entries of all components by their records.
func TestMonitoring_import(t *testing.T) {
	t.Parallel()
	inMonitoring(t, byHand, func(t *testing.T, s *shop, begin func()) {
		begin()
		config := s.monitoring("team=a:NoExecute", nil)
		s.apply(s.fresh(), config)
		again, d := s.tf.Import(t, "kubetaint_workload_tolerations", "ConfigMap/openshift-monitoring/cluster-monitoring-config")
		if d.Errors() != "" {
			t.Fatal(d.Errors())
		}
		s.quiet(again, config)
		s.destroy(again)
		if diff := cmp.Diff(byHand, s.text()); diff != "" {
			t.Fatal(diff)
		}
	})
}

// TestMonitoring_rights plans with the role for plans, and applies without the rights to create and delete
// where the ConfigMap exists.
func TestMonitoring_rights(t *testing.T) {
	t.Parallel()
	with := func(s *shop, rules []rbacv1.PolicyRule) *acctest.Terraform {
		return &acctest.Terraform{Provider: s.c.ProviderAt(s.t, s.c.REST.Host, s.c.TokenWith(s.t, rules...))}
	}
	for name, text := range map[string]string{"the ConfigMap exists": byHand, "it does not": ""} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inMonitoring(t, text, func(t *testing.T, s *shop, begin func()) {
				begin()
				config := s.monitoring("team=a:NoExecute", component("thanosQuerier"))
				planned := with(s, acctest.RightsToPlan(t)).Plan(t, s.fresh(), config)
				if planned.Empty || planned.Diagnostics.Errors() != "" || strings.Contains(planned.Diagnostics.Warnings(), "Unable to preview") {
					t.Fatalf("the plan is empty: %t, and says %s%s", planned.Empty, planned.Diagnostics.Errors(), planned.Diagnostics.Warnings())
				}
				tf, i := with(s, acctest.Without(s.c.Rights(t), "configmaps", "create", "delete")), s.fresh()
				d := tf.Apply(t, i, config)
				if text == "" {
					says(t, "error", d.Errors(), "The credentials have no permission for this request", `cannot create resource "configmaps"`)
					return
				}
				if d.Errors() != "" {
					t.Fatal(d.Errors())
				}
				tf.Destroy(t, i)
			})
		})
	}
}
