// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package dedicatednodes_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
)

// TestDedicatedNodes_importIsInSyncWithAnyWording of workloads and of a policy: defaults that are written,
// and another order, are no change.
func TestDedicatedNodes_importIsInSyncWithAnyWording(t *testing.T) {
	t.Parallel()
	onFake(t, func(t *testing.T, c *acctest.Cluster) {
		p := newPool(t, c, "StatefulSet", "Deployment")
		config := func(admission map[string]any, workloads ...map[string]any) map[string]any {
			var list []any
			for _, one := range workloads {
				list = append(list, acctest.With(map[string]any{"namespace": p.namespace}, one))
			}
			return acctest.With(p.config(wish{taints: "team=a:NoExecute", labels: "dedicated=gpu"}), map[string]any{"workloads": list, "admission": p.admitting(p.name, admission)})
		}
		statefulSet, deployment := map[string]any{"kind": "StatefulSet", "name": "statefulset"}, map[string]any{"kind": "Deployment", "name": "deployment"}
		wordy := func(one map[string]any) map[string]any {
			return acctest.With(one, map[string]any{"api_version": "apps/v1", "pin": false, "path": "spec.template.spec.tolerations"})
		}
		tf, i := terraform(t, c), newInstance()
		tf.Settle(t, i, config(nil, deployment, statefulSet))
		imported, d := tf.ImportAgain(t, i)
		if d.Errors() != "" {
			t.Fatal(d.Errors())
		}
		for _, tt := range []struct {
			name   string
			config map[string]any
			empty  bool
		}{
			{"another order", config(nil, statefulSet, deployment), true},
			{"defaults of workloads", config(nil, wordy(deployment), wordy(statefulSet)), true},
			{"defaults in another order", config(nil, wordy(statefulSet), wordy(deployment)), true},
			{"defaults of the policy", config(map[string]any{"pin": false, "failure_policy": "Ignore"}, deployment, statefulSet), true},
			{"a workload less", config(nil, deployment), false},
			{"a pin", config(nil, deployment, acctest.With(statefulSet, map[string]any{"pin": true})), false},
			{"seconds", config(nil, deployment, acctest.With(statefulSet, map[string]any{"toleration_seconds": 5})), false},
			{"a pin of the policy", config(map[string]any{"pin": true}, deployment, statefulSet), false},
			{"seconds of the policy", config(map[string]any{"toleration_seconds": 5}, deployment, statefulSet), false},
			{"another failure policy", config(map[string]any{"failure_policy": "Fail"}, deployment, statefulSet), false},
		} {
			if planned := tf.Plan(t, imported, tt.config); planned.Empty != tt.empty || planned.Replace || planned.Diagnostics.Errors() != "" {
				t.Errorf("%s: the plan is empty: %t, want %t; replaces: %t; %s", tt.name, planned.Empty, tt.empty, planned.Replace, planned.Diagnostics.Errors())
			}
		}
		tf.Settle(t, imported, config(nil, wordy(statefulSet), wordy(deployment)))
		tf.Destroy(t, imported)
	})
}

// TestDedicatedNodes_importOfMachineSetsIsInSyncWithAnyWording: the usual namespace may be left out.
func TestDedicatedNodes_importOfMachineSetsIsInSyncWithAnyWording(t *testing.T) {
	t.Parallel()
	onFake(t, func(t *testing.T, c *acctest.Cluster) {
		c.NeedMachines(t)
		if _, err := c.Admin.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "openshift-machine-api"}}, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		pool := c.MachineSet(t, acctest.MachineSet{Namespace: "openshift-machine-api", Name: acctest.Name(t, "ms"), Replicas: 1, Taints: "team=a:NoSchedule"})
		tf := terraform(t, c)
		i, d := tf.Import(t, typeName, "machine_sets/openshift-machine-api/"+pool.Name+"/team:NoSchedule")
		if d.Errors() != "" {
			t.Fatal(d.Errors())
		}
		for _, tt := range []struct {
			name  string
			sets  map[string]any
			empty bool
		}{
			{"the namespace is left out", map[string]any{"name": pool.Name, "rollout": map[string]any{"strategy": "template_only"}}, true},
			{"another strategy", map[string]any{"name": pool.Name, "rollout": map[string]any{"strategy": "surge"}}, false},
			{"a selector of the name", map[string]any{"selector": pool.Name, "rollout": map[string]any{"strategy": "template_only"}}, false},
		} {
			config := map[string]any{"machine_sets": tt.sets, "taints": acctest.Objects(t, "team=a:NoSchedule")}
			if planned := tf.Plan(t, i, config); planned.Empty != tt.empty || tt.empty && planned.Replace {
				t.Errorf("%s: the plan is empty: %t, want %t; replaces: %t; %s", tt.name, planned.Empty, tt.empty, planned.Replace, planned.Diagnostics.Errors())
			}
		}
	})
}
