// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package session

import (
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/diag"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/messages"
)

// TestData_Connected_refusesWhatIsNotTheStatesCluster before anything else is read.
func TestData_Connected_refusesWhatIsNotTheStatesCluster(t *testing.T) {
	t.Parallel()
	messages.Expect(t, "Unable to connect to the cluster: the provider block is not known yet")
	var diags diag.Diagnostics
	if _, ok := (&Data{}).Connected(t.Context(), "", &diags); ok || len(diags) != 1 || diags[0].Summary() != "Unable to connect to the cluster: the provider block is not known yet" {
		t.Errorf("without a cluster: connected %t, %v", ok, diags)
	}
	messages.GotAll(t, diags)
	diags = nil
	if sameCluster("one", "two", &diags) || len(diags) != 1 || diags[0].Summary() != "Unable to use this state with another cluster" {
		t.Errorf("of another cluster: %v", diags)
	}
	diags = nil
	if !sameCluster("", "two", &diags) || !sameCluster("two", "two", &diags) || len(diags) > 0 {
		t.Errorf("of any cluster, or of the same: %v", diags)
	}
}
