// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package main

import (
	"slices"
	"testing"

	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/testbed/modules/machineapi/cloud"
)

// held keeps the Machines of a MachineSet from being drained.
func held(ms *machinev1beta1.MachineSet) {
	ms.Spec.Template.Spec.LifecycleHooks.PreDrain = []machinev1beta1.LifecycleHook{{Name: "held", Owner: "the test"}}
}

// unhold takes the hooks of Machines away.
func (w *world) unhold(machines ...machinev1beta1.Machine) {
	for i := range machines {
		w.patch(&machines[i], `{"spec":{"lifecycleHooks":null}}`)
	}
}

func TestMachineSet_scaleDownIsUncappedAndTheCountsLeaveOutWhatStillRuns(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ms, machines := w.running(4, held)
	w.patch(ms, `{"spec":{"replicas":0}}`)
	w.until("the status says zero", func() (bool, error) {
		return w.fresh(ms) && ms.Status.ObservedGeneration == ms.Generation && ms.Status.Replicas == 0, nil
	})
	for _, m := range w.phase(4, machinev1beta1.PhaseDeleting) {
		if node := w.node(&m); node.DeletionTimestamp != nil {
			t.Errorf("node %s is going", node.Name)
		}
	}
	if s := ms.Status; s.ReadyReplicas != 0 || s.AvailableReplicas != 0 || s.FullyLabeledReplicas != 0 {
		t.Errorf("the status is %+v, want zero of everything", s)
	}
	w.unhold(machines...)
	for i := range machines {
		w.gone(&machines[i])
		if node := (&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: machines[i].Status.NodeRef.Name}}); !w.notFound(node) {
			t.Errorf("machine %s is gone, and its node is not", machines[i].Name)
		}
	}
}

func TestMachineSet_statusIsThatOfBeforeWhatWasDone(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ms, _ := w.running(1, nil)
	w.until("it is counted", func() (bool, error) { return w.fresh(ms) && ms.Status.AvailableReplicas == 1, nil })
	changes, err := w.Watch(t.Context(), &machinev1beta1.MachineSetList{}, client.InNamespace(w.namespace))
	w.must(err)
	defer changes.Stop()
	w.patch(ms, `{"spec":{"replicas":3}}`)
	generation := ms.Generation
	for change := range changes.ResultChan() {
		seen := change.Object.(*machinev1beta1.MachineSet)
		if seen.Status.ObservedGeneration < generation {
			continue
		}
		if seen.Status.Replicas != 1 {
			t.Errorf("the first status of the new generation counts %d machines, want 1 as before", seen.Status.Replicas)
		}
		break
	}
	w.until("all are counted", func() (bool, error) { return w.fresh(ms) && ms.Status.Replicas == 3, nil })
}

func TestMachineSet_aDeletedMachineIsReplacedFromTheCurrentTemplate(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ms, machines := w.running(1, held)
	old := &machines[0]
	w.patch(ms, `{"spec":{"template":{"spec":{"taints":[{"key":"new","effect":"NoSchedule"}]}}}}`)
	w.until("the template is seen", func() (bool, error) { return w.fresh(ms) && ms.Status.ObservedGeneration == ms.Generation, nil })
	w.must(w.Delete(t.Context(), old))
	w.phase(1, machinev1beta1.PhaseDeleting)
	successor := w.phase(1, machinev1beta1.PhaseRunning)[0]
	if !w.fresh(old) || old.DeletionTimestamp == nil || len(old.Spec.Taints) > 0 {
		t.Errorf("the old machine is %+v, want one that is held while it is being deleted, without the taint", old)
	}
	if len(successor.Spec.Taints) != 1 {
		t.Errorf("the new machine has taints %v, want that of the template", successor.Spec.Taints)
	}
	w.unhold(*old)
	w.gone(old)
}

func TestMachineSet_annotatedAndFailedMachinesGoFirst(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ms := w.machineSet(4, cloud.Spec{FailMachines: []int{3}}, nil)
	healthy := w.phase(3, machinev1beta1.PhaseRunning)
	failed := w.phase(1, machinev1beta1.PhaseFailed)[0]
	annotated := healthy[0]
	w.patch(&annotated, `{"metadata":{"annotations":{"machine.openshift.io/delete-machine":"false"}}}`)
	w.patch(&healthy[1], `{"metadata":{"annotations":{"machine.openshift.io/delete-machine":""}}}`)
	w.patch(ms, `{"spec":{"replicas":2}}`)
	w.gone(&annotated)
	w.gone(&failed)
	left := w.machines()
	if len(left) != 2 || left[0].Name != healthy[1].Name || left[1].Name != healthy[2].Name {
		t.Errorf("these are left: %v, want the two that run and have no value in the annotation", left)
	}
}

// orphan makes a Machine that the test's MachineSet selects and no MachineSet controls.
func (w *world) orphan(name string, spec cloud.Spec) *machinev1beta1.Machine {
	w.t.Helper()
	m := &machinev1beta1.Machine{ObjectMeta: metav1.ObjectMeta{
		Namespace: w.namespace, Name: name, Labels: map[string]string{"set": "workers", machinev1beta1.MachineClusterIDLabel: "test"},
	}}
	m.Spec.ProviderSpec.Value = w.value(spec)
	w.must(w.Create(w.t.Context(), m))
	// The controllers share what they have read. A MachineSet that is made before they know
	// of the machine makes one more, and then takes away any.
	w.until(name+" has been seen", func() (bool, error) { return w.fresh(m) && m.Status.Phase != nil, nil })
	return m
}

func TestMachineSet_aFailedMachineMayGoInsteadOfAnAnnotatedOne(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	failed := w.orphan("a", cloud.Spec{Fail: true})
	annotated := w.orphan("b", cloud.Spec{})
	w.patch(annotated, `{"metadata":{"annotations":{"machine.openshift.io/delete-machine":"true"}}}`)
	w.orphan("c", cloud.Spec{})
	w.phase(2, machinev1beta1.PhaseRunning)
	w.phase(1, machinev1beta1.PhaseFailed)
	ms := w.machineSet(3, cloud.Spec{}, nil)
	w.until("they are counted", func() (bool, error) { return w.fresh(ms) && ms.Status.ReadyReplicas == 2, nil })
	w.patch(ms, `{"spec":{"replicas":2}}`)
	// Of two that are equal the first goes here. Nothing promises that.
	w.gone(failed)
	if !w.fresh(annotated) || annotated.DeletionTimestamp != nil {
		t.Error("the annotated machine has gone as well")
	}
}

func TestMachineSet_adoptsWhatItSelectsAndLetsGoWhatItDoesNot(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	orphan := w.orphan("orphan", cloud.Spec{})
	ms, machines := w.running(2, nil)
	if !slices.ContainsFunc(machines, func(m machinev1beta1.Machine) bool { return m.Name == "orphan" && metav1.IsControlledBy(&m, ms) }) {
		t.Errorf("the orphan is not among %v", machines)
	}
	w.fresh(orphan)
	w.patch(orphan, `{"metadata":{"labels":{"set":null}}}`)
	w.phase(3, machinev1beta1.PhaseRunning)
	w.until("two are counted", func() (bool, error) { return w.fresh(ms) && ms.Status.Replicas == 2, nil })
}

func TestMachineSet_replicasOfNullBecomeOne(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ms, _ := w.running(2, nil)
	w.patch(ms, `{"spec":{"replicas":null}}`)
	if got := ptr.Deref(ms.Spec.Replicas, -1); got != 1 {
		t.Errorf("replicas are %d, want 1", got)
	}
	w.phase(1, machinev1beta1.PhaseRunning)
}
