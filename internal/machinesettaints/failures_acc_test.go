// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package machinesettaints_test

import (
	"context"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

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

// TestAccMachineSetTaints_oneThatTheSameApplyMakesIsFound though MachineSets were listed
// before: its name is known at apply alone, and the plan that Terraform makes then comes
// after what makes it.
func TestAccMachineSetTaints_oneThatTheSameApplyMakesIsFound(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	apply, other := s.tf.Walk(t), s.pool(1, nil)
	inPlace := map[string]any{"strategy": "in_place"}
	if d := apply.Plan(newInstance(), s.config(other.Name, "team=a:NoSchedule", inPlace)).Diagnostics; d.Errors() != "" {
		t.Fatal(d.Errors())
	}
	made, i := s.pool(1, nil), newInstance()
	config := s.config(made.Name, "team=a:NoSchedule", inPlace)
	if d := apply.ApplyChange(i, s.tf.Plan(t, i, config), config); d.Errors() != "" {
		t.Fatal(d.Errors())
	}
	made.Want(1, foreign+" team=a:NoSchedule")
}

// TestAccMachineSetTaints_refusals is what a plan refuses before anything is written.
func TestAccMachineSetTaints_refusals(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		set      func(*acctest.MachineSet)
		strategy string
		want     []string
		// role is that of its machines.
		role string
	}{
		"an autoscaled set is not scaled to zero": {func(m *acctest.MachineSet) { m.Annotations = autoscaled("1", "5") }, "scale_to_zero",
			[]string{`AttributeName("rollout").AttributeName("strategy")`, `MachineAutoscaler "openshift-machine-api/gpu" scales it between 1 and 5`, "Use in_place or rolling"}, ""},
		"an autoscaled set does not surge beyond its maximum": {func(m *acctest.MachineSet) { m.Annotations = autoscaled("1", "1") }, "surge",
			[]string{"has a maximum of 1, and max_surge would make it 2"}, ""},
		"what Hive manages": {func(m *acctest.MachineSet) {
			m.Labels = map[string]string{"hive.openshift.io/machine-pool": "worker", "hive.openshift.io/managed": "true"}
		}, "in_place", []string{`AttributeName("name")`, "Unable to change the taints of MachineSet", "Nothing has been written", "Change the MachinePool instead"}, ""},
		"a taint that nobody has marked": {func(m *acctest.MachineSet) { m.Taints = "team=x:NoSchedule" }, "in_place",
			[]string{`AttributeName("taints")`, `Unable to claim taint "team:NoSchedule"`, `with the value "x"`, "on_conflict"}, ""},
		"control-plane machines": {nil, "in_place",
			[]string{"Unable to change the taints of MachineSet", "this MachineSet makes control-plane machines", "Nothing has been written", "Choose another MachineSet"}, "master"},
	} {
		t.Run(strings.ReplaceAll(name, " ", "_"), func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
			p := s.pool(1, tt.set)
			if tt.role != "" {
				s.c.Change(t, p.Thing, "somebody", `{"spec":{"template":{"metadata":{"labels":{"machine.openshift.io/cluster-api-machine-role":"`+tt.role+`"}}}}}`)
			}
			before := p.Template()
			config := s.config(p.Name, "team=a:NoSchedule", map[string]any{"strategy": tt.strategy})
			acctest.WantAll(s.T, s.tf.Plan(t, newInstance(), config).Diagnostics.Errors(), tt.want...)
			if got := p.Template(); got != before {
				t.Fatalf("the template has %q", got)
			}
		})
	}
}

func TestAccMachineSetTaints_badInputNamesTheAttribute(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	p := s.pool(0, nil)
	good := s.config(p.Name, "team=a:NoSchedule", map[string]any{"strategy": "in_place"})
	for name, tt := range map[string]struct {
		change map[string]any
		want   []string
	}{
		"a strategy that there is not":       {map[string]any{"rollout": map[string]any{"strategy": "recreate"}}, []string{`AttributeName("strategy")`, "template_only"}},
		"a parameter of another strategy":    {map[string]any{"rollout": map[string]any{"strategy": "in_place", "max_surge": 2}}, []string{`AttributeName("max_surge")`, "belongs to the strategy surge"}},
		"a surge of nothing":                 {map[string]any{"rollout": map[string]any{"strategy": "surge", "max_surge": 0}}, []string{`AttributeName("max_surge")`, "at least 1"}},
		"neither a name nor a selector":      {map[string]any{"name": nil}, []string{"name", "selector"}},
		"both a name and a selector":         {map[string]any{"selector": "a=b"}, []string{"name", "selector"}},
		"a selector that does not parse":     {map[string]any{"name": nil, "selector": "=="}, []string{`AttributeName("selector")`}},
		"a reserved taint":                   {map[string]any{"taints": acctest.Objects(t, "node.kubernetes.io/not-ready:NoExecute")}, []string{`AttributeName("taints")`}},
		"a MachineSet that there is not":     {map[string]any{"name": "nobody"}, []string{`AttributeName("name")`, "There is no MachineSet of this name", "kubectl get machinesets.machine.openshift.io"}},
		"the same taint with another effect": {map[string]any{"taints": acctest.Objects(t, "team=a:NoSchedule team=b:NoSchedule")}, []string{`AttributeName("taints")`}},
	} {
		config := acctest.With(good, tt.change)
		acctest.WantAll(s.T, name+": "+s.tf.Plan(t, newInstance(), config).Diagnostics.Errors(), tt.want...)
	}
}

