// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package planner

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/label"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/toleration"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/workload"
)

// TestUnnamedInWorkloads leaves out what the attributes show, and what others have left behind: that is told
// with the taints that it goes with.
func TestUnnamedInWorkloads(t *testing.T) {
	t.Parallel()
	web := aWorkload(t, "Deployment", "web")
	removes := func(retained bool, notations ...string) Step {
		return Step{Kind: Contract, Workload: web, Retained: retained, Merged: toleration.Merged{Removed: tols(t, notations...)}, Pins: label.Merged{Removed: []string{"pool", "tier"}}}
	}
	named := func(ref workload.Ref) ([]toleration.ID, []string) {
		if ref != web.Ref {
			return nil, nil
		}
		return toleration.IDs(tols(t, "a=1:NoExecute")), []string{"pool"}
	}
	want := map[string][]string{"toleration b=1:NoExecute": {web.String()}, "node selector tier": {web.String()}}
	for name, tt := range map[string]struct {
		steps []Step
		want  map[string][]string
	}{
		"what is not named":           {[]Step{removes(false, "a=1:NoExecute", "b=1:NoExecute")}, want},
		"twice":                       {[]Step{removes(false, "b=1:NoExecute"), removes(false, "b=1:NoExecute")}, want},
		"what others have left":       {[]Step{removes(true, "b=1:NoExecute")}, map[string][]string{}},
		"steps that are about no one": {[]Step{{Kind: Switched}}, map[string][]string{}},
	} {
		if diff := cmp.Diff(tt.want, UnnamedInWorkloads(tt.steps, named)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}
