// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/testbed/modules/machineapi/cloud"
)

// instance returns when the instance of a Machine can be seen and when its Node
// joins, as the cloud has written it down.
func (w *world) instance(m *machinev1beta1.Machine) (times struct{ ReadyAt, BootsAt time.Time }) {
	w.t.Helper()
	record := &corev1.ConfigMap{}
	w.must(w.Get(w.t.Context(), client.ObjectKey{Namespace: cloud.Namespace, Name: cloud.InstanceName(m)}, record))
	w.must(json.Unmarshal([]byte(record.Data["instance"]), &times))
	return times
}

func TestMachine_goesThroughItsPhases(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	changes, err := w.Watch(t.Context(), &machinev1beta1.MachineList{}, client.InNamespace(w.namespace))
	w.must(err)
	defer changes.Stop()
	spec := cloudThatNeverBoots()
	spec.ProvisionDelay.Duration = time.Second
	w.machineSet(1, spec, nil)
	var phases []string
	for change := range changes.ResultChan() {
		m := change.Object.(*machinev1beta1.Machine)
		phase := ptr.Deref(m.Status.Phase, "")
		if !slices.Contains(phases, phase) {
			phases = append(phases, phase)
		}
		exists := condition(m, machinev1beta1.InstanceExistsCondition)
		if phase == machinev1beta1.PhaseProvisioning && (exists.Status != corev1.ConditionFalse || exists.Reason != machinev1beta1.InstanceNotCreatedReason) {
			t.Errorf("while it is provisioned, InstanceExists is %+v", exists)
		}
		if phase != "" && !slices.Contains(m.Finalizers, "machine.machine.openshift.io") {
			t.Errorf("the finalizers are %v", m.Finalizers)
		}
		if phase != machinev1beta1.PhaseProvisioned {
			continue
		}
		if time.Now().Before(w.instance(m).ReadyAt) {
			t.Error("it is provisioned before its time")
		}
		if exists.Status != corev1.ConditionTrue || len(m.Status.Addresses) == 0 || m.Spec.ProviderID == nil || m.Status.NodeRef != nil {
			t.Errorf("a provisioned machine has the status %+v", m.Status)
		}
		break
	}
	if got := strings.Join(phases, ","); got != ",Provisioning,Provisioned" {
		t.Errorf("the phases are %q", got)
	}
}

func TestMachine_runsOnceItsNodeHasJoined(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.machineSet(1, cloud.Spec{BootDelay: metav1.Duration{Duration: 2 * time.Second}}, nil)
	m := &w.phase(1, machinev1beta1.PhaseRunning)[0]
	node := w.node(m)
	// Times of the server are cut to whole seconds.
	if boots := w.instance(m).BootsAt.Truncate(time.Second); node.CreationTimestamp.Time.Before(boots) {
		t.Errorf("the node has joined at %s, want not before %s", node.CreationTimestamp.Time, boots)
	}
	for _, kind := range []machinev1beta1.ConditionType{machinev1beta1.MachineDrainable, machinev1beta1.MachineTerminable, machinev1beta1.InstanceExistsCondition} {
		if condition(m, kind).Status != corev1.ConditionTrue {
			t.Errorf("%s is not true of a machine that runs", kind)
		}
	}
	if node.Name == m.Name || node.Spec.ProviderID != ptr.Deref(m.Spec.ProviderID, "") {
		t.Errorf("the node is %s with provider ID %s, the machine %s with %v", node.Name, node.Spec.ProviderID, m.Name, m.Spec.ProviderID)
	}
}

func TestMachine_aNewNodeIsNotReadyAtFirst(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	nodes, err := w.Watch(t.Context(), &corev1.NodeList{})
	w.must(err)
	defer nodes.Stop()
	_, machines := w.running(1, nil)
	for change := range nodes.ResultChan() {
		node := change.Object.(*corev1.Node)
		if node.Name != machines[0].Status.NodeRef.Name {
			continue
		}
		if len(node.Spec.Taints) != 1 || node.Spec.Taints[0].Key != corev1.TaintNodeNotReady {
			t.Errorf("the node joins with taints %v, want that of admission", node.Spec.Taints)
		}
		break
	}
}

