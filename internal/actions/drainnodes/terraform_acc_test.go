// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package drainnodes_test

import (
	"slices"
	"strings"
	"testing"
)

const invokePool = "-invoke=action.kubetaint_drain_nodes.pool"

// The guide warns of each of these habits of Terraform 1.16.0. If a newer version fails one of
// these tests, the guide can say less.

// TestAccDrainNodes_aFullDestroyGoesOnWhereTheDrainFails: a failed action is a warning there
// (hashicorp/terraform v1.16.0 internal/terraform/node_resource_abstract_instance.go,
// invokeDestroyActions).
func TestAccDrainNodes_aFullDestroyGoesOnWhereTheDrainFails(t *testing.T) {
	t.Parallel()
	s := newCloud(t)
	s.runs(pools{names: []string{"blue"}}, "db", 2)
	s.spare()
	s.c.Budget(t, s.apps, "strict", "db")
	s.write(pools{names: []string{"blue"}, drain: []string{`timeout = "5s"`}})
	s.says(s.cli.MustRun("destroy", "-auto-approve", "-input=false"), "Warning: Unable to drain", "the drain timed out", "Destroy complete!")
	s.wants()
}

// TestAccDrainNodes_anInstanceThatGoesIsDrained, and where the drain fails it stays. A refused plan
// is only a warning there, the action is not invoked, and the pool goes (hashicorp/terraform v1.16.0
// internal/terraform/node_resource_plan_orphan.go).
func TestAccDrainNodes_anInstanceThatGoesIsDrained(t *testing.T) {
	t.Parallel()
	both, green := []string{"blue", "green"}, []string{"green"}
	s := newCloud(t)
	s.runs(pools{names: both[:1]}, "db", 2)
	s.write(pools{names: both})
	s.cli.MustRun("apply", "-auto-approve", "-input=false")
	letGo := s.c.Budget(t, s.apps, "strict", "db")
	s.write(pools{names: green, drain: []string{`timeout = "20s"`}})
	s.says(s.cli.MustRun(planned...), "evicts 2 pods", "will be destroyed")
	s.fails(applied, "the drain timed out", "cannot be evicted yet: The disruption budget strict needs")
	s.wants(both...)
	letGo()
	s.write(pools{names: green, drain: []string{"evictions = { max_pods = 0 }"}})
	s.says(s.cli.MustRun(planned...), "Warning: Orphaned action failed to plan", "2 pods would be evicted, and max_pods allows 0")
	s.write(pools{names: green})
	leave := s.c.Disruptions(t, s.apps)
	s.cli.MustRun("apply", "-auto-approve", "-input=false")
	evictedOnly(t, leave(), 2)
	s.wants(green...)
	s.c.Running(t, s.apps, "db", 2)
}

// TestAccDrainNodes_aDeposedPoolIsNotDrained: with create_before_destroy, the apply after a failed
// drain destroys the old pool without an action.
func TestAccDrainNodes_aDeposedPoolIsNotDrained(t *testing.T) {
	t.Parallel()
	s := newCloud(t)
	config := pools{names: []string{"blue"}, lifecycle: "create_before_destroy = true", drain: []string{`timeout = "5s"`}}
	s.runs(config, "db", 2)
	s.spare()
	s.c.Budget(t, s.apps, "strict", "db")
	config.generation++
	s.write(config)
	s.cli.MustRun(planned...)
	s.fails(applied, "the drain timed out")
	out := s.cli.MustRun("apply", "-auto-approve", "-input=false")
	s.says(out, "(deposed object", "Destruction complete")
}

// TestAccDrainNodes_aDeletedBlockDrainsNothing: its triggers are gone with it. So the guide drains by
// hand first.
func TestAccDrainNodes_aDeletedBlockDrainsNothing(t *testing.T) {
	t.Parallel()
	s := newCloud(t)
	config := pools{names: []string{"blue"}, drain: []string{`timeout = "20s"`}}
	s.runs(config, "web", 2)
	s.spare()
	s.c.Budget(t, s.apps, "strict", "web")
	s.fails([]string{"apply", "-auto-approve", "-input=false", invokePool}, "the drain timed out", "These nodes are cordoned")
	s.wants("blue")
	s.cli.Write(s.c.Provider(t), "")
	out := s.cli.MustRun("apply", "-auto-approve", "-input=false")
	s.says(out, "Apply complete! Resources: 0 added, 0 changed, 2 destroyed.")
	if strings.Contains(out, "Unable to drain") || strings.Contains(out, "Action") {
		t.Errorf("an action was invoked:\n%s", out)
	}
}

// TestAccDrainNodes_byHandItDrainsEachPoolThatTriggersIt, unless -target names one.
func TestAccDrainNodes_byHandItDrainsEachPoolThatTriggersIt(t *testing.T) {
	t.Parallel()
	s := newCloud(t)
	s.write(pools{names: []string{"blue", "green"}})
	s.cli.MustRun("apply", "-auto-approve", "-input=false")
	cordoned := func(want ...string) {
		t.Helper()
		for _, pool := range []string{"blue", "green"} {
			if got := s.c.Get(t, s.pool+"-"+pool+"1").Spec.Unschedulable; got != slices.Contains(want, pool) {
				t.Fatalf("pool %s is cordoned: %t", pool, got)
			}
		}
	}
	s.cli.MustRun("apply", "-auto-approve", "-input=false", invokePool, `-target=terraform_data.pool["blue"]`)
	cordoned("blue")
	s.cli.MustRun("apply", "-auto-approve", "-input=false", invokePool)
	cordoned("blue", "green")
}

// TestAccDrainNodes_destroyProvisionersRunBeforeIt, so that one which deletes the machines belongs to a
// resource that goes later.
func TestAccDrainNodes_destroyProvisionersRunBeforeIt(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.cli.NeedTerraform(16)
	s.cli.Write(s.c.Provider(t), `
resource "terraform_data" "pool" {
  provisioner "local-exec" {
    when    = destroy
    command = "echo the machines are deleted"
  }
  lifecycle {
    action_trigger {
      events  = [before_destroy]
      actions = [action.kubetaint_drain_nodes.this]
    }
  }
}
`+s.byName())
	s.cli.MustRun("apply", "-auto-approve", "-input=false")
	out := s.cli.MustRun("destroy", "-auto-approve", "-input=false")
	deleted, drained := strings.Index(out, "the machines are deleted"), strings.Index(out, "Action started")
	if deleted < 0 || drained < deleted {
		t.Errorf("the order is another one:\n%s", out)
	}
}
