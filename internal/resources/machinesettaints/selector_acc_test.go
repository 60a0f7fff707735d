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

// TestAccMachineSetTaints_toleratedBy changes tolerations and the taint for them in
// one apply: no pod is evicted for a taint, and what retires goes with the old one.
func TestAccMachineSetTaints_toleratedBy(t *testing.T) {
	t.Parallel()
	for _, strategy := range []string{"in_place", "rolling"} {
		t.Run(strategy, func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
			p, apps := s.pool(2, nil), s.c.Namespace(t)
			s.c.Deployment(t, apps, "web", 2, func(spec *corev1.PodSpec) {
				spec.NodeSelector = map[string]string{"pool": p.Name}
				spec.Tolerations = acctestTolerations(t, foreign)
			})
			cli, evicted := acctest.NewCLI(t), s.c.Evictions(t, apps)
			// Tolerations that retire go with the last taint of the cluster that needs them.
			for _, value := range []string{acctest.Name(t, "a"), acctest.Name(t, "b"), ""} {
				config := ""
				if value != "" {
					config = strings.Replace(strings.Replace(s.hcl(p.Name, value, fmt.Sprintf("strategy = %q", strategy)), "NoSchedule", "NoExecute", 1), "  rollout",
						"  tolerated_by = [kubetaint_workload_tolerations.web.id]\n  rollout", 1)
					config += fmt.Sprintf("resource \"kubetaint_workload_tolerations\" \"web\" {\n  workload = { kind = \"Deployment\", namespace = %q, name = \"web\" }\n  tolerations = [{ key = \"team\", value = %q, effect = \"NoExecute\" }]\n}\n", apps, value)
				}
				cli.Write(s.c.Provider(t), config)
				cli.MustRun("apply", "-auto-approve", "-input=false")
				taints, tolerations := foreign, "vendor=x:NoSchedule"
				if value != "" {
					taints += " team=" + value + ":NoExecute"
					tolerations += ", team=" + value + ":NoExecute"
				}
				p.Want(2, taints)
				s.c.Running(t, apps, "web", 2)
				if got := s.c.Tolerations(t, apps, "Deployment", "web"); got != tolerations {
					t.Fatalf("with the value %q the template has %s, want %s", value, got, tolerations)
				}
				cli.WantEmptyPlan()
			}
			if names := evicted(); len(names) > 0 {
				t.Fatalf("the taint-eviction controller deleted %v", names)
			}
		})
	}
}
