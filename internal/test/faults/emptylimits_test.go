// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package faults_test

import (
	"strings"
	"testing"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/fakeapi"
)

// TestMisspeltLimits: Terraform drops unknown attributes of nested objects, so that evictions with a
// misspelt limit alone come as an object without any: the change would go on without a limit.
func TestMisspeltLimits(t *testing.T) {
	t.Parallel()
	for _, typeName := range []string{"node_taints", "dedicated_nodes"} {
		bubble(t, moment{api: fakeapi.New()}, func(t *testing.T, api *fakeapi.Server) {
			i, w := &acctest.Instance{Type: "kubetaint_" + typeName}, through(api.Client()).Walk(t)
			config := func(evictions any) map[string]any {
				return object{"node_selector": "pool=x", "taints": []any{taint("team", "a", "NoExecute")}, "evictions": evictions}
			}
			if d := w.Validate(i, config(object{"max_pods": 0})); d.Errors()+d.Warnings() != "" {
				t.Errorf("%s: a limit is refused: %s", typeName, d.Errors()+d.Warnings())
			}
			d := w.Validate(i, config(object{}))
			if told := d.Errors() + d.Warnings(); !strings.Contains(told, "max_pods") {
				t.Errorf("%s says nothing of limits that set none: %s", typeName, told)
			}
		})
	}
}
