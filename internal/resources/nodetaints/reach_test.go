// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package nodetaints_test

import (
	"encoding/json"
	"net/http"
	"testing"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/messages"
)

func TestNodeTaints_otherClusterUnderTheSameStateIsAnErrorAndNothingIsRead(t *testing.T) {
	t.Parallel()
	messages.Expect(t, "Unable to use this state with another cluster")
	acctest.OnFake(t, func(t *testing.T, c *acctest.Cluster) {
		pool, nodes := pool(t, c, 1)
		i := newInstance()
		terraform(t, c).Settle(t, i, taintsOf(t, "dedicated=gpu:NoSchedule")(pool))
		c.Elsewhere(t, i, taintsOf(t, "dedicated=web:NoSchedule")(pool))
		wantOwned(t, c, nodes, ", dedicated=gpu:NoSchedule")
	})
}

func TestNodeTaints_clusterOutOfReachKeepsTheState(t *testing.T) {
	t.Parallel()
	messages.Expect(t, "Unable to read the cluster", "so the plan is made without it", "the credentials were refused")
	acctest.OnFake(t, func(t *testing.T, c *acctest.Cluster) {
		pool, nodes := pool(t, c, 1)
		proxy := c.Proxy(t)
		tf, i := &acctest.Terraform{Provider: proxy.Provider(t, c)}, newInstance()
		config := taintsOf(t, "dedicated=gpu:NoSchedule")(pool)
		tf.Settle(t, i, config)
		proxy.OutOfReach(t, tf.Provider, []*acctest.Instance{i}, []map[string]any{config}, taintsOf(t, "dedicated=web:NoSchedule")(pool))
		wantOwned(t, c, nodes, ", dedicated=gpu:NoSchedule")

		// A limit cannot be checked then.
		for fault, advice := range map[acctest.Fault]string{acctest.CutBefore: "Check that its API server runs, and the network to it.", http.StatusUnauthorized: "The cluster refused the credentials"} {
			proxy.Spoil(from(0, fault))
			budget := acctest.With(taintsOf(t, "dedicated=web:NoExecute")(pool), map[string]any{"evictions": map[string]any{"max_pods": 1}})
			acctest.WantAll(t, tf.Walk(t).Plan(i, budget).Diagnostics.Errors(), "cannot be checked", advice)
		}
	})
}

func TestNodeTaints_unknownInputsAreNotGuessedAt(t *testing.T) {
	t.Parallel()
	messages.Expect(t, "the provider block is not known yet")
	acctest.OnFake(t, func(t *testing.T, c *acctest.Cluster) {
		tf := terraform(t, c)
		for _, config := range []map[string]any{
			{"node_name": acctest.Unknown, "taints": acctest.Objects(t, "dedicated=gpu:NoExecute")},
			{"node_name": "x", "taints": acctest.Unknown},
			{"node_name": "x", "taints": []any{map[string]any{"key": "dedicated", "value": acctest.Unknown, "effect": "NoExecute"}}},
			{"node_selector": acctest.Unknown, "taints": acctest.Objects(t, "dedicated=gpu:NoExecute"), "evictions": acctest.Unknown},
		} {
			planned := tf.Plan(t, newInstance(), config)
			if len(planned.Diagnostics) > 0 {
				t.Fatalf("unknown inputs: %s%s", planned.Diagnostics.Errors(), planned.Diagnostics.Warnings())
			}
		}
		// A provider block that is not known yet is a cluster out of reach.
		unknown := &acctest.Terraform{Provider: map[string]any{"host": acctest.Unknown, "token": "x"}}
		d := unknown.Plan(t, newInstance(), map[string]any{"node_name": "x", "taints": acctest.Objects(t, "dedicated=gpu:NoExecute")}).Diagnostics
		acctest.WantAll(t, d.Warnings(), "Unable to read the cluster: the provider block is not known yet")
	})
}

// TestNodeTaints_damagedPrivateStateIsAnError at a refresh, and at a plan without one.
func TestNodeTaints_damagedPrivateStateIsAnError(t *testing.T) {
	t.Parallel()
	messages.Expect(t, "Unable to read the private state")
	acctest.OnFake(t, func(t *testing.T, c *acctest.Cluster) {
		pool, nodes := pool(t, c, 1)
		tf, i, config := terraform(t, c), newInstance(), taintsOf(t, "dedicated=gpu:NoSchedule")(pool)
		tf.Settle(t, i, config)
		damaged, err := json.Marshal(map[string][]byte{"ownership": []byte("[]")})
		if err != nil {
			t.Fatal(err)
		}
		i.Private = damaged
		want := `Unable to read the private state of "terraform/node_taints/selector/pool=` + pool
		acctest.WantAll(t, tf.Walk(t).Refresh(i).Errors(), want, "import it again")
		acctest.WantAll(t, tf.Walk(t).Plan(i, taintsOf(t, "dedicated=web:NoSchedule")(pool)).Diagnostics.Errors(), want)
		wantOwned(t, c, nodes, ", dedicated=gpu:NoSchedule")
	})
}
