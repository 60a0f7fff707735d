// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package workloadtolerations_test

import (
	"strings"
	"testing"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
)

// TestOrder_aTaintTakesAwayWhatAResourceThatItKnowsHasLeft has a toleration retire and its taint
// go in a process that does not walk the toleration's resource, as where a saved plan is applied.
func TestOrder_aTaintTakesAwayWhatAResourceThatItKnowsHasLeft(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		// meet has them in one process before the toleration retires, or after that.
		meetBefore, meetAfter bool
		// gone destroys the toleration's resource, rather than to change it.
		gone   bool
		linked bool
		stays  bool
	}{
		"linked, and known since it was created":     {meetBefore: true, linked: true},
		"linked, and its resource is destroyed":      {meetBefore: true, linked: true, gone: true},
		"known from the run before alone":            {meetAfter: true, linked: true},
		"in one configuration, with no link":         {meetBefore: true, gone: true},
		"never in one run":                           {linked: true, stays: true},
		"never in one run, and its resource is gone": {gone: true, stays: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inShop(t, func(t *testing.T, s *shop) {
				thing := s.make("Deployment", "web", 1, "", nil)
				tolerations, taints := s.fresh(), &acctest.Instance{Type: "kubetaint_node_taints"}
				s.apply(tolerations, s.manage(thing, "team=a:NoExecute spot=b:NoSchedule", nil))
				config := map[string]any{"node_name": s.pool, "taints": acctest.Objects(t, "team=a:NoExecute")}
				if tt.linked {
					config["tolerated_by"] = []any{s.tf.Attributes(t, tolerations)["id"]}
				}
				if d := s.tf.Apply(t, taints, config); d.Errors() != "" {
					t.Fatal(d.Errors())
				}
				if tt.meetBefore {
					s.together(tolerations, taints)
				}
				left, marks := "spot=b:NoSchedule", 1
				if tt.gone {
					left, marks = "", 0
					s.destroy(tolerations)
				} else {
					s.apply(tolerations, s.manage(thing, left, nil))
				}
				if tt.meetAfter {
					s.together(tolerations, taints)
				}
				s.tf = &acctest.Terraform{Provider: s.c.Provider(t)}
				planned := s.tf.Plan(t, taints, nil)
				said := planned.Diagnostics.Warnings()
				d := s.tf.Carry(t, taints, planned, nil)
				if d.Errors() != "" {
					t.Fatal(d.Errors())
				}
				names := strings.Contains(said, `leaves 1 toleration of Deployment "`+s.namespace+`/web" that no taint needs any more`) && strings.Contains(said, "web\": team=a:NoExecute")
				if !tt.stays {
					s.want(thing, left, marks)
					if names {
						t.Errorf("it goes, and the plan says that it stays: %s", said)
					}
					return
				}
				if got := s.c.Tolerations(t, s.namespace, "Deployment", "web"); !strings.Contains(got, "team=a:NoExecute") || !names {
					t.Fatalf("the workload has %q, and the plan says: %s", got, said)
				}
				if !tt.gone {
					s.apply(tolerations, s.manage(thing, left, nil))
					s.want(thing, left, 1)
				}
			})
		})
	}
}
