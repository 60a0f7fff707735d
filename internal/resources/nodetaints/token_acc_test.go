// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package nodetaints_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
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
	acctest.TooLong(t)
	for name, steps := range map[string][]step{"without a budget": story(t), "within a budget": within(story(t), map[string]any{"max_pods": 0})} {
		for n, s := range steps {
			t.Run(name+" in "+s.name, func(t *testing.T) {
				t.Parallel()
				acctest.OnFake(t, func(t *testing.T, c *acctest.Cluster) { expire(t, c, steps[:n], s) })
			})
		}
	}
}

// within gives a limit to the steps of a story. With one, more of an apply
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

// expire has the token expire at every request of a step in turn, and after the first write,
// which leaves the step half done: how many requests come before that can differ.
func expire(t *testing.T, c *acctest.Cluster, earlier []step, s step) {
	t.Helper()
	pool, nodes := pool(t, c, 3)
	tf, i := terraform(t, c), newInstance()
	for _, before := range earlier {
		tf.Settle(t, i, before.config(pool))
	}
	e := expiry{c: c, tf: tf, step: s, pool: pool, nodes: nodes, begin: remember(t, c, nodes, i)}
	at := 0
	for ; e.at(t, fmt.Sprintf("at request %d", at), from(at, http.StatusUnauthorized)); at++ {
		continue
	}
	if halves := e.halves; !e.at(t, "after the first write", afterWrite()) || e.halves == halves {
		t.Fatal("a token that expires after the first write does not leave the step half done")
	}
	t.Logf("%d requests, and %d times some nodes were written and others not", at, e.halves)
}

// afterWrite answers 401 to all that comes after the first write.
func afterWrite() spoiler {
	var written atomic.Bool
	return func(r acctest.Request) acctest.Fault {
		if written.Load() {
			return http.StatusUnauthorized
		}
		written.Store(r.Write())
		return acctest.None
	}
}

// expiry is a step during which a token expires.
type expiry struct {
	c     *acctest.Cluster
	tf    *acctest.Terraform
	step  step
	pool  string
	nodes []string
	begin start
	// halves counts how often some nodes were written and others not.
	halves int
}

// at carries the step out from where it begins with a token that expires on the way, and
// again with a good one. It reports whether the token expired before the end.
func (e *expiry) at(t *testing.T, when string, expires spoiler) bool {
	t.Helper()
	i := e.begin.restore(t)
	hit, d := disturb(t, e.c, i, expires, e.step.config(e.pool))
	if hit == nil {
		if d.Errors() != "" {
			t.Fatalf("with a token that outlasts the apply: %s", d.Errors())
		}
		wantOwned(t, e.c, e.nodes, e.step.want)
		return false
	}
	// No code waits for a watch: it may come after the last write. And the taints stand by
	// the time at which tolerations that retire are removed, which can wait.
	if d.Errors() == "" && (hit.Watch || strings.Contains(d.Warnings(), "Unable to remove tolerations")) {
		wantOwned(t, e.c, e.nodes, e.step.want)
		return true
	}
	what := fmt.Sprintf("%s with a token that expires %s, %s %s (watch %t)", e.step.name, when, hit.Method, hit.Path, hit.Watch)
	if errors := d.Errors(); !strings.Contains(errors, "refused the credentials") || !strings.Contains(errors, "Renew them and run again") {
		t.Fatalf("%s: no error says what is wrong and what to do: %s", what, errors)
	}
	if i.Exists() != e.begin.instance.Exists() {
		t.Fatalf("%s: the state holds the resource is %t", what, i.Exists())
	}
	if changed := e.begin.changed(t); changed > 0 && changed < len(e.nodes) {
		e.halves++
	}
	for _, node := range e.nodes {
		wantForeign(t, e.c, node)
		wantNoOrphans(t, e.c, node)
	}
	if d := e.tf.Apply(t, i, e.step.config(e.pool)); d.Errors() != "" {
		t.Fatalf("%s, and then with a good one: %s", what, d.Errors())
	}
	wantOwned(t, e.c, e.nodes, e.step.want)
	if i.Exists() {
		e.tf.Destroy(t, i)
	}
	wantOwned(t, e.c, e.nodes, "")
	return true
}

// wantForeign checks that a node has kept the taint that is not owned.
func wantForeign(t *testing.T, c *acctest.Cluster, name string) {
	t.Helper()
	taints := c.Get(t, name).Spec.Taints
	if !slices.ContainsFunc(taints, func(one corev1.Taint) bool { return taint.Format(one) == foreignTaint }) {
		t.Fatalf("node %s has lost the foreign taint: %s", name, taint.FormatAll(taints))
	}
}
