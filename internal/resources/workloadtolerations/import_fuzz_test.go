// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package workloadtolerations

import (
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/diag"
)

// FuzzParseImportID: an id is refused, or names one workload whose parts are those of the id.
func FuzzParseImportID(f *testing.F) {
	for _, seed := range []string{"Deployment/shop/web", "IngressController/openshift-ingress-operator/default", "Config/cluster", "Deployment//web", "Deployment/a/b/c", "Widget/x/y", "/", "\x00"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, id string) {
		var diags diag.Diagnostics
		found := parseImportID(id, &diags)
		if diags.HasError() {
			return
		}
		parts := []string{found.Kind.ValueString()}
		if !found.Namespace.IsNull() {
			parts = append(parts, found.Namespace.ValueString())
		}
		if parts = append(parts, found.Name.ValueString()); strings.Join(parts, "/") != id || found.Name.ValueString() == "" {
			t.Fatalf("%q names %q", id, parts)
		}
	})
}
