// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package nodetaints_test

import (
	"fmt"
	"testing"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
)

// TestNodeTaints_aWriterThatKeepsRemovingOwnedTaintsIsAnError: a taint that vanishes
// as soon as it is written must not pass for an apply that worked.
func TestNodeTaints_aWriterThatKeepsRemovingOwnedTaintsIsAnError(t *testing.T) {
	t.Parallel()
	acctest.OnFake(t, func(t *testing.T, c *acctest.Cluster) {
		name := acctest.Name(t, "node")
		c.Node(t, acctest.Node{Name: name, Quiet: true})
		proxy := c.Proxy(t)
		tf := &acctest.Terraform{Provider: proxy.Provider(t, c)}
		// The taint is gone again, and the watch has shown that, before the provider has the
		// answer to its write: a watch that lags behind by more than a moment shows it to an
		// apply that is over.
		proxy.InTurn()
		shown, removals := proxy.Showing(t), 0
		proxy.After(func(r acctest.Request) {
			if !r.Write() {
				return
			}
			removals++
			removal := fmt.Sprintf("%s-removal-%03d", name, removals)
			c.Patch(t, name, `{"metadata":{"labels":{"somebody":"`+removal+`"}},"spec":{"taints":[]}}`)
			shown(removal)
		})
		i := newInstance()
		config := map[string]any{"node_name": name, "taints": acctest.Objects(t, "dedicated=gpu:NoSchedule")}
		acctest.WantAll(t, tf.Apply(t, i, config).Errors(), "Another controller keeps reverting this change", "--show-managed-fields")
		proxy.After(nil)
		tf.Settle(t, i, config)
		tf.Destroy(t, i)
	})
}
