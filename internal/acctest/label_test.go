// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package acctest

import (
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// TestBare_isASummaryThatTwoBlocksOfOneRunWouldShare: of an error, the attribute tells them apart.
func TestBare_isASummaryThatTwoBlocksOfOneRunWouldShare(t *testing.T) {
	t.Parallel()
	const warning, failure = tfprotov6.DiagnosticSeverityWarning, tfprotov6.DiagnosticSeverityError
	at := tftypes.NewAttributePath().WithAttributeName("match")
	for _, tt := range []struct {
		name     string
		severity tfprotov6.DiagnosticSeverity
		at       *tftypes.AttributePath
		summary  string
		want     bool
	}{
		{"no name", warning, nil, "The rollout may not finish by itself", true},
		{"no name beside an attribute", warning, at, "The rollout may not finish by itself", true},
		{"numbers alone", warning, nil, "Applying evicts 30 pods of 4 nodes: 1 lost, 4 pending", true},
		{"an empty name", warning, nil, `The rollout of "" may not finish by itself`, true},
		{"an object", warning, nil, `The rollout of MachineSet "openshift-machine-api/a" may not finish by itself`, false},
		{"a taint", warning, nil, "Removing taint team=a:NoExecute beyond the changed attributes, from 1 node", false},
		{"a toleration of every effect", warning, nil, "Removing toleration team=a beyond the changed attributes, from 1 workload", false},
		{"a label", warning, nil, "OpenShift will restore label dedicated, which this plan removes from 1 node", false},
		{"nodes in a list", warning, nil, "Dedicating nodes worker-1, worker-2 to its workloads restarts 2 pods", false},
		{"a node at the end", warning, nil, "A node has entries with old ownership records of this resource: worker-1", false},
		{"the cluster of all blocks", warning, nil, "Unable to read the cluster, so the plan is made without it", false},
		{"an error without an attribute", failure, nil, "Unable to create taints", true},
		{"an error at an attribute", failure, at, "Unable to match every pod with an empty match", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := bare(&tfprotov6.Diagnostic{Severity: tt.severity, Attribute: tt.at, Summary: tt.summary}); got != tt.want {
				t.Errorf("bare is %v of %s", got, tt.summary)
			}
		})
	}
}
