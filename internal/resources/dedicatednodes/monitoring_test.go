// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package dedicatednodes_test

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/workload"
)

const monitored = "# by hand\nprometheusK8s:\n  retention: 15d # days\n  nodeSelector: {kubernetes.io/os: linux}\n  tolerations:\n  - key: foreign\n    operator: Exists\n"

// monitors makes OpenShift's monitoring with a text, "" for none, and two of its workloads, which may run on
// the nodes of the pool.
func (p *pool) monitors(text string) {
	p.t.Helper()
	if text != "" {
		p.c.WriteConfig(p.t, text)
	}
	namespace := p.c.MonitoringNamespace(p.t)
	p.c.StatefulSet(p.t, namespace, "prometheus-k8s", 2, p.inField)
	p.c.Deployment(p.t, namespace, "prometheus-operator", 1, p.inField)
}

// untaint takes what is foreign off the nodes, and has them run Linux.
func (p *pool) untaint() {
	p.t.Helper()
	for _, node := range append(p.nodes[:len(p.nodes):len(p.nodes)], p.other) {
		p.c.Patch(p.t, node, `{"metadata":{"labels":{"kubernetes.io/os":"linux","node.openshift.io/os_id":"rhcos"}},"spec":{"taints":[]}}`)
	}
}

// monitoring is a configuration that has the ConfigMap among the workloads, pinned.
func (p *pool) monitoring(taints string, more map[string]any) map[string]any {
	p.t.Helper()
	ref := acctest.MonitoringConfig()
	one := acctest.With(map[string]any{"kind": ref.Kind, "namespace": ref.Namespace, "name": ref.Name, "pin": true}, more)
	return acctest.With(p.config(wish{taints: taints, labels: "dedicated=infra"}), map[string]any{"workloads": []any{one}})
}

// TestDedicatedNodes_monitoring moves OpenShift's monitoring to the nodes: they are tainted once its pods are
// there, and after a destroy the text is what it was.
func TestDedicatedNodes_monitoring(t *testing.T) {
	t.Parallel()
	acctest.TooLong(t)
	for name, text := range map[string]string{"written by hand": monitored, "not there": ""} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			acctest.OnFakeWithControllers(t, func(t *testing.T, c *acctest.Cluster) {
				p := newPool(t, c)
				p.untaint()
				p.monitors(text)
				tf, i, begin := terraform(t, c), newInstance(), c.Monitor(t)
				config := p.monitoring("team=a:NoExecute", nil)
				done := make(chan acctest.Diagnostics, 1)
				go func() { done <- tf.Apply(t, i, config) }()
				acctest.Until(t, "all components require the label", func(context.Context) (bool, error) {
					found := c.Config(t)
					return found != nil && strings.Count(found.Data[workload.ConfigKey], "infra-"+p.name) == 9, nil
				})
				for _, node := range p.nodes {
					if taints := c.Taints(t, node); taints != "" {
						t.Fatalf("node %s has the taints %s before the pods tolerate them", node, taints)
					}
				}
				begin()
				if d := <-done; d.Errors() != "" {
					t.Fatal(d.Errors())
				}
				for _, name := range []string{"prometheus-k8s", "prometheus-operator"} {
					p.onlyOn(acctest.Thing{Namespace: acctest.MonitoringConfig().Namespace, Name: name}, p.nodes)
				}
				again := tf.Plan(t, i, config)
				if !again.Empty || len(again.Diagnostics) > 0 {
					t.Fatalf("the plan is empty: %t, and says: %s%s", again.Empty, again.Diagnostics.Errors(), again.Diagnostics.Warnings())
				}
				// A change of the taint, and back.
				tf.Settle(t, i, p.monitoring("team=b:NoExecute", nil))

				imported, d := tf.Import(t, typeName, "selector/pool="+p.name+"/team:NoExecute")
				if d.Errors() != "" {
					t.Fatal(d.Errors())
				}
				if planned := tf.Plan(t, imported, p.monitoring("team=b:NoExecute", nil)); planned.Diagnostics.Errors() != "" || !planned.Empty {
					t.Errorf("the plan of what is imported is empty: %t, and says %s", planned.Empty, planned.Diagnostics.Errors())
				}
				tf.Destroy(t, i)
				got, found := "", c.Config(t)
				if found != nil {
					got = found.Data[workload.ConfigKey]
				}
				if diff := cmp.Diff(text, got); diff != "" || found != nil && (text == "" || len(found.Annotations) > 0) {
					t.Errorf("the ConfigMap is not as it was: %s%v", diff, found)
				}
			}, openShift()...)
		})
	}
}

// TestDedicatedNodes_monitoringTwice has a component by itself and among all, and a pin that another value
// keeps from being written.
func TestDedicatedNodes_monitoringTwice(t *testing.T) {
	t.Parallel()
	onFake(t, func(t *testing.T, c *acctest.Cluster) {
		p := newPool(t, c)
		p.untaint()
		p.monitors("prometheusK8s:\n  nodeSelector:\n    dedicated: web\n")
		tf, config := terraform(t, c), p.monitoring("team=a:NoExecute", nil)
		acctest.WantAll(t, tf.Plan(t, newInstance(), config).Diagnostics.Errors(), `"pin"`, `prometheusK8s of ConfigMap "openshift-monitoring/cluster-monitoring-config": its node selector already requires dedicated=web`)
		one := p.monitoring("team=a:NoExecute", map[string]any{"path": "thanosQuerier.tolerations"})
		config["workloads"] = append(config["workloads"].([]any), one["workloads"].([]any)...)
		acctest.WantAll(t, tf.Plan(t, newInstance(), config).Diagnostics.Errors(), `thanosQuerier of ConfigMap "openshift-monitoring/cluster-monitoring-config" twice`)
	})
}

// TestDedicatedNodes_aDamagedTextOfMonitoringIsNamed at plan and at apply, and nothing is written.
func TestDedicatedNodes_aDamagedTextOfMonitoringIsNamed(t *testing.T) {
	t.Parallel()
	onFake(t, func(t *testing.T, c *acctest.Cluster) {
		p := newPool(t, c)
		p.untaint()
		p.monitors(monitored)
		tf, config := terraform(t, c), p.monitoring("team=a:NoExecute", nil)
		planned := tf.Plan(t, newInstance(), config)
		found := c.Config(t)
		found.Data[workload.ConfigKey] = "prometheusK8s: ["
		if _, err := c.Admin.CoreV1().ConfigMaps(found.Namespace).Update(t.Context(), found, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
		damaged := c.Config(t).ResourceVersion
		for _, errors := range []string{tf.Plan(t, newInstance(), config).Diagnostics.Errors(), tf.Carry(t, newInstance(), planned, config).Errors()} {
			acctest.WantAll(t, errors, `AttributeName("workloads").ElementKeyInt(0)`, "config.yaml cannot be edited", "did not find expected")
		}
		if after := c.Config(t); after.ResourceVersion != damaged {
			t.Errorf("the ConfigMap is written: %v", after)
		}
	})
}
