// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package managed

import (
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/machineset"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/planner"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
)

func TestParseImportID(t *testing.T) {
	t.Parallel()
	for id, want := range map[string]string{
		"node/a/team:NoExecute": "node/a team:NoExecute",
		"selector/pool=gpu/node-role.kubernetes.io/infra:NoSchedule":                          "selector/pool=gpu node-role.kubernetes.io/infra:NoSchedule",
		"machine_sets/openshift-machine-api/infra-a/team:NoSchedule":                          "machine_sets/openshift-machine-api/infra-a team:NoSchedule",
		"machine_sets/openshift-machine-api/infra-a/node-role.kubernetes.io/infra:NoSchedule": "machine_sets/openshift-machine-api/infra-a node-role.kubernetes.io/infra:NoSchedule",
		"machine_sets/m/pool=gpu/example.com/team:NoSchedule":                                 "machine_sets/m/pool=gpu example.com/team:NoSchedule",
		"machine_sets/m/a in (b,c)/team:NoSchedule":                                           "machine_sets/m/a in (b,c) team:NoSchedule",
		"machine_sets/m/team:NoSchedule":                                                      "",
		"machine_sets/m/ /team:NoSchedule":                                                    "",
		"machine_sets//a/team:NoSchedule":                                                     "",
	} {
		t.Run(id, func(t *testing.T) {
			t.Parallel()
			target, ids, err := parseImportID(id)
			got := ""
			if err == nil {
				got = target.String() + " " + ids[0].String()
			}
			if got != want || (want == "") != (err != nil) {
				t.Errorf("it is read as %q (%v), want %q", got, err, want)
			}
		})
	}
}

func TestInspectTaints_saysHowToListTheTaintsThatThereAre(t *testing.T) {
	t.Parallel()
	for want, target := range map[string]planner.Target{
		"kubectl describe node a":                                   {Name: "a"},
		"kubectl describe node a b":                                 {Names: []string{"a", "b"}},
		"kubectl describe nodes -l 'pool=gpu'":                      {Selector: labels.SelectorFromSet(labels.Set{"pool": "gpu"})},
		"kubectl get machinesets.machine.openshift.io -n m -o yaml": {MachineSets: &machineset.Target{Namespace: "m", Name: "a"}},
	} {
		var diags diag.Diagnostics
		if _, ok := InspectTaints(nil, target, []taint.ID{{Key: "team", Effect: "NoExecute"}}, &diags); ok || len(diags) != 1 || !strings.HasSuffix(diags[0].Detail(), "List the existing taints: "+want+".") {
			t.Errorf("%s: it says %v", target, diags)
		}
	}
}
