// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package nodetaints_test

import (
	"testing"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/upstream"
)

// TestUpstream_kubectlTaintFlags has the facts of TestValidateFlags in k8s.io/kubectl v0.37.2
// pkg/cmd/taint/taint_test.go that are not about --all: nodes are named, or selected.
func TestUpstream_kubectlTaintFlags(t *testing.T) {
	t.Parallel()
	rows := upstream.Cases(t)
	for name, tt := range map[string]struct {
		config  map[string]any
		refused bool
	}{
		"a selector":              {config: map[string]any{"node_selector": "myLabel=X"}},
		"no name and no selector": {config: map[string]any{}, refused: true},
		"a name":                  {config: map[string]any{"node_name": "node-name"}},
	} {
		rows.Run(t, name, func(t *testing.T) {
			t.Parallel()
			acctest.OnFake(t, func(t *testing.T, c *acctest.Cluster) {
				config := acctest.With(tt.config, map[string]any{"taints": acctest.Objects(t, "foo=bar:NoSchedule")})
				if d := terraform(t, c).Walk(t).Validate(newInstance(), config); (d.Errors() != "") != tt.refused {
					t.Errorf("refused is %t: %s", !tt.refused, d.Errors())
				}
			})
		})
	}
}
