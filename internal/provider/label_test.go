// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package provider

import (
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

// TestModel_labelsWarningsByTheContext: a context that the block names comes before its owner.
func TestModel_labelsWarningsByTheContext(t *testing.T) {
	t.Parallel()
	for want, m := range map[string]model{
		"":             {},
		"owner team-a": {Owner: types.StringValue("team-a")},
		"context east": {ConfigContext: types.StringValue("east")},
		"context west": {ConfigContext: types.StringValue("west"), Owner: types.StringValue("team-a")},
		"context a b":  {ConfigContext: types.StringValue("a\nb")},
	} {
		var diags diag.Diagnostics
		if got := m.data(t.Context(), &diags).Label; got != want || diags.HasError() {
			t.Errorf("the label is %q, want %q: %v", got, want, diags)
		}
	}
}
