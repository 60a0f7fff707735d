// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package eviction

import (
	"strings"
	"testing"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/placement"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
)

// policy notes that the podManagementPolicy of a StatefulSet was read.
func (w world) policy(set string, ordered bool) world {
	if w.Ordered == nil {
		w.Ordered = map[snapshot.WorkloadKey]bool{}
	}
	w.Ordered[snapshot.WorkloadKey{Namespace: "app", Owner: snapshot.Owner{Group: "apps", Kind: "StatefulSet", Name: set}}] = ordered
	return w
}

func TestSimulate_podManagementPolicyDecidesOnPodsBehindOneThatIsPending(t *testing.T) {
	t.Parallel()
	// db-0 fits nowhere.
	set := func() world {
		return newWorld(having(node("n1"), 9, 9), having(node("n2"), 2, 2)).run(
			pod("db-0", "n1", ownedBy("StatefulSet", "db"), asking(4, 4)), pod("db-1", "n1", ownedBy("StatefulSet", "db"), asking(1, 1)))
	}
	for name, tt := range map[string]struct {
		world               world
		placed, notCreated  placement.Range
		pending             placement.Range
		placement, why, not string
	}{
		"OrderedReady": {
			world: set().policy("db", true), placed: number(0), notCreated: number(1), pending: number(2), placement: "pending",
			why: "; not recreated before the Pending pods of its StatefulSet", not: "unless",
		},
		"Parallel": {world: set().policy("db", false), placed: number(1), notCreated: number(0), pending: number(1), placement: "fits"},
		"not known": {
			world: set(), placed: placement.Range{Max: 1}, notCreated: placement.Range{Max: 1}, pending: placement.Range{Min: 1, Max: 2},
			why: "; not recreated before the Pending pods of its StatefulSet, unless its podManagementPolicy is Parallel",
		},
		"that of another StatefulSet": {
			world: set().policy("other", true), placed: placement.Range{Max: 1}, notCreated: placement.Range{Max: 1}, pending: placement.Range{Min: 1, Max: 2},
			why: ", unless its podManagementPolicy is Parallel",
		},
	} {
		r := Evaluate(tt.world.Snapshot, tainting("n1", "a:NoExecute"), ComparisonOff)
		if got := outcomeOf(t, r.Outcome(), "db"); got.Placed != tt.placed || got.NotCreated != tt.notCreated || r.Summary().Unplaced != tt.pending {
			t.Errorf("%s: placed %v, not created %v, unplaced %v", name, got.Placed, got.NotCreated, r.Summary().Unplaced)
		}
		db1 := about(t, r, "db-1")
		if got, why := r.Placement(db1), r.Why(db1); got != tt.placement || !strings.HasSuffix(why, tt.why) || tt.not != "" && strings.Contains(why, tt.not) {
			t.Errorf("%s: db-1 is %q: %q", name, got, why)
		}
		if got := r.Placement(about(t, r, "db-0")); got != "pending" {
			t.Errorf("%s: db-0 is %q", name, got)
		}
	}
}

// The policy of pods that fit nowhere decides only which of them are created.
func TestSimulate_podsThatFitNowhereArePendingByEachPodManagementPolicy(t *testing.T) {
	t.Parallel()
	w := newWorld(having(node("n1"), 9, 9), having(node("n2"), 1, 1)).run(
		pod("db-0", "n1", ownedBy("StatefulSet", "db"), asking(2, 2)), pod("db-1", "n1", ownedBy("StatefulSet", "db"), asking(2, 2)))
	r := Evaluate(w.Snapshot, tainting("n1", "a:NoExecute"), ComparisonOff)
	got := outcomeOf(t, r.Outcome(), "db")
	if got.Fate() != placement.Pending || r.Summary().Unplaced != number(2) || r.Placement(r.Pods[1]) != "pending" || !r.Gone(r.Pods[1]) {
		t.Errorf("%s, unplaced %v: %s", got.Fate(), r.Summary().Unplaced, r.Why(r.Pods[1]))
	}
	if why := r.Why(r.Pods[1]); !strings.Contains(why, "no node fits: ") {
		t.Errorf("db-1: %q", why)
	}
}

func TestWhy_namesThePodThatAStatefulSetWaitsFor(t *testing.T) {
	t.Parallel()
	unready := func(p *snapshot.Pod) { p.Ready = false }
	w := newWorld(node("n1"), node("n2")).
		run(pod("db-0", "n2", ownedBy("StatefulSet", "db"), unready)).run(pod("db-1", "n1", ownedBy("StatefulSet", "db")))
	const waits = "; not recreated by its StatefulSet until db-0 is ready"
	r := Evaluate(w.Snapshot, tainting("n1", "a:NoExecute"), ComparisonOff)
	if why := r.Why(only(t, r)); !strings.HasSuffix(why, waits+", unless its podManagementPolicy is Parallel") {
		t.Errorf("%q", why)
	}
	r = Evaluate(w.policy("db", true).Snapshot, tainting("n1", "a:NoExecute"), ComparisonOff)
	if why := r.Why(only(t, r)); !strings.HasSuffix(why, waits) {
		t.Errorf("OrderedReady: %q", why)
	}
	if s := r.Summary(); s.Unplaced != number(1) {
		t.Errorf("the summary is %+v", s)
	}
}
