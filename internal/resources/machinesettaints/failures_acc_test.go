// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package machinesettaints_test

import (
	"context"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/golden"
)

// failed applies a configuration and expects an error with these parts.
func (s *stage) failed(i *acctest.Instance, config map[string]any, parts ...string) {
	s.Helper()
	acctest.WantAll(s.T, s.tf.Apply(s.T, i, config).Errors(), parts...)
}

func (s *stage) pool(replicas int, more func(*acctest.MachineSet)) *acctest.Pool {
	s.Helper()
	m := acctest.MachineSet{Namespace: s.namespace, Name: acctest.Name(s.T, "ms"), Replicas: replicas, Taints: foreign}
	if more != nil {
		more(&m)
	}
	return s.c.MachineSet(s.T, m)
}

// TestAccMachineSetTaints_reportsWhatHoldsADrain is told in the error when the time is over,
// and the next apply goes on once it has let go.
func TestAccMachineSetTaints_reportsWhatHoldsADrain(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	p := s.pool(1, nil)
	apps := s.c.Namespace(t)
	s.heldBy(p, apps, "strict")
	i := newInstance()
	config := s.config(p.Name, "team=a:NoSchedule", map[string]any{"strategy": "rolling"})
	// It waits for the old machine alone once the new one serves.
	old := p.Names()[0]
	told := s.heldUp(i, config, "the rollout timed out", "The rollout last waited for machines:\n  "+old+" is being deleted\n\nWhat blocks the deletion of machines:\n  pod "+apps+"/db-",
		`is held by PodDisruptionBudget "`+apps+`/strict", which currently allows no eviction`+"\n\nTo fix this, allow the evictions", "1 of 1 machine still has to be replaced, and spec.replicas is 1.", "Apply again: the rollout continues where it stopped.")
	golden.Check(t, "held.golden", strings.NewReplacer(p.Name, "gpu-a", s.namespace, "openshift-machine-api", apps, "shop", "[] ", "").Replace(constant(p, told)))

	if err := s.c.Admin.PolicyV1().PodDisruptionBudgets(apps).Delete(t.Context(), "strict", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	s.apply(i, config)
	p.Want(1, foreign+" team=a:NoSchedule")
	s.apply(i, nil)
	p.Want(1, foreign)
}

// TestAccMachineSetTaints_timeoutBringsTheCountBack: a set that waits at zero is not
// left there.
func TestAccMachineSetTaints_timeoutBringsTheCountBack(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	p := s.pool(2, func(m *acctest.MachineSet) { m.Cloud = map[string]any{"deleteError": "held"} })
	p.ChangeCloudOfNew(`{"deleteError":null}`)
	i := newInstance()
	config := s.config(p.Name, "team=a:NoSchedule", map[string]any{"strategy": "scale_to_zero", "wait_for": "removed"})
	s.heldUp(i, config, "the rollout timed out", "spec.replicas has been restored to 2.")
	if got := p.Replicas(); got != 2 {
		t.Fatalf("the count is %d", got)
	}
	p.ChangeCloud(`{"deleteError":null}`)
	s.apply(i, config)
	p.Want(2, foreign+" team=a:NoSchedule")
	s.apply(i, nil)
	p.Want(2, foreign)
}

// TestAccMachineSetTaints_inPlaceEndsOnceTheTemplateIsObserved: until then the controller
// could still create a machine of the template before, which nothing replaces in place.
func TestAccMachineSetTaints_inPlaceEndsOnceTheTemplateIsObserved(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	p, i := s.pool(1, nil), newInstance()
	config := s.config(p.Name, "team=a:NoSchedule", map[string]any{"strategy": "in_place"})
	allow := s.c.ForbidStatus(t, p.Thing)
	s.heldUp(i, config, "the rollout timed out", "The rollout last waited for the controller of MachineSet")
	allow()
	s.apply(i, config)
	if set := s.c.Look(t, p.Thing); observed(t, set) != set.GetGeneration() {
		t.Errorf("the apply ended, and the controller has observed generation %d of %d", observed(t, set), set.GetGeneration())
	}
	p.Want(1, foreign+" team=a:NoSchedule")
}

func observed(t *testing.T, set *unstructured.Unstructured) int64 {
	t.Helper()
	generation, _, err := unstructured.NestedInt64(set.Object, "status", "observedGeneration")
	if err != nil {
		t.Fatal(err)
	}
	return generation
}

// TestAccMachineSetTaints_aMachineThatFailsStopsIt: it is the first of the new ones. No
// count is lost, and the next apply goes on when another writer has deleted it.
func TestAccMachineSetTaints_aMachineThatFailsStopsIt(t *testing.T) {
	t.Parallel()
	for strategy, replicas := range map[string]int{"rolling": 2, "surge": 3, "scale_to_zero": 2} {
		t.Run(strategy, func(t *testing.T) {
			t.Parallel()
			oneStrategy(t, strategy)
			s := newStage(t)
			p := s.pool(2, func(m *acctest.MachineSet) { m.Cloud = map[string]any{"failMachines": []int{3}} })
			config := s.config(p.Name, "team=a:NoSchedule", map[string]any{"strategy": strategy})
			i := newInstance()
			s.failed(i, config, "has failed: ", "The rollout deletes no more machines", "kubectl delete machine.machine.openshift.io ")
			if got := p.Replicas(); got != replicas || p.Annotation("kubetaint.io/rollout") == "" {
				t.Fatalf("the count is %d and the marker %q", got, p.Annotation("kubetaint.io/rollout"))
			}
			// The next plan knows it.
			told := s.tf.Plan(t, i, config).Diagnostics
			acctest.WantAll(s.T, told.Errors()+told.Warnings(), "has failed: ")
			for name, m := range p.Machines() {
				if m.Status.Phase != nil && *m.Status.Phase == "Failed" {
					p.Delete(name)
				}
			}
			s.apply(i, config)
			p.Want(2, foreign+" team=a:NoSchedule")
		})
	}
}

func TestAccMachineSetTaints_scalingDuringASurgeStopsIt(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	p := s.pool(1, func(m *acctest.MachineSet) { m.Cloud = map[string]any{"provisionDelay": "3s"} })
	config := s.config(p.Name, "team=a:NoSchedule", map[string]any{"strategy": "surge"})
	done := make(chan string)
	i := newInstance()
	go func() { done <- s.tf.Apply(t, i, config).Errors() }()
	acctest.Until(t, "the surge has begun", func(context.Context) (bool, error) { return p.Replicas() == 2, nil })
	s.c.Change(t, p.Thing, "somebody", `{"spec":{"replicas":5}}`)
	acctest.WantAll(s.T, <-done, "Another writer scaled MachineSet", "to 5 during a rollout. It began at ", "when spec.replicas was 1, and now expects 1 or 2", "--replicas=2", "kubetaint.io/rollout-")
	if p.Annotation("kubetaint.io/rollout") == "" {
		t.Fatal("the marker is gone, and with it the count")
	}
	told := s.tf.Plan(t, i, config).Diagnostics
	acctest.WantAll(s.T, told.Errors()+told.Warnings(), "Another writer scaled MachineSet", "to 5 during a rollout")
}

// TestAccMachineSetTaints_warnsOfWhatMayHoldIt: hooks, machines that are not drained,
// other writers of the count, and a simulated node that would lack the taint.
func TestAccMachineSetTaints_warnsOfWhatMayHoldIt(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	p := s.pool(0, func(m *acctest.MachineSet) {
		m.Annotations = map[string]string{"capacity.cluster-autoscaler.kubernetes.io/taints": "team=old:NoSchedule"}
	})
	s.c.Change(t, p.Thing, "argocd-controller", `{"spec":{"replicas":1}}`)
	p.Serve(1)
	machine := acctest.Thing{APIVersion: p.APIVersion, Kind: "Machine", Namespace: p.Namespace, Name: p.Names()[0]}
	s.c.Change(t, machine, "storage", `{"metadata":{"annotations":{"machine.openshift.io/exclude-node-draining":""}},"spec":{"lifecycleHooks":{"preTerminate":[{"name":"Migrate","owner":"storage"}]}}}`)
	told := s.tf.Plan(t, newInstance(), s.config(p.Name, "team=a:NoSchedule", map[string]any{"strategy": "rolling"})).Diagnostics.Warnings()
	acctest.WantAll(s.T, told, "may not finish by itself", "machine "+machine.Name+" waits for the lifecycle hook Migrate of storage before it is deleted",
		"machine "+machine.Name+" is not drained (machine.openshift.io/exclude-node-draining): its pods are killed with it",
		"sets spec.replicas as well", `the annotation capacity.cluster-autoscaler.kubernetes.io/taints of the MachineSet is "team=old:NoSchedule" and is not changed here`)
	told = s.tf.Plan(t, newInstance(), s.config(p.Name, "team=a:NoSchedule", map[string]any{"strategy": "in_place"})).Diagnostics.Warnings()
	if strings.Contains(told, "lifecycle hook") || strings.Contains(told, "is not drained") || !strings.Contains(told, "team=old:NoSchedule") {
		t.Errorf("in place it warns of %s", told)
	}
	s.c.Change(t, machine, "storage", `{"spec":{"lifecycleHooks":null}}`)
}
