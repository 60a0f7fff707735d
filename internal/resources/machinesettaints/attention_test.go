// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package machinesettaints_test

import (
	"strings"
	"testing"
	"time"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/machineset"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/fakeapi/controllers"
)

// TestMachineSetTaints_warnsOnlyWhereNoControllerActs: it takes a status that says so, in a
// namespace that OpenShift's operator does not watch, for longer than a controller needs.
func TestMachineSetTaints_warnsOnlyWhereNoControllerActs(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		namespace string
		status    string
		after     time.Duration
		warns     string
	}{
		"never observed":                 {status: `{"status":{"replicas":0}}`, after: time.Minute, warns: "Its status.observedGeneration has never been set"},
		"an old generation observed":     {status: `{"status":{"observedGeneration":1}}`, after: time.Minute, warns: "Its status.observedGeneration is older than its generation"},
		"just written":                   {status: `{"status":{"replicas":0}}`, after: 10 * time.Second},
		"the newest one observed":        {status: `{"status":{"observedGeneration":2}}`, after: time.Minute},
		"never observed, the operator's": {namespace: machineset.OperatorNamespace, status: `{"status":{"replicas":0}}`, after: time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			acctest.OnFake(t, func(t *testing.T, c *acctest.Cluster) {
				namespace := tt.namespace
				if namespace == "" {
					namespace = c.Namespace(t)
				} else {
					c.Make(t, acctest.Thing{APIVersion: "v1", Kind: "Namespace", Name: namespace}, nil)
				}
				set := c.Unattended(t, namespace)
				c.Change(t, set, "kubectl", `{"spec":{"replicas":3}}`)
				c.ChangeStatus(t, set, tt.status)
				// No time passes for it: see acctest.OnFake.
				time.Sleep(tt.after)
				tf := &acctest.Terraform{Provider: c.Provider(t)}
				for strategy, follows := range map[string]string{
					"rolling": "no machine will follow this change", "in_place": "its machines are changed, and no new one will come", "template_only": "no machine will follow this change",
				} {
					told := tf.Plan(t, newInstance(), map[string]any{
						"namespace": namespace, "name": set.Name, "taints": acctest.Objects(t, "team=a:NoSchedule"), "rollout": map[string]any{"strategy": strategy},
					}).Diagnostics
					if told.Errors() != "" {
						t.Fatal(told.Errors())
					}
					if warns := strings.Contains(told.Warnings(), `No controller acts on MachineSet "`+namespace+"/"+set.Name+`": `+follows); warns != (tt.warns != "") || !strings.Contains(told.Warnings(), tt.warns) {
						t.Errorf("%s: it warns of %q, want %q", strategy, told.Warnings(), tt.warns)
					}
				}
			}, controllers.MachineAPI...)
		})
	}
}

// TestMachineSetTaints_replacesNothingWhereNoControllerActs: the plan reports that the apply
// stops, and the apply writes nothing.
func TestMachineSetTaints_replacesNothingWhereNoControllerActs(t *testing.T) {
	t.Parallel()
	for _, strategy := range []string{"rolling", "surge", "scale_to_zero"} {
		t.Run(strategy, func(t *testing.T) {
			t.Parallel()
			acctest.OnFake(t, func(t *testing.T, c *acctest.Cluster) {
				set := c.Unattended(t, c.Namespace(t))
				c.MachineOf(t, set, "m1")
				time.Sleep(time.Minute)
				tf, before := &acctest.Terraform{Provider: c.Provider(t)}, c.Look(t, set)
				config := map[string]any{"namespace": set.Namespace, "name": set.Name, "taints": acctest.Objects(t, "team=a:NoSchedule"), "rollout": map[string]any{"strategy": strategy}}
				planned := tf.Plan(t, newInstance(), config)
				acctest.WantAll(t, planned.Diagnostics.Warnings(), "Apply will stop before it changes MachineSet", "so nothing would replace its machines", "The strategies in_place and template_only need none.")
				if strings.Contains(planned.Diagnostics.Warnings(), "no machine will follow") {
					t.Errorf("it says the same twice: %s", planned.Diagnostics.Warnings())
				}
				began := time.Now()
				acctest.WantAll(t, tf.Apply(t, newInstance(), config).Errors(), "No controller acts on MachineSet", "openshift-machine-api alone")
				if took := time.Since(began); took > time.Minute {
					t.Errorf("it waited for %s", took)
				}
				if now := c.Look(t, set); now.GetResourceVersion() != before.GetResourceVersion() {
					t.Errorf("it wrote the MachineSet: %v", now.Object)
				}
			}, controllers.MachineAPI...)
		})
	}
}

// TestMachineSetTaints_inPlaceWaitsForNoControllerThatDoesNotAct, and is undone as well.
func TestMachineSetTaints_inPlaceWaitsForNoControllerThatDoesNotAct(t *testing.T) {
	t.Parallel()
	acctest.OnFake(t, func(t *testing.T, c *acctest.Cluster) {
		set := c.Unattended(t, c.Namespace(t))
		c.MachineOf(t, set, "m1")
		tf, i := &acctest.Terraform{Provider: c.Provider(t)}, newInstance()
		config := map[string]any{"namespace": set.Namespace, "name": set.Name, "taints": acctest.Objects(t, "team=a:NoSchedule"), "rollout": map[string]any{"strategy": "in_place"}}
		began := time.Now()
		tf.Settle(t, i, config)
		tf.Destroy(t, i)
		if took := time.Since(began); took > 2*time.Minute {
			t.Errorf("it waited for %s", took)
		}
	}, controllers.MachineAPI...)
}
