// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package dedicatednodes_test

import (
	"fmt"
	"testing"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/machineset"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/fakeapi/controllers"
)

// TestDedicatedNodes_whatTemplateOnlyLeftIsNotForgotten by a private state that is lost, and by
// a replacement: in_place removes it from the Machine.
func TestDedicatedNodes_whatTemplateOnlyLeftIsNotForgotten(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		// between returns the object that goes on with a configuration.
		between func(t *testing.T, tf *acctest.Terraform, i *acctest.Instance, config map[string]any) *acctest.Instance
	}{
		"with a private state that was lost": {between: func(_ *testing.T, _ *acctest.Terraform, i *acctest.Instance, _ map[string]any) *acctest.Instance {
			i.Private = nil
			return i
		}},
		"with a replacement that is created first": {between: func(t *testing.T, tf *acctest.Terraform, i *acctest.Instance, config map[string]any) *acctest.Instance {
			return handOver(t, tf, i, config)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			acctest.OnFake(t, func(t *testing.T, c *acctest.Cluster) {
				set := c.Unattended(t, c.Namespace(t))
				c.MachineOf(t, set, "m1")
				machine := acctest.Thing{APIVersion: set.APIVersion, Kind: "Machine", Namespace: set.Namespace, Name: "m1"}
				tf, i := &acctest.Terraform{Provider: c.Provider(t)}, &acctest.Instance{Type: typeName}
				config := func(taints, strategy string) map[string]any {
					return map[string]any{
						"machine_sets": map[string]any{"namespace": set.Namespace, "name": set.Name, "rollout": map[string]any{"strategy": strategy}},
						"taints":       acctest.Objects(t, taints),
					}
				}
				want := func(keys ...string) {
					t.Helper()
					spec, _ := c.Look(t, machine).Object["spec"].(map[string]any)
					list, _ := spec["taints"].([]any)
					got := []string{}
					for _, one := range list {
						got = append(got, fmt.Sprint(one.(map[string]any)["key"]))
					}
					if fmt.Sprint(got) != fmt.Sprint(keys) {
						t.Fatalf("the Machine has taints with the keys %v, want %v", got, keys)
					}
				}
				tf.Settle(t, i, config("crew=a:NoSchedule", "in_place"))
				tf.Settle(t, i, config("team=a:NoSchedule crew=a:NoSchedule", "in_place"))
				tf.Settle(t, i, config("crew=a:NoSchedule", "template_only"))
				want("crew", "team")
				i = tt.between(t, tf, i, config("crew=a:NoSchedule", "template_only"))
				want("crew", "team")
				tf.Settle(t, i, config("crew=a:NoSchedule", "in_place"))
				want("crew")
				if left := c.Look(t, set).GetAnnotations()[machineset.RemnantsAnnotation]; left != "" {
					t.Errorf("the record is left: %s", left)
				}
			}, controllers.MachineAPI...)
		})
	}
}

// handOver replaces an object in one process and creates first: without a plan of the destroy.
func handOver(t *testing.T, tf *acctest.Terraform, older *acctest.Instance, config map[string]any) *acctest.Instance {
	t.Helper()
	newer, plans := &acctest.Instance{Type: typeName}, tf.Walk(t)
	create, destroyed := plans.Plan(newer, config), acctest.Planned{Private: older.Private}
	walk := tf.Walk(t)
	carry := func(i *acctest.Instance, planned acctest.Planned, config map[string]any) {
		if d := walk.ApplyChange(i, planned, config); d.Errors() != "" {
			t.Fatal(d.Errors())
		}
	}
	carry(newer, create, config)
	carry(older, destroyed, nil)
	return newer
}
