// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package main

import (
	"fmt"
	"testing"
	"time"

	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

func TestDrain_obeysABudgetBacksOffAndShowsInNoCondition(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	_, machines := w.running(1, nil)
	m := &machines[0]
	pod, budget := w.guarded("guarded", m)
	w.must(w.Delete(t.Context(), m))
	times := w.attempts(4)
	for i, pause := range []time.Duration{attempt + backoff, attempt + 2*backoff, attempt + 4*backoff} {
		if got := times[i+1].Sub(times[i]); got < pause {
			t.Errorf("attempt %d follows after %s, want at least %s", i+2, got, pause)
		}
	}
	if !w.fresh(pod) || pod.DeletionTimestamp != nil {
		t.Error("the pod has gone although its budget forbids it")
	}
	w.fresh(m)
	if c := condition(m, machinev1beta1.MachineDrained); c.Type != "" {
		t.Errorf("a stuck drain shows in the condition %+v", c)
	}
	if s := m.Status; ptr.Deref(s.Phase, "") != machinev1beta1.PhaseDeleting || s.ErrorMessage != nil || !w.node(m).Spec.Unschedulable {
		t.Errorf("the status is %+v, want phase Deleting, no message and a node that is cordoned", s)
	}
	w.broughtByAWrite(m, 4)
	w.until("the event shows", w.event(m, "DrainRequeued"))
	w.must(w.Delete(t.Context(), budget))
	w.patch(m, `{"metadata":{"annotations":{"any":"other write"}}}`)
	w.gone(m)
	if w.fresh(pod) {
		t.Error("the machine is gone and the pod is not")
	}
}

// broughtByAWrite expects that a write brings the next attempt immediately, which would come
// after the back-off otherwise. On a busy machine the write itself may come after that;
// the back-off doubles each time, so that a later one comes before.
func (w *world) broughtByAWrite(m *machinev1beta1.Machine, attempts int) {
	w.t.Helper()
	for last := attempts + 3; ; attempts++ {
		w.patch(m, fmt.Sprintf(`{"metadata":{"annotations":{"any":"write %d"}}}`, attempts))
		times := w.attempts(attempts + 1)
		got, pause := times[attempts].Sub(times[attempts-1]), attempt+backoff<<(attempts-1)
		if got < pause {
			return
		}
		if attempts == last {
			w.t.Errorf("after a write attempt %d comes %s after the one before, want less than %s", attempts+1, got, pause)
			return
		}
	}
}

func TestDrain_machinesOfANamespaceTakeTurns(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ms, machines := w.running(2, nil)
	w.guarded("one", &machines[0])
	w.guarded("other", &machines[1])
	w.patch(ms, `{"spec":{"replicas":0}}`)
	times := w.attempts(4)
	for i := 1; i < len(times); i++ {
		// The pause after an eviction is at least this long.
		if got := times[i].Sub(times[i-1]); got < attempt {
			t.Errorf("attempt %d begins %s after the one before, which lasts %s", i+1, got, attempt)
		}
	}
}

func TestDrain_leavesPodsOfDaemonSetsAndTakesTheOthers(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	_, machines := w.running(1, func(ms *machinev1beta1.MachineSet) {
		ms.Spec.Template.Spec.LifecycleHooks.PreTerminate = []machinev1beta1.LifecycleHook{{Name: "held", Owner: "the test"}}
	})
	m := &machines[0]
	daemons := w.daemonSet(m)
	bare := w.pod("bare", m, nil)
	data := w.pod("data", m, func(p *corev1.Pod) {
		p.Spec.Volumes = []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}}
	})
	w.must(w.Delete(t.Context(), m))
	w.until("it is drained", func() (bool, error) {
		return w.fresh(m) && condition(m, machinev1beta1.MachineDrained).Status == corev1.ConditionTrue, nil
	})
	if w.fresh(bare) || w.fresh(data) {
		t.Error("a pod is left on a node that is drained")
	}
	if !w.fresh(daemons) || daemons.DeletionTimestamp != nil {
		t.Error("the pod of the DaemonSet is gone")
	}
	if c := condition(m, machinev1beta1.MachineTerminable); c.Status != corev1.ConditionFalse || c.Reason != machinev1beta1.MachineHookPresent {
		t.Errorf("Terminable is %+v, want that the hook holds it up", c)
	}
	// The node is still there, hence the instance: the preTerminate hook holds.
	w.node(m)
	w.unhold(*m)
	w.gone(m)
}

func TestDrain_preDrainHookHolds(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	_, machines := w.running(1, held)
	m := &machines[0]
	pod := w.pod("bare", m, nil)
	w.must(w.Delete(t.Context(), m))
	w.until("the event shows", w.event(m, "DrainBlocked"))
	w.until("the condition shows", func() (bool, error) {
		c := condition(m, machinev1beta1.MachineDrainable)
		return w.fresh(m) && c.Status == corev1.ConditionFalse && c.Reason == machinev1beta1.MachineHookPresent, nil
	})
	if w.node(m).Spec.Unschedulable || !w.fresh(pod) {
		t.Error("the node is being drained although a hook forbids it")
	}
	w.unhold(*m)
	w.gone(m)
	if w.fresh(pod) {
		t.Error("the pod is left")
	}
}

func TestDrain_excludedMachineTakesItsPodsWithItWhateverTheirBudget(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	_, machines := w.running(1, func(ms *machinev1beta1.MachineSet) {
		held(ms) // Which does not hold it either.
		ms.Spec.Template.Annotations = map[string]string{"machine.openshift.io/exclude-node-draining": ""}
	})
	m := &machines[0]
	pod, _ := w.guarded("guarded", m)
	w.must(w.Delete(t.Context(), m))
	w.gone(m)
	w.until("the event shows", w.event(m, "DrainSkipped"))
	if len(w.evictions()) > 0 {
		t.Error("it was drained all the same")
	}
	if w.fresh(pod); pod.Status.Phase != corev1.PodRunning {
		t.Errorf("the pod on the node that is gone is %s, want that it still seems to run", pod.Status.Phase)
	}
}

func TestDrain_isSkippedWithoutANode(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.machineSet(1, cloudThatNeverBoots(), nil)
	m := w.phase(1, machinev1beta1.PhaseProvisioned)[0]
	w.must(w.Delete(t.Context(), &m))
	w.gone(&m)
	w.until("the event shows", w.event(&m, "DrainSkipped"))
}

// daemonSet runs a pod of a DaemonSet on the Node of a Machine.
func (w *world) daemonSet(m *machinev1beta1.Machine) *corev1.Pod {
	w.t.Helper()
	set := newDaemonSet(w.namespace, m.Status.NodeRef.Name)
	w.must(w.Create(w.t.Context(), set))
	// The real controller makes its pod.
	var found *corev1.Pod
	w.until("the DaemonSet runs", func() (bool, error) {
		pods := &corev1.PodList{}
		if err := w.List(w.t.Context(), pods); err != nil {
			return false, err
		}
		for i := range pods.Items {
			if metav1.IsControlledBy(&pods.Items[i], set) && pods.Items[i].Status.Phase == corev1.PodRunning {
				found = &pods.Items[i]
			}
		}
		return found != nil, nil
	})
	return found
}
