// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package fw

import (
	"testing"
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
