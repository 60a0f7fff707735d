// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package workloadtolerations_test

import (
	"fmt"
	"testing"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
)

// An apply ends when no running pod of a DaemonSet is without the tolerations, whatever the pace of the
// rollout: with a surge the older pods run beside the new ones until these are ready.
func TestWorkloadTolerations_waitsForADaemonSetAtEachPace(t *testing.T) {
	t.Parallel()
	for name, rolling := range map[string]map[string]any{
		"one unavailable":  {"maxUnavailable": 1},
		"half unavailable": {"maxUnavailable": "50%"},
		"all unavailable":  {"maxUnavailable": "100%"},
		"one more":         {"maxSurge": 1, "maxUnavailable": 0},
		"half more":        {"maxSurge": "50%", "maxUnavailable": 0},
		"as many more":     {"maxSurge": "100%", "maxUnavailable": 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inShop(t, func(t *testing.T, s *shop) {
				const nodes = 5
				for n := range nodes - 1 {
					s.c.Node(t, acctest.Node{Name: fmt.Sprintf("%s-%d", s.pool, n), Labels: map[string]string{"shop": s.pool}})
				}
				thing := s.make("DaemonSet", "agent", nodes, "", map[string]any{"updateStrategy": map[string]any{"type": "RollingUpdate", "rollingUpdate": rolling}})
				i := s.fresh()
				for _, wanted := range []string{"team=a:NoExecute", "team=b:NoExecute"} {
					s.apply(i, s.manage(thing, wanted, nil))
					s.wantPods("agent", nodes, wanted, "DaemonSet")
				}
			})
		})
	}
}
