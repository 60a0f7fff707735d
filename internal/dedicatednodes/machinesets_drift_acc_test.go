// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package dedicatednodes_test

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/label"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/toleration"
)

// TestAccDedicatedNodes_machineSetsDrift has somebody change nodes and Machines by hand:
// the next plan tells of it, and the next apply replaces no machine for it.
func TestAccDedicatedNodes_machineSetsDrift(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	tf, i := terraform(t, f.c), newInstance()
	w := fleetWish{"team=a:NoSchedule", "dedicated=gpu"}
	config := f.config(w, map[string]any{"strategy": "surge"})
	apply(t, tf, i, config)
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
		t.Run(name, func(t *testing.T) {
			node := f.Machines()[names[0]].Status.NodeRef.Name
			f.c.EditNode(t.Context(), node, change)
			if name == "the value of the taint" && tf.Plan(t, i, config).Empty {
				t.Fatalf("the plan is empty, and the drift is %v", tf.Attributes(t, i)["drift"])
			}
			apply(t, tf, i, config)
			f.want(w)
		})
	}
	if got := f.Names(); got[0] != names[0] || got[1] != names[1] {
		t.Fatalf("the machines were %v and are %v", names, got)
	}
}

// TestAccDedicatedNodes_machineSetsGone has the MachineSet deleted: the plan says so, and
// what is left can be destroyed.
func TestAccDedicatedNodes_machineSetsGone(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	tf, i := terraform(t, f.c), newInstance()
	config := f.config(fleetWish{"team=a:NoSchedule", "dedicated=gpu"}, map[string]any{"strategy": "in_place"})
	apply(t, tf, i, config)
	f.c.Remove(t, f.Thing)
	wantError(t, tf.Plan(t, i, config).Diagnostics, "Unable to find MachineSet", f.Pool.Name)
	destroy(t, tf, i)
	// Its machines may be there for a while yet, and pods live by the toleration there.
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
}

// TestAccDedicatedNodes_machineSetsLeaveUnreadableRecordsAlone says whose record of labels
// cannot be read, and writes nothing.
func TestAccDedicatedNodes_machineSetsLeaveUnreadableRecordsAlone(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	tf := terraform(t, f.c)
	node := ""
	for _, m := range f.Machines() {
		node = m.Status.NodeRef.Name
	}
	f.c.Patch(t, node, `{"metadata":{"annotations":{"`+label.OwnedAnnotation+`":"not JSON"}}}`)
	config := f.config(fleetWish{"team=a:NoSchedule", "dedicated=gpu"}, map[string]any{"strategy": "in_place"})
	wantError(t, tf.Apply(t, newInstance(), config), node, "cannot be read")
	if got := f.c.Get(t, node).Annotations[label.OwnedAnnotation]; got != "not JSON" {
		t.Fatalf("the record is %q", got)
	}
	if len(f.Labels()) > 0 {
		t.Fatalf("the template has %v", f.Labels())
	}
}

// TestAccDedicatedNodes_renamed renames the resource without a moved block: no taint is
// gone for a moment, and no machine is replaced.
func TestAccDedicatedNodes_renamed(t *testing.T) {
	t.Parallel()
	renamed := func(config string) string { return strings.Replace(config, `" "this"`, `" "that"`, 1) }
	t.Run("machine sets", func(t *testing.T) {
		t.Parallel()
		f := newFleet(t)
		cli := acctest.NewCLI(t)
		evicted := f.c.Evictions(t, f.Namespace)
		w := fleetWish{"team=a:NoExecute", "dedicated=gpu"}
		cli.Write(f.c.Provider(t), f.hcl(w, "surge"))
		cli.MustRun("apply", "-auto-approve", "-input=false")
		names := f.Names()
		bared := f.c.Bared(t, f.Pool.Name, taint.ID{Key: "team", Effect: "NoExecute"})
		cli.Write(f.c.Provider(t), renamed(f.hcl(w, "surge")))
		cli.MustRun("apply", "-auto-approve", "-input=false")
		if got := f.Names(); !slices.Equal(got, names) {
			t.Fatalf("the machines were %v and are %v", names, got)
		}
		if nodes := bared(); len(nodes) > 0 {
			t.Fatalf("nodes were without the taint: %v", nodes)
		}
		f.want(w)
		cli.WantEmptyPlan()
		if names := evicted(); len(names) > 0 {
			t.Fatalf("the taint-eviction controller deleted %v", names)
		}
	})
	t.Run("nodes", func(t *testing.T) {
		t.Parallel()
		c := acctest.Connect(t)
		p := newPool(t, c, "Deployment")
		cli := acctest.NewCLI(t)
		evicted := c.Evictions(t, p.namespace)
		w := wish{taints: "team=a:NoExecute", labels: "dedicated=gpu", workloads: map[string]string{"Deployment": pinned}}
		cli.Write(c.Provider(t), p.hcl(w))
		cli.MustRun("apply", "-auto-approve", "-input=false")
		bared := c.Bared(t, p.name, taint.ID{Key: "team", Effect: "NoExecute"})
		cli.Write(c.Provider(t), renamed(p.hcl(w)))
		cli.MustRun("apply", "-auto-approve", "-input=false")
		if nodes := bared(); len(nodes) > 0 {
			t.Fatalf("nodes were without the taint: %v", nodes)
		}
		p.want(w, "Deployment")
		p.settled("Deployment", w)
		cli.WantEmptyPlan()
		if names := evicted(); len(names) > 0 {
			t.Fatalf("the taint-eviction controller deleted %v", names)
		}
	})
}
