// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package eviction

import (
	"cmp"
	"fmt"
	"strings"
	"testing"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/placement"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
)

// TestDeadlocks drains node n1 with three pods of a PDB, of which the other node takes as many as there
// is room for. A fourth one runs on the other node already.
func TestDeadlocks(t *testing.T) {
	t.Parallel()
	unready := func(p *snapshot.Pod) { p.Ready = false }
	most := func(n int32) func(*snapshot.Budget) { return func(b *snapshot.Budget) { b.Most = &n } }
	daemonOf := func(group string) podOption {
		return func(p *snapshot.Pod) {
			p.Controller = &snapshot.Controller{Owner: snapshot.Owner{Group: group, Kind: "DaemonSet", Name: "agent"}}
		}
	}
	set := func(p *snapshot.Pod) {
		p.Controller = &snapshot.Controller{Owner: snapshot.Owner{Group: "apps", Kind: "StatefulSet", Name: "db"}}
	}
	const never, possible, ends = "gets stuck", "may get stuck", "ends"
	for name, tt := range map[string]struct {
		room   int64
		budget func(*snapshot.Budget)
		// first is the first pod of the drained node, fourth that of the other one.
		first, fourth podOption
		want, why     string
	}{
		"it allows none, and there is room":        {3, most(0), nil, nil, never, "allows no eviction even when all of its pods are healthy, and 3 of them are to be drained (app/p0, app/p1, app/p2)"},
		"it allows one, and there is room":         {3, most(1), nil, nil, ends, ""},
		"it allows one, and there is none":         {0, most(1), nil, nil, never, "allows 1 unavailable pod, and 3 to be drained cannot run elsewhere (app/p0, app/p1, app/p2)"},
		"it allows one, and there is room for one": {1, most(1), nil, nil, never, "2 to be drained cannot run elsewhere"},
		// The one without a place may be the first to go.
		"it allows one, and there is room for two":                          {2, most(1), nil, nil, possible, "allows 1 unavailable pod, and 1 of the 3 to be drained may not run elsewhere"},
		"it allows two, and there is room for one":                          {1, most(2), nil, nil, possible, "2 of the 3"},
		"it allows two, and there is room for two":                          {2, most(2), nil, nil, ends, ""},
		"it allows three, and there is none":                                {0, most(3), nil, nil, ends, ""},
		"nothing is known of it":                                            {0, func(*snapshot.Budget) {}, nil, nil, ends, ""},
		"it allows one, which another uses up":                              {3, most(1), nil, unready, never, "allows 1 unavailable pod, and 1 of them is not ready (app/p3): the drain waits until one is ready"},
		"it allows two, of which another uses up one":                       {3, most(2), nil, unready, ends, ""},
		"it allows two, of which another uses up one, and there is no room": {1, most(2), nil, unready, never, "allows 2 unavailable pods, 1 of them is not ready (app/p3), and 2 to be drained cannot run elsewhere"},
		"a drained one is not ready, and the others are enough":             {3, func(b *snapshot.Budget) { most(1)(b); b.Healthy, b.MinHealthy = 3, 3 }, unready, nil, ends, ""},
		"a drained one is not ready, and the others are not enough":         {3, func(b *snapshot.Budget) { most(1)(b); b.Healthy, b.MinHealthy = 2, 3 }, unready, unready, never, "2 of them are not ready (app/p0, app/p3): the drain waits until 2 are ready"},
		"it always allows one that is not ready":                            {3, func(b *snapshot.Budget) { most(1)(b); b.AlwaysAllow, b.Healthy, b.MinHealthy = true, 2, 3 }, unready, nil, ends, ""},
		"it always allows one that is not ready, and another is not":        {3, func(b *snapshot.Budget) { most(1)(b); b.AlwaysAllow, b.Healthy, b.MinHealthy = true, 2, 3 }, unready, unready, never, "1 of them is not ready (app/p3)"},
		"a drained one is not ready, and has no place, nor have the others": {0, func(b *snapshot.Budget) { most(2)(b); b.Healthy, b.MinHealthy = 3, 2 }, unready, nil, never,
			"allows 2 unavailable pods, and 3 to be drained cannot run elsewhere (app/p0, app/p1, app/p2)"},
		"a drained one is not ready, and may have no place":               {2, func(b *snapshot.Budget) { most(1)(b); b.Healthy, b.MinHealthy = 3, 3 }, unready, nil, possible, "1 of the 3"},
		"a drained one is not ready, none needs to be, and there is room": {3, func(b *snapshot.Budget) { most(4)(b); b.Healthy = 3 }, unready, nil, ends, ""},
		"a drained one is not ready, none needs to be, and there is none": {0, func(b *snapshot.Budget) { most(4)(b); b.Healthy = 3 }, unready, nil, possible, "3 of the 3"},
		"one is a DaemonSet's, which is not drained":                      {1, most(1), daemonOf("apps"), nil, possible, "1 of the 2"},
		"one is that of another group's DaemonSet":                        {1, most(1), daemonOf("apps.kruise.io"), nil, possible, "3 of the 3"},
		"a drained one is not ready, one needs none, and it allows one":   {3, func(b *snapshot.Budget) { most(1)(b); b.Healthy = 3 }, unready, nil, ends, ""},
		"a drained one is not ready, and no other one is":                 {3, most(1), unready, nil, never, "1 of them is not ready (app/p0): the drain waits until one is ready"},
		"its controller cannot count the pods":                            {3, func(b *snapshot.Budget) { b.Failing = true }, nil, nil, possible, "allows no eviction while its controller does not know how many pods are expected, and 3 of them are to be drained (app/p0, app/p1, app/p2)"},
		"it counts none of these pods":                                    {3, func(b *snapshot.Budget) { b.Uncounted = true }, nil, nil, ends, ""},
		"it counts one that has failed":                                   {3, func(b *snapshot.Budget) { most(1)(b); b.MinHealthy, b.CountsPods = 3, true }, nil, completed, never, "even when all of its pods are healthy, as it counts 1 completed, and 3 of them"},
		"it counts one that has failed, and allows two":                   {3, func(b *snapshot.Budget) { most(2)(b); b.MinHealthy, b.CountsPods = 2, true }, nil, completed, ends, ""},
		"one has failed, which its controller replaces":                   {3, func(b *snapshot.Budget) { most(1)(b); b.MinHealthy = 3 }, nil, completed, possible, "1 of its pods does not exist"},
		"one does not exist, two have no place":                           {1, func(b *snapshot.Budget) { most(2)(b); b.MinHealthy = 3 }, nil, nil, possible, "2 of the 3"},
		"one of its pods does not exist":                                  {3, func(b *snapshot.Budget) { most(1)(b); b.MinHealthy = 4 }, nil, nil, possible, "allows 1 unavailable pod, and 1 of its pods does not exist: the drain waits for more pods"},
		"one does not exist, and another is not ready":                    {3, func(b *snapshot.Budget) { most(2)(b); b.MinHealthy = 3 }, nil, unready, possible, "allows 2 unavailable pods, and 1 of its pods does not exist, 1 of them is not ready: the drain"},
		"one of a ReplicaSet terminates":                                  {3, func(b *snapshot.Budget) { most(1)(b); b.MinHealthy = 2 }, nil, terminating, ends, ""},
		"one of a StatefulSet terminates":                                 {3, func(b *snapshot.Budget) { most(1)(b); b.MinHealthy = 3 }, nil, func(p *snapshot.Pod) { terminating(p); set(p) }, ends, ""},
		"one of a StatefulSet never ends":                                 {3, func(b *snapshot.Budget) { most(1)(b); b.MinHealthy = 3 }, nil, func(p *snapshot.Pod) { terminating(p); set(p); p.Overdue = true }, possible, "1 of them is terminating and not gone (app/p3)"},
		"one has ended":                                                   {0, most(2), completed, nil, ends, ""},
		"one has not started":                                             {2, most(2), func(p *snapshot.Pod) { pending(p); unready(p) }, nil, ends, ""},
		"nothing makes one again":                                         {2, most(1), bare, nil, possible, "1 of the 3"},
		"nothing makes one again, and there is room for one":              {1, most(1), bare, nil, never, "2 to be drained"},
	} {
		t.Run(strings.ReplaceAll(name, " ", "_"), func(t *testing.T) {
			t.Parallel()
			w := newWorld(having(node("n1"), 9, 9), having(node("n2"), tt.room+1, 9))
			var scheduling *snapshot.Scheduling
			var demand *snapshot.Demand
			for i, change := range []podOption{tt.first, nil, nil, tt.fourth} {
				p := pod(fmt.Sprintf("p%d", i), map[bool]string{false: "n1", true: "n2"}[i == 3], asking(1, 1))
				if i == 0 {
					scheduling, demand = p.Scheduling, p.Demand
				}
				// Pods of one template share these.
				if p.Scheduling, p.Demand = scheduling, demand; change != nil {
					change(p)
				}
				w = w.run(p)
			}
			w = w.budget("app", "pdb", "", 0)
			tt.budget(&w.Budgets["app"][0])
			found := Evaluate(w.Snapshot, draining("n1"), ComparisonOff).Deadlocks(w.Snapshot, DrainOf{})
			got, why := ends, ""
			if len(found) > 0 {
				got, why = map[bool]string{false: never, true: possible}[found[0].Possible], found[0].Why
			}
			if got != tt.want || !strings.Contains(why, tt.why) || len(found) > 1 {
				t.Errorf("it %s, want that it %s with %q: %v", got, tt.want, tt.why, found)
			}
			if undrained := Evaluate(w.Snapshot, draining("n1"), ComparisonOff).Deadlocks(w.Snapshot, DrainOf{Undrained: map[string]bool{"n1": true}}); len(undrained) > 0 {
				t.Errorf("without a drain there is %v", undrained)
			}
		})
	}
}

