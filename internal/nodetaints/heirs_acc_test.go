// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package nodetaints_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
)

// TestAccNodeTaints_renamedWithoutMovedLosesNoTaint: Terraform destroys the one and
// creates the other, in any order, and no node is without the taint for a moment. The API
// server answers only once the provider knows of both: how fast Terraform gets from one
// resource to the next is no part of this.
func TestAccNodeTaints_renamedWithoutMovedLosesNoTaint(t *testing.T) {
	t.Parallel()
	c := acctest.Connect(t)
	cli, proxy := acctest.NewCLI(t), c.Proxy(t)
	pool, nodes := pool(t, c, 2)
	provider := proxy.Provider(t, c)
	config := hcl(fmt.Sprintf("node_selector = \"pool=%s\"", pool), hclTaints(t, gpu))
	cli.Write(provider, config)
	cli.MustRun("apply", "-auto-approve", "-input=false")
	log := cli.Logged()
	for _, name := range []string{"that", "this", "that"} {
		before := strings.Count(log(), "about to be created")
		proxy.Spoil(func(acctest.Request) acctest.Fault {
			acctest.Until(t, "the provider knows what is created", func(context.Context) (bool, error) {
				return strings.Count(log(), "about to be created") > before, nil
			})
			return acctest.None
		})
		cli.Write(provider, strings.Replace(config, `"this"`, `"`+name+`"`, 1))
		bared := c.Bared(t, pool, idOf(t, gpu))
		out := cli.MustRun("apply", "-auto-approve", "-input=false")
		if got := bared(); len(got) > 0 {
			t.Fatalf("%v were without the taint for a moment:\n%s", got, out)
		}
		acctest.WantAll(t, out, "1 added", "1 destroyed")
		wantOwned(t, c, nodes, ", "+gpu)
	}
	proxy.Spoil(nil)
	cli.WantEmptyPlan()
	cli.MustRun("destroy", "-auto-approve", "-input=false")
	wantOwned(t, c, nodes, "")
}
