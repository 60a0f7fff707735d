// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package session

import (
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/messages"
)

func TestNodeTarget(t *testing.T) {
	t.Parallel()
	messages.Expect(t, "Unable to read the selector")
	null, unknown := types.StringNull(), types.StringUnknown()
	for name, tt := range map[string]struct {
		name, selector types.String
		want           string
		known, fails   bool
	}{
		"a name":                 {name: types.StringValue("a"), selector: null, want: "node/a", known: true},
		"a selector":             {name: null, selector: types.StringValue("b=2,a==1"), want: "selector/a=1,b=2", known: true},
		"neither":                {name: null, selector: null, want: "node/"},
		"an unknown name":        {name: unknown, selector: null, want: "node/"},
		"an unknown selector":    {name: null, selector: unknown, want: "node/"},
		"a selector that is bad": {name: null, selector: types.StringValue("a in"), want: "node/", fails: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var diags diag.Diagnostics
			got, known := NodeTarget(tt.name, tt.selector, &diags)
			messages.GotAll(t, diags)
			if got.String() != tt.want || known != tt.known || diags.HasError() != tt.fails {
				t.Errorf("got %s, %t, %v", got, known, diags)
			}
		})
	}
}
