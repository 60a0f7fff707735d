// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package nodetaints_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
)

// TestAccNodeTaints_tokenThatExpiresDuringAnApply answers 401 from one request
// of an apply on, plan included, and to the end of it; every request of create,
// update and destroy is the first one in its turn. The same apply with a token
// that is good must then end in the right state, and own all that the first one
// left: a destroy after it leaves nothing.
func TestAccNodeTaints_tokenThatExpiresDuringAnApply(t *testing.T) {
	t.Parallel()
	c := acctest.Connect(t)
	for name, steps := range map[string][]step{"without a budget": story(t), "within a budget": within(story(t), map[string]any{"max_pods": 0})} {
		for n, s := range steps {
			t.Run(name+" in "+s.name, func(t *testing.T) {
				t.Parallel()
				expire(t, c, steps[:n], s)
			})
		}
	}
}

// within gives a budget to the steps of a story. With one, more of an apply
// depends on what it reads.
func within(steps []step, evictions map[string]any) []step {
	for n, s := range steps {
		steps[n].config = func(pool string) map[string]any {
			config := s.config(pool)
			if config == nil {
				return nil
			}
			return acctest.With(config, map[string]any{"evictions": evictions})
		}
	}
	return steps
}

// expire has the token expire at every request of a step in turn.
func expire(t *testing.T, c *acctest.Cluster, earlier []step, s step) {
	t.Helper()
	pool, nodes := pool(t, c, 3)
	tf, i := terraform(t, c), newInstance()
	for _, before := range earlier {
		tf.Settle(t, i, before.config(pool))
	}
	begin := remember(t, c, nodes, i)
	for at, halves := 0, 0; ; at++ {
		i := begin.restore(t)
		hit, d := disturb(t, c, i, from(at, http.StatusUnauthorized), s.config(pool))
		if hit == nil {
			if d.Errors() != "" || halves == 0 {
				t.Fatalf("with a token that outlasts the apply, after %d that left it half done: %s", halves, d.Errors())
			}
			wantOwned(t, c, nodes, s.want)
			t.Logf("%d requests, and %d times some nodes were written and others not", at, halves)
			return
		}
		if hit.Watch && d.Errors() == "" {
			// Nobody waits for a watch: it may come after the last write.
			wantOwned(t, c, nodes, s.want)
			continue
		}
		if d.Errors() == "" && strings.Contains(d.Warnings(), "Unable to remove tolerations") {
			// The taints stand by then, and tolerations that retire can wait.
			wantOwned(t, c, nodes, s.want)
			continue
		}
		what := fmt.Sprintf("%s with a token that expires at request %d, %s %s (watch %t)", s.name, at, hit.Method, hit.Path, hit.Watch)
		if errors := d.Errors(); !strings.Contains(errors, "refused the credentials") || !strings.Contains(errors, "Renew them and run again") {
			t.Fatalf("%s: no error says what is wrong and what to do: %s", what, errors)
		}
		if i.Exists() != begin.instance.Exists() {
			t.Fatalf("%s: the state holds the resource is %t", what, i.Exists())
		}
		if changed := begin.changed(t); changed > 0 && changed < len(nodes) {
			halves++
		}
		for _, node := range nodes {
			wantForeign(t, c, node)
			wantNoOrphans(t, c, node)
		}
		if d := tf.Apply(t, i, s.config(pool)); d.Errors() != "" {
			t.Fatalf("%s, and then with a good one: %s", what, d.Errors())
		}
		wantOwned(t, c, nodes, s.want)
		if i.Exists() {
			tf.Destroy(t, i)
		}
		wantOwned(t, c, nodes, "")
	}
}

// wantForeign checks that a node has kept the taint that is not ours.
func wantForeign(t *testing.T, c *acctest.Cluster, name string) {
	t.Helper()
	taints := c.Get(t, name).Spec.Taints
	if !slices.ContainsFunc(taints, func(one corev1.Taint) bool { return taint.Format(one) == foreignTaint }) {
		t.Fatalf("node %s has lost the foreign taint: %s", name, taint.FormatAll(taints))
	}
}
