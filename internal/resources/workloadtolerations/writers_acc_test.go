// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package workloadtolerations_test

import (
	"fmt"
	"sync"
	"testing"
)

// The DaemonSet controller gives its pods tolerations that no template has.
func TestAccWorkloadTolerations_whatControllersAddToPodsIsNoDifference(t *testing.T) {
	t.Parallel()
	s := openShop(t)
	thing := s.make("DaemonSet", "agent", 1, "", nil)
	i, config := s.fresh(), s.manage(thing, "node.kubernetes.io/unreachable*:NoExecute team=a:NoExecute", nil)
	s.apply(i, config)
	if pods := s.live("agent"); len(pods) != 1 || len(pods[0].Spec.Tolerations) < 6 {
		t.Fatalf("the controller has added nothing: %v", pods)
	}
	s.want(thing, "node.kubernetes.io/unreachable*:NoExecute team=a:NoExecute", 2)
	s.destroy(i)
	s.want(thing, "", 0)
}

// TestAccWorkloadTolerations_manyWritersLoseNothing has others add entries of their own
// to the same workload while the resource is created, updated and destroyed.
func TestAccWorkloadTolerations_manyWritersLoseNothing(t *testing.T) {
	t.Parallel()
	s := openShop(t)
	thing := s.make("Deployment", "web", 0, "foreign*", nil)
	const writers, each = 8, 4
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for n := range each {
				s.add(t.Context(), "web", fmt.Sprintf("writer-%d-%d*", w, n))
			}
		})
	}
	i := s.fresh()
	for _, all := range []string{"team=a:NoExecute", "team=b:NoExecute spot*", "spot*"} {
		s.apply(i, s.manage(thing, all, nil))
	}
	s.destroy(i)
	wg.Wait()
	standing := s.standing(thing, s.pathOf("Deployment"))
	if len(standing) != 1+writers*each {
		t.Fatalf("%d entries stand there, want %d: %s", len(standing), 1+writers*each, formatted(standing))
	}
	if record := s.record(thing); len(record) > 0 {
		t.Fatalf("marks are left: %v", record)
	}
}
