// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package main

import (
	"fmt"
	"strings"
	"testing"

	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
)

// taints returns the taints of a Machine's Node, as kubectl writes them.
func (w *world) taints(m *machinev1beta1.Machine) string {
	w.t.Helper()
	var all []string
	for _, taint := range w.node(m).Spec.Taints {
		all = append(all, taint.ToString())
	}
	return strings.Join(all, " ")
}

func (w *world) untilTaints(m *machinev1beta1.Machine, want string) {
	w.t.Helper()
	w.until("the taints are "+want, func() (bool, error) { return w.taints(m) == want, nil })
}

// one is a MachineSet whose template has a taint, a label and an annotation.
func one(ms *machinev1beta1.MachineSet) {
	ms.Spec.Template.Spec.Taints = []corev1.Taint{{Key: "a", Value: "1", Effect: corev1.TaintEffectNoSchedule}}
	ms.Spec.Template.Spec.Labels = map[string]string{"role": "gpu"}
	ms.Spec.Template.Spec.Annotations = map[string]string{"note": "yes"}
}

func TestNodelink_onlyEverAdds(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	_, machines := w.running(1, one)
	m := &machines[0]
	w.untilTaints(m, "a=1:NoSchedule")
	node := w.node(m)
	if node.Labels["role"] != "gpu" || node.Annotations["note"] != "yes" || node.Annotations["machine.openshift.io/machine"] != w.namespace+"/"+m.Name {
		t.Errorf("the node has labels %v and annotations %v", node.Labels, node.Annotations)
	}
	// Removed from the node alone, it is added again.
	w.patch(node, `{"spec":{"taints":null}}`)
	w.untilTaints(m, "a=1:NoSchedule")
	// A changed value never arrives, the taint that is written with it does.
	w.patch(m, `{"spec":{"taints":[{"key":"a","value":"2","effect":"NoSchedule"},{"key":"b","effect":"NoSchedule"}]}}`)
	w.untilTaints(m, "a=1:NoSchedule b:NoSchedule")
	// Nothing is ever removed.
	w.patch(m, `{"spec":{"taints":[{"key":"c","effect":"NoSchedule"}],"metadata":{"labels":{"role":null}}}}`)
	w.untilTaints(m, "a=1:NoSchedule b:NoSchedule c:NoSchedule")
	if w.node(m).Labels["role"] != "gpu" {
		t.Error("a label was removed from the node")
	}
}

func TestNodelink_oneInvalidTaintKeepsEverythingAway(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ms, machines := w.running(1, func(ms *machinev1beta1.MachineSet) {
		one(ms)
		ms.Spec.Template.Spec.Taints = append(ms.Spec.Template.Spec.Taints, corev1.Taint{Key: "not a key", Effect: corev1.TaintEffectNoSchedule})
	})
	m := &machines[0]
	refused := func() (bool, error) {
		for _, r := range w.audit(m.Status.NodeRef.Name) {
			if r.String() == "update nodes "+m.Status.NodeRef.Name && r.Response.Code == 422 {
				return true, nil
			}
		}
		return false, nil
	}
	w.until("the update is refused", refused)
	w.until("it counts as available all the same", func() (bool, error) { return w.fresh(ms) && ms.Status.AvailableReplicas == 1, nil })
	w.untilTaints(m, "")
	if node := w.node(m); node.Labels["role"] != "" || node.Annotations["note"] != "" {
		t.Errorf("the node has labels %v and annotations %v", node.Labels, node.Annotations)
	}
	w.patch(m, `{"spec":{"taints":[{"key":"a","value":"1","effect":"NoSchedule"}]}}`)
	w.untilTaints(m, "a=1:NoSchedule")
}

func TestNodelink_noExecuteOnAMachineEvictsWhateverTheBudgetSays(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	_, machines := w.running(1, nil)
	m := &machines[0]
	pod, budget := w.guarded("guarded", m)
	if budget.Status.DisruptionsAllowed != 0 {
		t.Fatalf("the budget allows %d", budget.Status.DisruptionsAllowed)
	}
	w.patch(m, `{"spec":{"taints":[{"key":"dedicated","value":"gpu","effect":"NoExecute"}]}}`)
	w.gone(pod)
}

func TestNodelink_deletingMachineReachesItsNodeAtTheNodesNextEvent(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	_, machines := w.running(1, held)
	m := &machines[0]
	w.must(w.Delete(t.Context(), m))
	w.phase(1, machinev1beta1.PhaseDeleting)
	w.patch(m, `{"spec":{"taints":[{"key":"late","effect":"NoSchedule"}]}}`)
	// The first event may come before the controller knows of the taint.
	events := 0
	w.until("an event of the node brings the taint", func() (bool, error) {
		events++
		w.patch(w.node(m), fmt.Sprintf(`{"metadata":{"labels":{"any":"event-%d"}}}`, events))
		return w.taints(m) == "late:NoSchedule", nil
	})
}