// TestAccMachineSetTaints_whoHoldsADrain is told in the error when the time is over,
// and the next apply goes on once it has let go.
func TestAccMachineSetTaints_whoHoldsADrain(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	p := s.pool(1, nil)
	apps := s.c.Namespace(t)
	s.heldBy(p, apps, "strict")
	i := newInstance()
	config := s.config(p.Name, "team=a:NoSchedule", map[string]any{"strategy": "rolling"})
	// It waits for the old machine alone once the new one serves.
	old := p.Names()[0]
	told := s.heldUp(i, config, "the rollout timed out", "The rollout last waited for machines:\n  "+old+" is being deleted\n\nWhat keeps machines from going:\n  pod "+apps+"/db-",
		`is held by PodDisruptionBudget "`+apps+`/strict", which allows no eviction now`+"\n\nTo fix this, let the pods go", "1 of 1 machine still has to be replaced, and spec.replicas is 1.", "Apply again: the rollout continues where it stopped.")
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
	// The machines outlive the timeout, which is long enough for a busy machine to begin.
	p := s.pool(2, func(m *acctest.MachineSet) { m.Cloud = map[string]any{"deleteDelay": "60s"} })
	p.ChangeCloudOfNew(`{"deleteDelay":null}`)
	i := newInstance()
	config := s.config(p.Name, "team=a:NoSchedule", map[string]any{"strategy": "scale_to_zero", "wait_for": "removed"})
	config["timeouts"] = map[string]any{"create": "40s"}
	s.failed(i, config, "the rollout timed out", "spec.replicas has been set back to 2.")
	if got := p.Replicas(); got != 2 {
		t.Fatalf("the count is %d", got)
	}
	delete(config, "timeouts")
	s.apply(i, config)
	p.Want(2, foreign+" team=a:NoSchedule")
	s.apply(i, nil)
	p.Want(2, foreign)
}

// TestAccMachineSetTaints_aMachineThatFailsStopsIt: it is the first of the new ones. No
// count is lost, and the next apply goes on when somebody has deleted it.
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

func TestAccMachineSetTaints_somebodyWhoScalesInTheMiddleStopsASurge(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	p := s.pool(1, func(m *acctest.MachineSet) { m.Cloud = map[string]any{"provisionDelay": "3s"} })
	config := s.config(p.Name, "team=a:NoSchedule", map[string]any{"strategy": "surge"})
	done := make(chan string)
	i := newInstance()
	go func() { done <- s.tf.Apply(t, i, config).Errors() }()
	acctest.Until(t, "the surge has begun", func(context.Context) (bool, error) { return p.Replicas() == 2, nil })
	s.c.Change(t, p.Thing, "somebody", `{"spec":{"replicas":5}}`)
	acctest.WantAll(s.T, <-done, "Somebody scaled MachineSet", "to 5 during a rollout that began at ", "when spec.replicas was 1; now the rollout expects 1 or 2", "--replicas=2", "kubetaint.io/rollout-")
	if p.Annotation("kubetaint.io/rollout") == "" {
		t.Fatal("the marker is gone, and with it the count")
	}
}

func TestAccMachineSetTaints_aTemplateThatOthersEditReplacesNothing(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	p := s.pool(2, nil)
	i := newInstance()
	config := s.config(p.Name, "team=a:NoSchedule", map[string]any{"strategy": "rolling"})
	s.apply(i, config)
	before := strings.Join(p.Names(), " ")
	s.c.Change(t, p.Thing, "somebody", `{"spec":{"template":{"metadata":{"labels":{"more":"x"}},"spec":{"taints":[{"key":"vendor","value":"x","effect":"NoSchedule"},{"key":"team","value":"a","effect":"NoSchedule"},{"key":"other","effect":"NoSchedule"}]}}}}`)
	s.apply(i, config)
	if after := strings.Join(p.Names(), " "); after != before {
		t.Fatalf("the machines were %s and are %s", before, after)
	}
	s.apply(i, nil)
	if got := p.Template(); got != "other:NoSchedule, vendor=x:NoSchedule" {
		t.Fatalf("the template has %q", got)
	}
}

func TestAccMachineSetTaints_importThenDestroyTakesThemAway(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	p := s.pool(1, func(m *acctest.MachineSet) { m.Taints = foreign + " team=a:NoSchedule" })
	i, d := s.tf.Import(t, "kubetaint_machine_set_taints", s.namespace+"/"+p.Name+"/team:NoSchedule")
	if d.Errors() != "" {
		t.Fatal(d.Errors())
	}
	config := s.config(p.Name, "team=a:NoSchedule", map[string]any{"strategy": "template_only"})
	if planned := s.tf.Plan(t, i, config); !planned.Empty || planned.Diagnostics.Warnings() != "" {
		t.Fatalf("the plan after the import is not empty: %s", planned.Diagnostics.Warnings())
	}
	config = s.config(p.Name, "team=b:NoSchedule", map[string]any{"strategy": "in_place"})
	s.apply(i, config)
	p.Want(1, foreign+" team=b:NoSchedule")
	s.apply(i, nil)
	p.Want(1, foreign)
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
	acctest.WantAll(s.T, told, "may not go through by itself", "machine "+machine.Name+" waits for the lifecycle hook Migrate of storage before it goes",
		"machine "+machine.Name+" is not drained (machine.openshift.io/exclude-node-draining): its pods are killed with it",
		"sets spec.replicas as well", `the annotation capacity.cluster-autoscaler.kubernetes.io/taints of the MachineSet is "team=old:NoSchedule" and is not changed here`)
	told = s.tf.Plan(t, newInstance(), s.config(p.Name, "team=a:NoSchedule", map[string]any{"strategy": "in_place"})).Diagnostics.Warnings()
	if strings.Contains(told, "lifecycle hook") || strings.Contains(told, "is not drained") || !strings.Contains(told, "team=old:NoSchedule") {
		t.Errorf("in place it warns of %s", told)
	}
	s.c.Change(t, machine, "storage", `{"spec":{"lifecycleHooks":null}}`)
}
