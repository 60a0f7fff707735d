// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package dedicatednodes_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/label"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/toleration"
)

// TestDedicatedNodes_machineSetsDrift has another writer change nodes and Machines by hand:
// the next plan tells of it, and the next apply replaces no machine for it.
func TestDedicatedNodes_machineSetsDrift(t *testing.T) {
	t.Parallel()
	onFake(t, func(t *testing.T, c *acctest.Cluster) {
		f := newFleet(t, c)
		tf, i := terraform(t, f.c), newInstance()
		w := fleetWish{"team=a:NoSchedule", "dedicated=gpu"}
		config := f.config(w, map[string]any{"strategy": "surge"})
		tf.Settle(t, i, config)
		names := f.Names()
		for name, change := range map[string]func(*corev1.Node){
			"the value of the taint": func(n *corev1.Node) {
				for i := range n.Spec.Taints {
					if n.Spec.Taints[i].Key == "team" {
						n.Spec.Taints[i].Value = "stolen"
					}
				}
			},
			"the value of the label": func(n *corev1.Node) { n.Labels["dedicated"] = "stolen" },
		} {
			t.Log(name)
			node := f.Machines()[names[0]].Status.NodeRef.Name
			if err := f.c.EditNode(t.Context(), node, change); err != nil {
				t.Fatal(err)
			}
			if name == "the value of the taint" && tf.Plan(t, i, config).Empty {
				t.Fatalf("the plan is empty, and the drift is %v", tf.Attributes(t, i)["drift"])
			}
			tf.Settle(t, i, config)
			f.want(w)
		}
		if got := f.Names(); got[0] != names[0] || got[1] != names[1] {
			t.Fatalf("the machines were %v and are %v", names, got)
		}
	})
}

// TestDedicatedNodes_machineSetsGone has the MachineSet deleted: the plan says so, and
// what is left can be destroyed.
func TestDedicatedNodes_machineSetsGone(t *testing.T) {
	t.Parallel()
	onFake(t, func(t *testing.T, c *acctest.Cluster) {
		f := newFleet(t, c)
		tf, i := terraform(t, f.c), newInstance()
		config := f.config(fleetWish{"team=a:NoSchedule", "dedicated=gpu"}, map[string]any{"strategy": "in_place"})
		tf.Settle(t, i, config)
		f.c.Remove(t, f.Thing)
		acctest.WantAll(t, tf.Plan(t, i, config).Diagnostics.Errors(), "Unable to find MachineSet", f.Pool.Name)
		tf.Destroy(t, i)
		// Its machines may be there for a while yet, and pods need the toleration there.
		_, annotations := f.c.Template(t, f.Namespace, "Deployment", "web")
		record, err := toleration.ParseRecord(annotations[toleration.OwnedAnnotation])
		if err != nil || annotations[label.OwnedAnnotation] != "" {
			t.Fatalf("web keeps the marks %v (%v)", annotations, err)
		}
		for _, mark := range record {
			if !mark.Retiring {
				t.Fatalf("web keeps the mark %v", mark)
			}
		}
	})
}

// TestDedicatedNodes_machineSetsLeaveUnreadableRecordsAlone says whose record of labels
// cannot be read, and writes no label there.
func TestDedicatedNodes_machineSetsLeaveUnreadableRecordsAlone(t *testing.T) {
	t.Parallel()
	onFake(t, func(t *testing.T, c *acctest.Cluster) {
		f := newFleet(t, c)
		tf := terraform(t, f.c)
		node := ""
		for _, m := range f.Machines() {
			node = m.Status.NodeRef.Name
		}
		f.c.Patch(t, node, `{"metadata":{"annotations":{"`+label.OwnedAnnotation+`":"not JSON"}}}`)
		config := f.config(fleetWish{"team=a:NoSchedule", "dedicated=gpu"}, map[string]any{"strategy": "in_place"})
		d := tf.Apply(t, newInstance(), config)
		if d.Errors() != "" {
			t.Fatal(d.Errors())
		}
		acctest.WantAll(t, d.Warnings(), "No label is written to node \""+node+"\"")
		if n := f.c.Get(t, node); n.Annotations[label.OwnedAnnotation] != "not JSON" || n.Labels["dedicated"] != "" {
			t.Fatalf("the record is %q, and the labels are %v", n.Annotations[label.OwnedAnnotation], n.Labels)
		}
		if f.Labels()["dedicated"] != "gpu" {
			t.Fatalf("the template has %v", f.Labels())
		}
	})
}
