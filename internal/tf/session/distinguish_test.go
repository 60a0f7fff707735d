// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package session

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
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

// withID is the value of a plan or a state.
func withID(id string) tftypes.Value {
	return tftypes.NewValue(tftypes.Object{AttributeTypes: map[string]tftypes.Type{"id": tftypes.String}}, map[string]tftypes.Value{"id": tftypes.NewValue(tftypes.String, id)})
}

// The plan of a create has no id yet, and that of a destroy no value.
func TestIDOf_isTheFirstThatIsThere(t *testing.T) {
	t.Parallel()
	object := tftypes.Object{AttributeTypes: map[string]tftypes.Type{"id": tftypes.String}}
	without := []tftypes.Value{
		{}, tftypes.NewValue(object, nil), tftypes.NewValue(object, tftypes.UnknownValue), withID(""),
		tftypes.NewValue(object, map[string]tftypes.Value{"id": tftypes.NewValue(tftypes.String, tftypes.UnknownValue)}),
		tftypes.NewValue(object, map[string]tftypes.Value{"id": tftypes.NewValue(tftypes.String, nil)}),
	}
	for i, value := range without {
		if got := IDOf(value); got != "" {
			t.Errorf("value %d has the id %q", i, got)
		}
	}
	if got := IDOf(append(without, withID("x"), withID("y"))...); got != "x" {
		t.Errorf("it is %q", got)
	}
}

// A resource, data sources and actions of one run warn in the same words: the number of a data source counts
// data sources alone.
func TestData_distinguishesKindsOfObjectsFromEachOther(t *testing.T) {
	t.Parallel()
	var d Data
	resource := func(id string) func(*diag.Diagnostics) {
		return func(diags *diag.Diagnostics) { d.Distinguish(diags, withID(id)) }
	}
	for i, tt := range []struct {
		distinguish func(*diag.Diagnostics)
		detail      string
		want        string
	}{
		{resource("x"), "node a", "damaged"},
		{d.DistinguishReads, "node a", "damaged (data source)"},
		{d.DistinguishReads, "node b", "damaged (data source 2)"},
		{d.DistinguishReads, "node a", ""},
		{d.DistinguishReads, "node c", "damaged (data source 3)"},
		{d.DistinguishActions, "node d", "damaged (action)"},
		{d.DistinguishActions, "node d", ""},
		{d.DistinguishActions, "node e", "damaged (action 2)"},
		{resource("y"), "node a", "damaged (for y)"},
		{resource("x"), "node a", "damaged"},
	} {
		diags := diag.Diagnostics{diag.NewWarningDiagnostic("damaged", tt.detail)}
		tt.distinguish(&diags)
		got := ""
		for _, one := range diags {
			got += one.Summary()
		}
		if got != tt.want {
			t.Errorf("%d: %q, want %q", i, got, tt.want)
		}
	}
}

// A data source comes before the resource.
func TestData_namesTheResourceThatWarnsAsADataSourceHas(t *testing.T) {
	t.Parallel()
	var d Data
	reads, plans := diag.Diagnostics{diag.NewWarningDiagnostic("damaged", "x")}, diag.Diagnostics{diag.NewWarningDiagnostic("damaged", "x")}
	d.DistinguishReads(&reads)
	d.Distinguish(&plans, withID("x"))
	if reads[0].Summary() != "damaged" || plans[0].Summary() != "damaged (for x)" {
		t.Errorf("%q and %q", reads[0].Summary(), plans[0].Summary())
	}
}
