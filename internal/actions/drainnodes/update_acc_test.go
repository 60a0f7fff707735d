// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package drainnodes_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// writeUpdated writes a pool whose version is updated in place. The cloud upgrades the machines after
// that: Terraform would destroy what depends on the pool before the update, and so before the drain.
// Terraform 1.14 has before_update, and no caller in the action.
func (s *cloud) writeUpdated(version int, drain ...string) {
	s.Helper()
	s.cli.Write(s.c.Provider(s.T), fmt.Sprintf(`
resource "terraform_data" "pool" {
  input = "version %[1]d"
  lifecycle {
    action_trigger {
      events  = [before_update]
      actions = [action.kubetaint_drain_nodes.pool]
    }
  }
}

resource "terraform_data" "machines" {
  input            = "blue"
  triggers_replace = terraform_data.pool.output
  provisioner "local-exec" {
    command = %[2]q
  }
  lifecycle {
    create_before_destroy = true
  }
}

action "kubetaint_drain_nodes" "pool" {
  config {
    node_selector = "pool=%[3]s-blue"
    %[4]s
  }
}
`, version, s.request("upgrade"), s.pool, strings.Join(drain, "\n    ")))
}

// machine tells a machine of the pool from the one before.
func (s *cloud) machine() types.UID {
	s.Helper()
	return s.c.Get(s.T, s.pool+"-blue1").UID
}

// wantVersion expects that the state has this version of the pool.
func (s *cloud) wantVersion(version int) {
	s.Helper()
	s.says(s.cli.MustRun("state", "show", "terraform_data.pool"), fmt.Sprintf(`input = "version %d"`, version))
}

// TestAccDrainNodes_beforeUpdateDrainsFirst: the pool is updated once its pods run elsewhere. A drain that
// fails and a refused plan update nothing, and the next apply goes on.
func TestAccDrainNodes_beforeUpdateDrainsFirst(t *testing.T) {
	t.Parallel()
	s := newCloudFor(t, 14)
	s.writeUpdated(1)
	s.cli.MustRun("apply", "-auto-approve", "-input=false")
	s.c.Deployment(t, s.apps, "db", 2, func(spec *corev1.PodSpec) { spec.NodeSelector = map[string]string{"fleet": s.pool} })
	s.spare()
	first := s.machine()

	s.writeUpdated(2, "evictions = { max_pods = 1 }")
	const refused = "2 pods would be evicted, and max_pods allows 1"
	s.fails(planned, refused)
	s.fails([]string{"apply", "-auto-approve", "-input=false"}, refused)
	letGo := s.c.Budget(t, s.apps, "strict", "db")
	s.writeUpdated(2, `timeout = "20s"`)
	s.says(s.cli.MustRun(planned...), "gets stuck on PodDisruptionBudgets", "terraform_data.pool will be updated in-place")
	s.fails(applied, "the drain timed out", "cannot be evicted yet: The disruption budget strict needs", "These nodes are cordoned, and stay so: ")
	s.wantVersion(1)
	if s.machine() != first {
		t.Fatal("the machines are upgraded although the drain has failed")
	}
	s.c.Running(t, s.apps, "db", 2)

	letGo()
	leave := s.c.Disruptions(t, s.apps)
	s.writeUpdated(2)
	s.says(s.cli.MustRun(planned...), `Draining 2 nodes matching "pool=`+s.pool+`-blue" evicts 2 pods`, "Cordoned already, by an earlier drain or by another user: ")
	out := s.cli.MustRun(applied...)
	s.says(out, "2 nodes drained and cordoned", "1 added, 1 changed, 1 destroyed.")
	if drained, updated := strings.Index(out, "2 nodes drained and cordoned"), strings.Index(out, "terraform_data.pool: Modifications complete"); updated < drained {
		t.Errorf("the order is another one:\n%s", out)
	}
	evictedOnly(t, leave(), 2)
	s.wantVersion(2)
	if s.machine() == first {
		t.Fatal("the machines are not upgraded")
	}
	s.c.Running(t, s.apps, "db", 2)
	s.cli.WantEmptyPlan()
}

// TestAccDrainNodes_theExampleOfItsPage: to create the resource drains no node, and a new input drains all pods of
// one. By hand, the pool is drained of some pods, and of all.
func TestAccDrainNodes_theExampleOfItsPage(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	example, err := os.ReadFile(filepath.Join("..", "..", "..", "examples", "actions", "kubetaint_drain_nodes", "action.tf"))
	if err != nil {
		t.Fatal(err)
	}
	s.on(s.node("a"), "web", 1, nil)
	s.on(s.node("a"), "db", 1, nil)
	write := func(input string) {
		t.Helper()
		s.cli.Write(s.c.Provider(t), strings.NewReplacer("worker-3", s.node("a"), "pool=gpu", "pool="+s.pool, "2026-01", input).Replace(string(example)))
	}
	write("2026-01")
	s.cli.MustRun("apply", "-auto-approve", "-input=false")
	s.cordoned()
	write("2026-02")
	s.says(s.cli.MustRun("plan", "-input=false", "-invoke=action.kubetaint_drain_nodes.web"), `of pods matching "app=web" evicts 1 pod`)
	s.says(s.cli.MustRun("apply", "-auto-approve", "-input=false"), `Draining node "`+s.node("a")+`" evicts 2 pods`, "1 node drained and cordoned", "0 added, 1 changed, 0 destroyed.")
	s.cordoned("a")
	s.says(s.cli.MustRun("apply", "-auto-approve", "-input=false", invokePool), "2 nodes drained and cordoned")
	s.cordoned("a", "b")
}

// TestAccDrainNodes_variablesAreValidatedByThePlan: Terraform validates an action while variables are unknown.
func TestAccDrainNodes_variablesAreValidatedByThePlan(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	for variable, tt := range map[string]struct{ attributes, says string }{
		"null": {"node_name = var.value", "Exactly one of these attributes must be configured"},
		`""`:   {"node_selector = var.value", "An empty selector would match everything"},
	} {
		s.cli.Write(s.c.Provider(t), "variable \"value\" {\n  type = string\n  default = "+variable+"\n}\n"+hcl(tt.attributes))
		s.cli.MustRun("validate")
		s.fails([]string{"apply", "-auto-approve", "-input=false", "-invoke=action.kubetaint_drain_nodes.this"}, tt.says)
	}
	s.cordoned()
}