// TestDeadlocks_aNodeThatIsDrainedLater: a pod that is not ready there holds the eviction of those before
// it, and not of those after it.
func TestDeadlocks_aNodeThatIsDrainedLater(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		order  []string
		most   int32
		want   string
		change podOption
	}{
		"the pod of the last node has completed":                                  {[]string{"n1", "n2"}, 1, "", completed},
		"the pod of the last node terminates already":                             {[]string{"n1", "n2"}, 1, "", terminating},
		"the pod of the last node is ready":                                       {[]string{"n1", "n2"}, 2, "", func(p *snapshot.Pod) { p.Ready = true }},
		"the node with the pod that is not ready comes last":                      {[]string{"n1", "n2"}, 1, `PodDisruptionBudget "app/pdb" allows 1 unavailable pod, and 1 of them is not ready (app/p1): the drain waits until one is ready`, nil},
		"the node with the pod that is not ready comes last, and two are allowed": {[]string{"n1", "n2"}, 2, "", nil},
		"the node with the pod that is not ready comes first":                     {[]string{"n2", "n1"}, 1, "", nil},
		"the order is not known":                                                  {nil, 1, "", nil},
	} {
		t.Run(strings.ReplaceAll(name, " ", "_"), func(t *testing.T) {
			t.Parallel()
			w := newWorld(having(node("n1"), 9, 9), having(node("n2"), 9, 9), having(node("n3"), 9, 9))
			broken := pod("p1", "n2", asking(1, 1))
			if broken.Ready = false; tt.change != nil {
				tt.change(broken)
			}
			w = w.run(pod("p0", "n1", asking(1, 1))).run(broken).budget("app", "pdb", "", 0)
			if tt.most == 2 || broken.Completed || broken.Terminating {
				w = w.run(pod("p2", "n3", asking(1, 1)))
			}
			b := &w.Budgets["app"][0]
			b.Most, b.Healthy, b.MinHealthy = &tt.most, 1, 1
			got := ""
			for _, d := range Evaluate(w.Snapshot, draining("n1", "n2"), ComparisonOff).Deadlocks(w.Snapshot, DrainOf{Order: tt.order}) {
				got += d.Why
			}
			if got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

// TestDeadlocks_newMachines drains node n1, of whose three pods no other node takes any, while a machine comes
// that takes them all.
func TestDeadlocks_newMachines(t *testing.T) {
	t.Parallel()
	waits := "to be drained fit only new machines (app/p0, app/p1, app/p2). These are created after the last old one is deleted: the drain and the new machines wait for each other"
	for name, tt := range map[string]struct {
		most  int32
		last  bool
		first podOption
		why   string
		// cores is how many the new one has, 9 where it is 0.
		cores int64
	}{
		"it comes while the old one is drained":                  {most: 1},
		"it comes then, and has room for one":                    {most: 1, cores: 1, why: "2 to be drained cannot run elsewhere (app/p1, app/p2)"},
		"it comes when the old one is gone":                      {most: 1, last: true, why: "1 unavailable pod, and 3 " + waits},
		"it comes then, and two are allowed":                     {most: 2, last: true, why: "2 unavailable pods, and 3 " + waits},
		"it comes then, and all are allowed":                     {most: 3, last: true},
		"it comes then, nothing creates one again":               {most: 2, last: true, first: bare, why: "2 unavailable pods, and 2 to be drained fit only new machines (app/p1, app/p2). These"},
		"it comes then, and nothing creates any again":           {most: 3, last: true, first: bare},
		"it comes while the old one is drained, and one is lost": {most: 1, first: bare, why: "may not run elsewhere"},
	} {
		w := newWorld(having(node("n1"), 9, 9), having(node("n2"), 0, 0))
		for i := range 3 {
			p := pod(fmt.Sprintf("p%d", i), "n1", asking(1, 1))
			if i == 0 && tt.first != nil {
				tt.first(p)
			}
			w = w.run(p)
		}
		w = w.budget("app", "pdb", "", 0)
		w.Budgets["app"][0].Most = &tt.most
		change := draining("n1")
		change.Comes = []placement.Coming{{Node: having(node("new"), cmp.Or(tt.cores, 9), 9), Of: "MachineSet a", Count: 1}}
		why := ""
		for _, d := range Evaluate(w.Snapshot, change, ComparisonOff).Deadlocks(w.Snapshot, DrainOf{Last: tt.last}) {
			why += d.Why
			if d.Removed != tt.last {
				t.Errorf("%s: it is a deadlock by wait_for = \"removed\": %t", name, d.Removed)
			}
		}
		if (why == "") != (tt.why == "") || !strings.Contains(why, tt.why) {
			t.Errorf("%s: %q, want %q", name, why, tt.why)
		}
	}
}

// TestDeadlocks_namePodsInOrder, on whichever nodes they are.
func TestDeadlocks_namePodsInOrder(t *testing.T) {
	t.Parallel()
	w := newWorld(having(node("n1"), 9, 9)).run(pod("p", "n1", asking(1, 1)))
	for i := range 16 {
		n := node(fmt.Sprintf("m%02d", i))
		w.Nodes[n.Name] = n
		w = w.run(pod(fmt.Sprintf("p%02d", i), n.Name, func(p *snapshot.Pod) { p.Ready = false }))
	}
	w = w.budget("app", "pdb", "", 0)
	w.Budgets["app"][0].Most = new(int32(2))
	found := Evaluate(w.Snapshot, draining("n1"), ComparisonOff).Deadlocks(w.Snapshot, DrainOf{})
	if len(found) != 1 || !strings.Contains(found[0].Why, "16 of them are not ready (app/p00, app/p01, app/p02 and 13 more)") {
		t.Errorf("got %+v", found)
	}
}

// The eviction API refuses such a pod, whatever both allow.
func TestDeadlocks_twoBudgetsOfAPod(t *testing.T) {
	t.Parallel()
	w := newWorld(node("n1"), node("n2")).run(pod("p0", "n1"), pod("p1", "n1", completed)).budget("app", "a", "", 1).budget("app", "b", "app=web", 1)
	found := Evaluate(w.Snapshot, draining("n1"), ComparisonOff).Deadlocks(w.Snapshot, DrainOf{})
	if len(found) != 1 || found[0].Possible || !strings.HasPrefix(found[0].Why, "pod app/p0 is covered by 2 PodDisruptionBudgets (") {
		t.Errorf("got %+v", found)
	}
}

func TestDeadlocks_wordTheirNumbers(t *testing.T) {
	t.Parallel()
	for want, got := range map[string]string{
		"1 unavailable pod": unavailable(1), "2 unavailable pods": unavailable(2), "0 unavailable pods": unavailable(0),
		"1 of them is": isAre(1), "2 of them are": isAre(2), "one is": theyAre(1), "2 are": theyAre(2),
		"a, b, c": some([]string{"a", "b", "c"}), "a, b, c and 2 more": some([]string{"a", "b", "c", "d", "e"}), "a": some([]string{"a"}),
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
