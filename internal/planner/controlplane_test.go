// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package planner

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
)

func TestUnmarked_reportsControlPlaneNodesWithoutTheirTaint(t *testing.T) {
	t.Parallel()
	const role, older = "node-role.kubernetes.io/control-plane", "node-role.kubernetes.io/master"
	for name, tt := range map[string]struct {
		label  string
		has    []string
		wanted string
		want   []string
		// others are taints that resources of the run add which were planned before.
		others string
	}{
		"a node of the control plane that lacks it":                    {role, nil, "a:NoSchedule", []string{"n"}, ""},
		"one by its older name":                                        {older, nil, "a:NoSchedule", []string{"n"}, ""},
		"one that has it":                                              {role, []string{role + ":NoSchedule"}, "a:NoSchedule", nil, ""},
		"one that has the older one":                                   {role, []string{older + ":NoSchedule"}, "a:NoSchedule", nil, ""},
		"one that has it with another effect":                          {role, []string{role + ":PreferNoSchedule"}, "a:NoSchedule", []string{"n"}, ""},
		"another effect is no matter":                                  {role, nil, "a:NoExecute", nil, ""},
		"a worker":                                                     {"node-role.kubernetes.io/worker", nil, "a:NoSchedule", nil, ""},
		"one that has the wanted taint already":                        {role, []string{"*a:NoSchedule"}, "a:NoSchedule", nil, ""},
		"one whose wanted taint changes its value only":                {role, []string{"*a=x:NoSchedule"}, "a=y:NoSchedule", []string{"n"}, ""},
		"one that another resource of the run gives it":                {role, nil, "a:NoSchedule", nil, role + ":NoSchedule"},
		"one that gets another effect from another resource":           {role, nil, "a:NoSchedule", []string{"n"}, role + ":NoExecute"},
		"one that loses it, and gets the effect from another resource": {role, []string{"*" + role + ":NoSchedule"}, "a:NoExecute", []string{"n"}, "b:NoSchedule"},
		"one that loses it":                                            {role, []string{"*" + role + ":NoSchedule"}, "a:NoExecute", nil, ""},
		"one that lacks it, of which another resource has said so":     {role, nil, "a:NoExecute", nil, "b:NoSchedule"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := aNode(t, "n", "gpu", tt.has...)
			n.Labels[tt.label] = ""
			var others *snapshot.Others
			if tt.others != "" {
				others = &snapshot.Others{Taints: map[string][]corev1.Taint{"n": taintsOf(t, tt.others)}}
			}
			if diff := cmp.Diff(tt.want, PlanNodes([]*snapshot.Node{n}, desire(t, pool(t, "gpu"), tt.wanted)).MissingControlPlaneTaint(others)); diff != "" {
				t.Error(diff)
			}
		})
	}
}
