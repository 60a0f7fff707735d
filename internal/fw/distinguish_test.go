// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package fw

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
)

// TestData_DistinguishReads has data sources of one run warn: no two summaries are equal, and the same
// words are said once.
func TestData_DistinguishReads(t *testing.T) {
	t.Parallel()
	var d Data
	var got []string
	for _, warning := range []diag.Diagnostic{
		diag.NewWarningDiagnostic("damaged", "node a"),
		diag.NewWarningDiagnostic("damaged", "node a"),
		diag.NewAttributeWarningDiagnostic(path.Root("x"), "damaged", "node b"),
		diag.NewWarningDiagnostic("damaged", "node b"),
		diag.NewErrorDiagnostic("damaged", "node a"),
		diag.NewWarningDiagnostic("other", "node a"),
	} {
		diags := diag.Diagnostics{warning}
		d.DistinguishReads(&diags)
		for _, one := range diags {
			got = append(got, one.Severity().String()+" "+one.Summary()+": "+one.Detail())
		}
	}
	want := []string{"Warning damaged: node a", "Warning damaged (data source 2): node b", "Error damaged: node a", "Warning other: node a"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
