// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package fw

import (
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/eviction"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/golden"
)

// The goldens are whole errors, to be read aloud.
func TestBudgetAllow_goldens(t *testing.T) {
	t.Parallel()
	none := int64(0)
	for name, tt := range map[string]struct {
		budget Budget
		report *eviction.Report
		began  bool
	}{
		"stranded":         {report: reportOf(leaving(2, "Deployment/web", eviction.EvictedNow, stranded))},
		"stranded-began":   {report: reportOf(leaving(2, "Deployment/web", eviction.EvictedNow, stranded)), began: true},
		"exceeded":         {budget: Budget{MaxPods: &none}, report: reportOf(leaving(2, "Deployment/web", eviction.EvictedNow))},
		"exceeded-perhaps": {budget: Budget{MaxPods: &none}, report: reportOf(leaving(2, "Deployment/web", eviction.Unknown, hedged))},
		"exceeded-began":   {budget: Budget{MaxPods: &none}, report: reportOf(leaving(2, "Deployment/web", eviction.EvictedNow)), began: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			about := applying(t, `2 nodes matching "pool=a"`, true, "dedicated=gpu:NoExecute")
			about.Verb, about.Began = "apply", tt.began
			err, worded := tt.budget.Allow(tt.report, about, path.Root("tolerated_by"), true).(interface{ Diagnostic() diag.Diagnostic })
			if !worded {
				t.Fatalf("it is allowed, or not worded: %v", err)
			}
			golden.Check(t, "refused-"+name+".golden", err.Diagnostic().Summary()+"\n\n"+err.Diagnostic().Detail()+"\n")
		})
	}
}
