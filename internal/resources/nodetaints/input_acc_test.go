// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package nodetaints_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
)

func TestAccProvider_badConnectionNamesTheAttribute(t *testing.T) {
	t.Parallel()
	c := acctest.Connect(t)
	good := c.Kubeconfig(t)
	garbage := filepath.Join(t.TempDir(), "garbage")
	if err := os.WriteFile(garbage, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		provider map[string]any
		want     []string
	}{
		"an unreadable kubeconfig":          {map[string]any{"config_path": "/nowhere/kubeconfig"}, []string{`AttributeName("config_path")`, "/nowhere/kubeconfig"}},
		"a kubeconfig that does not parse":  {map[string]any{"config_path": garbage}, []string{`AttributeName("config_path")`}},
		"a kubeconfig without that context": {map[string]any{"config_path": good, "config_context": "prod"}, []string{`AttributeName("config_context")`, `"prod"`, `"test"`}},
		"a host that is none":               {map[string]any{"host": "https://a b", "token": "x"}, []string{`AttributeName("host")`}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, d := (&acctest.Terraform{Provider: tt.provider}).Start(t)
			acctest.WantAll(t, d.Errors(), tt.want...)
		})
	}
	tf := &acctest.Terraform{Provider: map[string]any{"config_path": good, "config_context": "test"}}
	name := acctest.Name(t, "node")
	c.Node(t, acctest.Node{Name: name})
	i := newInstance()
	tf.Settle(t, i, map[string]any{"node_name": name, "taints": acctest.Objects(t, "dedicated=gpu:NoSchedule")})
	tf.Destroy(t, i)
}
