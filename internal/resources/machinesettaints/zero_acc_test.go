// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package machinesettaints_test

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
)

// TestAccMachineSetTaints_interruptedAtZeroScalesBackForLinkedPods: the
// second pod of the StatefulSet is made once the first is ready, which needs a machine. To
// wait for both before the rollout goes on would never end.
func TestAccMachineSetTaints_interruptedAtZeroScalesBackForLinkedPods(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	p, apps := s.pool(2, nil), s.c.Namespace(t)
	s.c.StatefulSet(t, apps, "db", 2, func(spec *corev1.PodSpec) {
		spec.NodeSelector, spec.Tolerations = map[string]string{"pool": p.Name}, acctestTolerations(t, foreign)
	})
	cli := acctest.NewCLI(t)
	taints := strings.Replace(s.hcl(p.Name, "a", `strategy = "scale_to_zero"`), "  rollout", "  tolerated_by = [kubetaint_workload_tolerations.db.id]\n  rollout", 1)
	taints = strings.ReplaceAll(taints, `"10m"`, `"4m"`)
	cli.Write(s.c.Provider(t), taints+fmt.Sprintf(`resource "kubetaint_workload_tolerations" "db" {
  workload    = { kind = "StatefulSet", namespace = %q, name = "db" }
  tolerations = [{ key = "team", value = "a", effect = "NoSchedule" }]
}
`, apps))
	cli.MustRun("apply", "-auto-approve", "-input=false")
	p.Want(2, foreign+" team=a:NoSchedule")

	p.LeaveAtZero(fmt.Sprintf("terraform/machine_set_taints/%s/%s/team:NoSchedule", s.namespace, p.Name))
	s.c.StuckAtFirst(t, apps, "db")
	if plan := cli.MustRun("plan", "-input=false", "-no-color"); !saysInterrupted(plan) {
		t.Fatalf("the plan does not say that a rollout is interrupted:\n%s", plan)
	}
	cli.MustRun("apply", "-auto-approve", "-input=false")
	p.Want(2, foreign+" team=a:NoSchedule")
	s.c.Running(t, apps, "db", 2)
	cli.WantEmptyPlan()
}
