// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package session

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/terraform-plugin-framework/diag"
)

// FuzzRemembered reads the private state of seals: no seal is without a nonce, and what is
// written is read the same.
func FuzzRemembered(f *testing.F) {
	for _, seed := range []string{
		``, `null`, `[null]`, `[""]`, `[{}]`, `["n"]`, `[{"nonce":"n","of":"id","generation":"g","live":true,"epoch":3}]`,
		`[{"nonce":"n","epoch":-1,"held":""}]`, `[{"nonce":"n","held":"AA"},"m"]`, `[{"Nonce":null}]`, `{"nonce":"n"}`, `[[`,
		// A letter of two bytes is cut where one mark ends and the next begins.
		`[{"nonce":"n","held":"abcdefghi\u00e9abcdefghizzzzzzzzzz"}]`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		var diags diag.Diagnostics
		known := remembered(t.Context(), memory{keysKey: raw}, &diags)
		for _, seal := range known {
			if seal.Nonce == "" {
				t.Errorf("%q gives a seal without a nonce: %+v", raw, seal)
			}
		}
		again := remembered(t.Context(), memory{keysKey: written(known)}, &diags)
		if diff := cmp.Diff(known, again); diff != "" || diags.HasError() {
			t.Errorf("%q is not read as it was written (-first +second):\n%s\n%v", raw, diff, diags)
		}
	})
}
