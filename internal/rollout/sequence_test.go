// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package rollout

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/eviction"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/planner"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/record"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/toleration"
)

// world is a random node with StatefulSets, and a random change of both.
type world struct {
	*testServer
	r             *rand.Rand
	names         []string
	before, after string
	// release gives everything up, together has one resource change both, and linked is set where
	// the resource of the taints is linked to the one of the tolerations.
	release, together, linked bool
}

func newWorld(t *testing.T, seed uint64) *world {
	t.Helper()
	w := &world{r: rand.New(rand.NewPCG(seed, 1))}
	one := func(from ...string) string { return from[w.r.IntN(len(from))] }
	w.before, w.after = one("", teamA, teamB), one(teamA, teamB)
	w.release, w.together, w.linked = w.r.IntN(4) == 0, w.r.IntN(2) == 0, w.r.IntN(3) > 0
	node := aNode("n1", "gpu")
	if w.before != "" {
		node = aNode("n1", "gpu", "*"+w.before)
	}
	w.testServer = newServer(t, node)
	for n := range 1 + w.r.IntN(3) {
		name, has := fmt.Sprintf("web%d", n), []string(nil)
		if w.before != "" {
			// An entry that no resource wants any more stays as long as the node has its taint.
			has = append(has, one("*", "*", "~")+w.before)
		}
		w.names = append(w.names, name)
		w.addSets(aSet(name, int32(1+w.r.IntN(2)), has...))
	}
	return w
}

// changes are those of the resources, in the order in which they are applied.
func (w *world) changes(shared *planner.Shared) []Request {
	claim := toleration.Claim{Named: []taint.ID{{Key: "team", Effect: "NoExecute"}}, Known: []record.Seal{{}}}
	nodes, tolerated := tainting(w.after), wanting(w.after, w.names...)
	if w.release {
		nodes.Claim.Release = true
		tolerated = wanting("", w.names...)
	}
	if w.together {
		return []Request{{Nodes: nodes, Workloads: tolerated, RetainedClaim: claim}}
	}
	taints := Request{Nodes: nodes, RetainedClaim: claim, Shared: shared}
	if w.linked && !w.release {
		taints.Links = []string{"terraform/workload_tolerations"}
		var planned []planner.PlannedTolerations
		for _, one := range tolerated {
			planned = append(planned, planner.PlannedTolerations{Ref: one.Ref, Path: one.Path, Wanted: one.Claim.Tolerations, Waits: true})
		}
		shared.Note(taints.Links[0], planned)
	}
	out := []Request{{Workloads: tolerated}, taints}
	if w.release && w.r.IntN(2) == 0 {
		slices.Reverse(out)
	}
	return out
}

// TestRun_takesTheStepsOfThePlan has random changes carried out: the steps are those that the
// planner names beforehand, in their order, no write of them evicts a pod (see testServer), and
// nothing is left to do.
func TestRun_takesTheStepsOfThePlan(t *testing.T) {
	t.Parallel()
	for seed := range uint64(100) {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w, shared := newWorld(t, seed), &planner.Shared{}
				cluster, changes := w.follow(t, true), []Request(nil)
				changes = w.changes(shared)
				for _, change := range changes {
					r := newRun(cluster, change, eviction.ComparisonOff)
					r.pods = true
					foreseen, err := r.observe(t.Context())
					if err != nil {
						t.Fatal(err)
					}
					var want []string
					for _, step := range foreseen.Steps {
						want = append(want, step.String())
					}
					done, err := Run(t.Context(), cluster, change, eviction.ComparisonOff)
					if err != nil || done.Retained != nil {
						t.Fatal(err, done.Retained)
					}
					if diff := cmp.Diff(writing(want), writing(done.Steps), cmpopts.EquateEmpty()); diff != "" {
						t.Errorf("release %t, together %t, %q to %q: %s", w.release, w.together, w.before, w.after, diff)
					}
				}
				_, before := w.writes()
				for _, change := range changes {
					if done, err := Run(t.Context(), cluster, change, eviction.ComparisonOff); err != nil || len(done.Steps) > 0 {
						t.Errorf("again, it takes the steps %v: %v", done.Steps, err)
					}
				}
				if _, after := w.writes(); after != before {
					t.Errorf("again, it writes %d times", after-before)
				}
				w.end(t)
			})
		})
	}
}

// writing leaves out the waits: pods may have followed before a resource waits for them.
func writing(steps []string) []string {
	return slices.DeleteFunc(inShort(steps), func(step string) bool { return strings.HasPrefix(step, "wait for ") })
}

// end looks at what is there when all is done.
func (w *world) end(t *testing.T) {
	t.Helper()
	want := "*" + w.after
	if w.release {
		want = ""
	}
	if diff := cmp.Diff(map[string]string{"n1": want}, w.taints()); diff != "" {
		t.Errorf("taints: %s", diff)
	}
	for name, got := range w.tolerations() {
		if got != want {
			t.Errorf("%s has the tolerations %q, want %q", name, got, want)
		}
	}
}
