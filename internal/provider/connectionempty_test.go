// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package provider

import (
	"context"
	"os"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"
)

// TestConnection_emptyVariablesAreNotTheClusterOfThePod: a pipeline that fills in a missing secret with nothing
// sets the variable all the same, and its runner is often a pod.
func TestConnection_emptyVariablesAreNotTheClusterOfThePod(t *testing.T) {
	t.Parallel()
	for name, environment := range map[string]map[string]string{
		"paths that are all empty":        {"KUBE_CONFIG_PATHS": string(os.PathListSeparator)},
		"a host and a token that are not": {"KUBE_HOST": "", "KUBE_TOKEN": ""},
	} {
		s, raw := block(t, nil)
		var m model
		var diags diag.Diagnostics
		diags.Append((&tfsdk.Config{Raw: raw, Schema: s}).Get(context.Background(), &m)...)
		got := m.connection(context.Background(), func(name string) (string, bool) { value, is := environment[name]; return value, is }, &diags)
		if got.config.Empty == "" && !diags.HasError() {
			t.Errorf("with %s the provider falls back to the cluster that it runs in", name)
		}
	}
}
