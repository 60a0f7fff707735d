// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package machinesettaints_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
)

// TestAccMachineSetTaints_removalGoesFromTheTemplateToTheNodesAndHolds: nodelink puts back
// on a node what its Machine has, whenever the node changes.
func TestAccMachineSetTaints_removalGoesFromTheTemplateToTheNodesAndHolds(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	p, i := s.pool(2, nil), newInstance()
	s.apply(i, s.config(p.Name, "team=a:NoSchedule", map[string]any{"strategy": "in_place"}))
	proxy := s.c.Proxy(t)
	proxy.InTurn()
	var written []string
	proxy.After(func(r acctest.Request) {
		if r.Written() {
			written = append(written, r.Base())
		}
	})
	tf := &acctest.Terraform{Provider: proxy.Provider(t, s.c)}
	if d := tf.Apply(t, i, nil); d.Errors() != "" {
		t.Fatal(d.Errors())
	}
	proxy.After(nil)
	if len(written) < 5 || written[0] != p.Name {
		t.Fatalf("written were %v, and %s has to be first", written, p.Name)
	}
	for name, m := range p.Machines() {
		machine, node := slices.Index(written, name), slices.Index(written, m.Status.NodeRef.Name)
		if machine < 0 || node < machine {
			t.Fatalf("machine %s and its node %s were written in the order %v", name, m.Status.NodeRef.Name, written)
		}
		// nodelink looks at the node, and brings it what it lacks of its Machine.
		if err := s.c.EditNode(t.Context(), m.Status.NodeRef.Name, func(n *corev1.Node) {
			n.Spec.Taints = slices.DeleteFunc(n.Spec.Taints, func(one corev1.Taint) bool { return one.Key == "vendor" })
		}); err != nil {
			t.Fatal(err)
		}
	}
	acctest.Until(t, "nodelink has put back what the Machines have", func(context.Context) (bool, error) {
		for _, m := range p.Machines() {
			if !strings.Contains(s.c.Taints(t, m.Status.NodeRef.Name), foreign) {
				return false, nil
			}
		}
		return true, nil
	})
	p.Want(2, foreign)
}

// TestAccMachineSetTaints_whatAMachineCarriesIsDroppedFromItFirst: kubetaint_node_taints does not
// drop a taint that it has adopted from a node while the Machine has it, since nodelink brings it
// back; once the MachineSet's resource has taken it from the Machine, it does.
func TestAccMachineSetTaints_whatAMachineCarriesIsDroppedFromItFirst(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	p, i, nodes := s.pool(1, nil), newInstance(), &acctest.Instance{Type: "kubetaint_node_taints"}
	inPlace := func(taints string) map[string]any {
		return s.config(p.Name, taints, map[string]any{"strategy": "in_place"})
	}
	s.apply(i, inPlace("team=a:NoSchedule keep:NoSchedule"))
	machine := p.Machines()[p.Names()[0]]
	onNode := func(taints string) map[string]any {
		return map[string]any{"node_name": machine.Status.NodeRef.Name, "on_conflict": "adopt", "taints": acctest.Objects(t, taints)}
	}
	s.tf.Settle(t, nodes, onNode("team=a:NoSchedule own:NoSchedule"))
	if err := s.c.EditNode(t.Context(), machine.Status.NodeRef.Name, func(n *corev1.Node) {
		n.Spec.Taints = slices.DeleteFunc(n.Spec.Taints, func(one corev1.Taint) bool { return one.Key == "team" })
	}); err != nil {
		t.Fatal(err)
	}
	acctest.Until(t, "nodelink has put back what the Machine has", func(context.Context) (bool, error) {
		return strings.Contains(s.c.Taints(t, machine.Status.NodeRef.Name), "team=a:NoSchedule"), nil
	})
	acctest.WantAll(t, s.tf.Plan(t, nodes, onNode("own:NoSchedule")).Diagnostics.Errors(), `Unable to remove taint "team:NoSchedule"`, "/"+machine.Name+" has it")

	s.tf = &acctest.Terraform{Provider: s.c.Provider(t)}
	s.tf.Settle(t, i, inPlace("keep:NoSchedule"))
	s.tf.Settle(t, nodes, onNode("own:NoSchedule"))
	if got := s.c.Taints(t, machine.Status.NodeRef.Name); strings.Contains(got, "team") {
		t.Errorf("the node has %s", got)
	}
	s.tf.Destroy(t, nodes)
}

// TestAccMachineSetTaints_anAdoptedTaintOfAMachineIsDestroyed: a destroy of kubetaint_node_taints removes a
// taint that it has adopted from the Machine first, so that nodelink does not restore it. One that the
// MachineSet's resource owns stays.
func TestAccMachineSetTaints_anAdoptedTaintOfAMachineIsDestroyed(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	p, i, nodes := s.pool(1, func(m *acctest.MachineSet) { m.Taints += " team=a:NoSchedule" }), newInstance(), &acctest.Instance{Type: "kubetaint_node_taints"}
	s.apply(i, s.config(p.Name, "keep:NoSchedule", map[string]any{"strategy": "in_place"}))
	machine := p.Machines()[p.Names()[0]]
	node := machine.Status.NodeRef.Name
	s.tf = &acctest.Terraform{Provider: s.c.Provider(t)}
	s.tf.Settle(t, nodes, map[string]any{"node_name": node, "on_conflict": "adopt", "taints": acctest.Objects(t, "team=a:NoSchedule keep:NoSchedule")})
	acctest.WantAll(t, s.tf.Plan(t, nodes, nil).Diagnostics.Warnings(), "This plan removes taint team:NoSchedule from 1 Machine, and from its node", machine.Name,
		"Taint keep:NoSchedule stays on 1 node", "is owned by ")
	s.tf.Destroy(t, nodes)
	// nodelink looks at the node, and brings it what it lacks of its Machine.
	if err := s.c.EditNode(t.Context(), node, func(n *corev1.Node) {
		n.Spec.Taints = slices.DeleteFunc(n.Spec.Taints, func(one corev1.Taint) bool { return one.Key == "vendor" })
	}); err != nil {
		t.Fatal(err)
	}
	acctest.Until(t, "nodelink has restored what the Machine has", func(context.Context) (bool, error) {
		return strings.Contains(s.c.Taints(t, node), foreign), nil
	})
	for what, got := range map[string]string{"node": s.c.Taints(t, node), "Machine": taint.FormatAll(p.Machines()[machine.Name].Spec.Taints)} {
		if strings.Contains(got, "team") || !strings.Contains(got, "keep:NoSchedule") || !strings.Contains(got, foreign) {
			t.Errorf("the %s has %s", what, got)
		}
	}
}
