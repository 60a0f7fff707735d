// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package managed

import (
	"context"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/diag"
)

// unreadable is a private state whose values cannot be read.
type unreadable struct{}

func (unreadable) GetKey(context.Context, string) ([]byte, diag.Diagnostics) { return []byte("{"), nil }

func TestLoadOwnership_refusesADamagedPrivateState(t *testing.T) {
	t.Parallel()
	var diags diag.Diagnostics
	LoadOwnership[string](t.Context(), unreadable{}, "terraform/x", &diags)
	if len(diags) != 1 || diags[0].Summary() != `Unable to read the private state of "terraform/x"` || !strings.Contains(diags[0].Detail(), "import it again") {
		t.Errorf("got %v", diags)
	}
}