func TestMachine_failedIsForGood(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ms := w.machineSet(1, cloud.Spec{Fail: true}, nil)
	failed := w.phase(1, machinev1beta1.PhaseFailed)[0]
	if ptr.Deref(failed.Status.ErrorReason, "") != machinev1beta1.InvalidConfigurationMachineError || ptr.Deref(failed.Status.ErrorMessage, "") == "" {
		t.Errorf("a failed machine has the status %+v, want a reason and a message", failed.Status)
	}
	// The mistake in it is corrected; the machines after it show that the
	// controller has seen that.
	good := string(w.value(cloud.Spec{}).Raw)
	w.patch(&failed, `{"spec":{"providerSpec":{"value":{"fail":null}}}}`)
	w.patch(ms, `{"spec":{"replicas":2,"template":{"spec":{"providerSpec":{"value":`+strings.Replace(good, "{", `{"fail":null,`, 1)+`}}}}}`)
	w.phase(1, machinev1beta1.PhaseRunning)
	if w.fresh(&failed); ptr.Deref(failed.Status.Phase, "") != machinev1beta1.PhaseFailed {
		t.Errorf("the failed machine is %s now", *failed.Status.Phase)
	}
}

func TestMachine_anInstanceThatVanishesFailsIt(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	_, machines := w.running(1, nil)
	m := &machines[0]
	w.must(w.Delete(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: cloud.Namespace, Name: cloud.InstanceName(m)}}))
	w.patch(m, `{"metadata":{"annotations":{"look":"again"}}}`)
	lost := w.phase(1, machinev1beta1.PhaseFailed)[0]
	if c := condition(&lost, machinev1beta1.InstanceExistsCondition); c.Reason != machinev1beta1.InstanceMissingReason || ptr.Deref(lost.Status.ErrorMessage, "") != "can't find created instance" {
		t.Errorf("its status is %+v", lost.Status)
	}
}

func TestMachine_quotaLeavesItProvisioningWithoutAnError(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.machineSet(3, cloud.Spec{Quota: ptr.To(2)}, nil)
	w.phase(2, machinev1beta1.PhaseRunning)
	waiting := w.phase(1, machinev1beta1.PhaseProvisioning)[0]
	w.until("the cloud has refused it", w.event(&waiting, "FailedCreate"))
	w.fresh(&waiting)
	if s := waiting.Status; s.ErrorMessage != nil || s.ErrorReason != nil || condition(&waiting, machinev1beta1.InstanceExistsCondition).Status != corev1.ConditionFalse {
		t.Errorf("its status is %+v, want InstanceExists false and no error", s)
	}
	w.patch(&waiting, `{"spec":{"providerSpec":{"value":{"quota":3}}}}`)
	w.phase(3, machinev1beta1.PhaseRunning)
}

func TestMachine_endsInThisOrder(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	_, machines := w.running(1, func(ms *machinev1beta1.MachineSet) {
		ms.Spec.Template.Spec.ProviderSpec.Value = w.value(cloud.Spec{DeleteError: "the cloud is down", DeleteDelay: metav1.Duration{Duration: time.Second}})
	})
	m := &machines[0]
	w.must(w.Delete(t.Context(), m))
	w.until("the cloud has refused to delete it", w.event(m, "FailedDelete"))
	node := w.node(m)
	w.patch(m, `{"spec":{"providerSpec":{"value":{"deleteError":null}}}}`)
	w.gone(m)
	steps := []string{
		"patch machines/status " + m.Name, // Phase Deleting.
		"patch nodes " + node.Name,        // The cordon.
		"patch machines/status " + m.Name, // Drained.
		"update configmaps " + cloud.InstanceName(m),
		"delete configmaps " + cloud.InstanceName(m),
		"delete nodes " + node.Name,
		"update machines " + m.Name, // The finalizer.
	}
	// The log has a request when its answer has been given, which may be later than what it does.
	w.until(fmt.Sprintf("these steps have come in their order: %q", steps), func() (bool, error) {
		requests := w.audit(m.Name, node.Name, string(m.UID))
		slices.SortStableFunc(requests, func(a, b request) int { return a.Received.Compare(b.Received) })
		left := steps
		for _, r := range requests {
			if len(left) > 0 && r.String() == left[0] {
				left = left[1:]
			}
		}
		return len(left) == 0, nil
	})
}

func TestMachine_nodeDeletedByHandLeavesAStaleNodeRef(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	_, machines := w.running(2, nil)
	node := w.node(&machines[0])
	w.must(w.Delete(t.Context(), node))
	w.gone(node)
	// The write to the other machine comes to an end after this one's.
	w.patch(&machines[0], `{"metadata":{"annotations":{"look":"again"}}}`)
	w.patch(&machines[1], `{"spec":{"taints":[{"key":"mark","effect":"NoSchedule"}]}}`)
	w.until("the mark arrives", func() (bool, error) { return len(w.node(&machines[1]).Spec.Taints) == 1, nil })
	if w.fresh(&machines[0]); ptr.Deref(machines[0].Status.Phase, "") != machinev1beta1.PhaseRunning || machines[0].Status.NodeRef == nil {
		t.Errorf("its status is %+v, want a machine that runs and names its node", machines[0].Status)
	}
	if w.fresh(node) {
		t.Error("the node has come back")
	}
}
