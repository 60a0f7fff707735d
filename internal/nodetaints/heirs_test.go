// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package nodetaints_test

import (
	"strings"
	"testing"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
)

// gpu is what the tests below let one object take over from another one.
const gpu = "dedicated=gpu:NoSchedule"

func idOf(t *testing.T, notation string) taint.ID {
	t.Helper()
	return taint.IDOf(acctest.Parse(t, notation)[0])
}

// TestNodeTaints_heirs: a destroy that was planned beside a create with the same id
// leaves what that takes over, whichever comes first.
func TestNodeTaints_heirs(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		first, second bool // Which of the two steps is carried out: the destroy, and then the create.
		createFirst   bool
		want          string
	}{
		"the destroy comes first":            {first: true, second: true, want: ", " + gpu},
		"the create comes first":             {first: true, second: true, createFirst: true, want: ", " + gpu},
		"the create is left to a later run":  {first: true, want: ", " + gpu},
		"the destroy is left to another run": {second: true, createFirst: true, want: ", " + gpu},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			acctest.OnFake(t, func(t *testing.T, c *acctest.Cluster) {
				pool, nodes := pool(t, c, 2)
				left := acctest.Name(t, "left")
				c.Node(t, acctest.Node{Name: left, Quiet: true, Labels: map[string]string{"pool": pool}, Taints: acctest.Parse(t, foreignTaint)})
				tf, config := terraform(t, c), taintsOf(t, gpu)(pool)
				older, newer := newInstance(), newInstance()
				tf.Settle(t, older, config)
				// What nobody takes over goes, as in every destroy.
				c.Patch(t, left, `{"metadata":{"labels":{"pool":"another"}}}`)

				bared := c.Bared(t, pool, idOf(t, gpu))
				plans := tf.Walk(t)
				create, destroyed := plans.Plan(newer, config), plans.Plan(older, nil)
				if d := append(create.Diagnostics, destroyed.Diagnostics...); d.Errors() != "" {
					t.Fatal(d.Errors())
				}
				applies := tf.Walk(t)
				carry := func(do bool, i *acctest.Instance, planned acctest.Planned, config map[string]any) {
					if !do {
						return
					}
					if d := applies.ApplyChange(i, planned, config); d.Errors() != "" || strings.Contains(d.Warnings(), "were left on") {
						t.Fatal(d.Errors() + d.Warnings())
					}
				}
				if tt.createFirst {
					carry(tt.second, newer, create, config)
					carry(tt.first, older, destroyed, nil)
				} else {
					carry(tt.first, older, destroyed, nil)
					carry(tt.second, newer, create, config)
				}
				wantOwned(t, c, nodes, tt.want)
				if tt.first {
					wantTaints(t, c, left, foreignTaint)
				}
				if !newer.Exists() {
					tf.Settle(t, newer, config)
				}
				if again := tf.Plan(t, newer, config); !again.Empty {
					t.Fatal("the plan of the heir is not empty")
				}
				if got := bared(); len(got) > 0 {
					t.Fatalf("%v were without the taint for a moment", got)
				}
				if older.Exists() {
					tf.Destroy(t, older)
				}
				wantOwned(t, c, nodes, ", "+gpu)
				tf.Destroy(t, newer)
				wantOwned(t, c, nodes, "")
				wantTaints(t, c, left, foreignTaint)
			})
		})
	}
}

// TestNodeTaints_noHeirOfWhatWasChangedSince: an object keeps its id when it is changed,
// so that a new one with its first configuration has the same, and wants something else.
func TestNodeTaints_noHeirOfWhatWasChangedSince(t *testing.T) {
	t.Parallel()
	acctest.OnFake(t, func(t *testing.T, c *acctest.Cluster) {
		first, firstNodes := pool(t, c, 1)
		second, secondNodes := pool(t, c, 1)
		tf, older, newer := terraform(t, c), newInstance(), newInstance()
		tf.Settle(t, older, taintsOf(t, gpu)(first))
		tf.Settle(t, older, taintsOf(t, gpu+" spot:NoSchedule")(second))
		wantOwned(t, c, firstNodes, "")

		plans := tf.Walk(t)
		create, destroyed := plans.Plan(newer, taintsOf(t, gpu)(first)), plans.Plan(older, nil)
		applies := tf.Walk(t)
		if d := applies.ApplyChange(older, destroyed, nil); d.Errors() != "" {
			t.Fatal(d.Errors())
		}
		if d := applies.ApplyChange(newer, create, taintsOf(t, gpu)(first)); d.Errors() != "" {
			t.Fatal(d.Errors())
		}
		wantOwned(t, c, firstNodes, ", "+gpu)
		wantOwned(t, c, secondNodes, "")
		tf.Destroy(t, newer)
	})
}

// TestNodeTaints_aDestroyThatFailedLeavesNoHeirBehind: the private state of a destroy
// that fails is saved, and a replacement later destroys without a plan of its own.
func TestNodeTaints_aDestroyThatFailedLeavesNoHeirBehind(t *testing.T) {
	t.Parallel()
	acctest.OnFake(t, func(t *testing.T, c *acctest.Cluster) {
		pool, nodes := pool(t, c, 1)
		tf, config, older := terraform(t, c), taintsOf(t, gpu)(pool), newInstance()
		tf.Settle(t, older, config)
		plans := tf.Walk(t)
		plans.Plan(newInstance(), config)
		older.Private = plans.Plan(older, nil).Private

		replaced := tf.Plan(t, older, config)
		if d := tf.Walk(t).ApplyChange(older, acctest.Planned{Private: replaced.Private}, nil); d.Errors() != "" {
			t.Fatal(d.Errors())
		}
		wantOwned(t, c, nodes, "")
	})
}
