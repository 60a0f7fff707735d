// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package faults_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/label"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/fakeapi"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/fakeapi/controllers"
)

// TestDedicatedNodes_aDamagedNodeOfAMachineSetIsSkipped has the kubelet of one node of a MachineSet
// damage the record of its labels: the others get theirs all the same, and the plan names it.
func TestDedicatedNodes_aDamagedNodeOfAMachineSetIsSkipped(t *testing.T) {
	t.Parallel()
	config := func(labels object) map[string]any {
		return object{
			"machine_sets": object{"namespace": "machines", "name": "ms", "rollout": rollouts["in_place"]},
			"taints":       []any{taint("team", "a", "NoSchedule")}, "labels": labels,
		}
	}
	bubble(t, moment{api: fakeapi.New(controllers.MachineAPI...)}, func(t *testing.T, api *fakeapi.Server) {
		pool(api)
		time.Sleep(calm)
		i, tf := acctest.Instance{Type: "kubetaint_dedicated_nodes"}, through(api.Client())
		// apply returns the warnings, and expects that the next plan is empty, or is not.
		apply := func(config map[string]any, settled bool) string {
			t.Helper()
			d := tf.Apply(t, &i, config)
			if d.Errors() != "" {
				t.Fatal(d.Errors())
			}
			time.Sleep(calm)
			if planned := tf.Plan(t, &i, config); planned.Empty != settled {
				t.Errorf("after it a plan is empty: %t", planned.Empty)
			}
			return d.Warnings()
		}
		apply(config(object{"gone": "a", "kept": "a"}), true)
		var nodes []*corev1.Node
		for _, n := range fakeapi.Objects[*corev1.Node](api) {
			if n.Labels["kept"] == "a" {
				nodes = append(nodes, n)
			}
		}
		if len(nodes) != 2 {
			t.Fatalf("%d nodes have the labels", len(nodes))
		}
		annotate := func(value string) {
			fakeapi.Edit(api, "", nodes[0].Name, func(n *corev1.Node) {
				if n.Annotations == nil {
					n.Annotations = map[string]string{}
				}
				n.Annotations[label.OwnedAnnotation] = value
			})
		}
		want := func(damaged, other string) {
			t.Helper()
			for name, want := range map[string]string{nodes[0].Name: damaged, nodes[1].Name: other} {
				for _, n := range fakeapi.Objects[*corev1.Node](api) {
					if got := fmt.Sprintf("gone=%s kept=%s new=%s", n.Labels["gone"], n.Labels["kept"], n.Labels["new"]); n.Name == name && got != want {
						t.Errorf("node %s has %q, want %q", name, got, want)
					}
				}
			}
		}
		annotate("damaged")
		said := apply(config(object{"kept": "b", "new": "a"}), false)
		want("gone=a kept=a new=", "gone= kept=b new=a")
		if !strings.Contains(said, `No label is written to node "`+nodes[0].Name+`": the annotation kubetaint.io/owned-labels is damaged`) {
			t.Errorf("the plan does not name the node: %s", said)
		}
		if d := tf.Apply(t, &i, nil); !strings.Contains(d.Errors(), "kubetaint.io/owned-labels is damaged") || !i.Exists() {
			t.Errorf("a destroy is not refused: %s", d.Errors())
		}
		annotate("")
		apply(config(object{"kept": "b", "new": "a"}), true)
		want("gone= kept=b new=a", "gone= kept=b new=a")
		if d := tf.Apply(t, &i, nil); d.Errors() != "" {
			t.Fatal(d.Errors())
		}
		time.Sleep(calm)
		want("gone= kept= new=", "gone= kept= new=")
	})
}
