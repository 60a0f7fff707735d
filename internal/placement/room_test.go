// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package placement

import (
	"slices"
	"testing"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
)

func TestFits_whereThereIsRoom(t *testing.T) {
	t.Parallel()
	gpu := func(n int64) snapshot.Amount { return snapshot.Amount{Name: "example.com/gpu", Value: n} }
	two := func(p *snapshot.Pod, there *snapshot.Node, others ...*snapshot.Pod) world {
		return newWorld(having(node("n1"), 100, 100), there).run(p).run(others...)
	}
	for _, tt := range []struct {
		name  string
		world world
		back  bool
	}{
		{name: "it comes back where it just fits", world: two(pod("p", "n1", asking(4, 8)), having(node("n2"), 4, 8)), back: true},
		{name: "it does not where memory is short", world: two(pod("p", "n1", asking(1, 9)), having(node("n2"), 4, 8))},
		{name: "it does not where processors are short", world: two(pod("p", "n1", asking(5, 1)), having(node("n2"), 4, 8))},
		{name: "it comes back where its local storage fits", world: two(pod("p", "n1", asking(1, 1), scratch(2)), disk(having(node("n2"), 4, 8), 2)), back: true},
		{name: "it does not where local storage is short", world: two(pod("p", "n1", asking(1, 1), scratch(3)), disk(having(node("n2"), 4, 8), 2))},
		{name: "it does not where a resource is not listed", world: two(pod("p", "n1", asking(1, 1, gpu(1))), having(node("n2"), 4, 8))},
		{name: "it does where the resource is listed", world: two(pod("p", "n1", asking(1, 1, gpu(1))), having(node("n2"), 4, 8, gpu(1))), back: true},
		{
			name:  "it does not where another pod has the resource",
			world: two(pod("p", "n1", asking(1, 1, gpu(1))), having(node("n2"), 4, 8, gpu(2)), other("q", "n2", asking(0, 0, gpu(2)))),
		},
		{name: "a node that does not tell what it has is taken to have enough", world: two(pod("p", "n1", asking(1, 1)), node("n2")), back: true},
		{name: "a pod that asks for nothing is one more pod all the same", world: two(pod("p", "n1"), having(node("n2"), 4, 8), tenPods("n2")...)},
		{name: "and fits where nine are", world: two(pod("p", "n1"), having(node("n2"), 4, 8), tenPods("n2")[1:]...), back: true},
		{name: "what it does not ask for may be overdrawn", world: two(pod("p", "n1", asking(1, 0)), having(node("n2"), 4, 8), other("q", "n2", asking(0, 99))), back: true},
		{name: "pods that stay hold their room", world: two(pod("p", "n1", asking(1, 4)), having(node("n2"), 4, 8), other("q", "n2", asking(1, 5)))},
		{name: "completed pods hold none", world: two(pod("p", "n1", asking(1, 4)), having(node("n2"), 4, 8), other("q", "n2", asking(1, 5), completed)), back: true},
		{name: "nor do pods that are being deleted", world: two(pod("p", "n1", asking(1, 4)), having(node("n2"), 4, 8), other("q", "n2", asking(1, 5), terminating)), back: true},
		{name: "pods of a lower priority can be pushed out", world: two(pod("p", "n1", asking(1, 4), priority(10)), having(node("n2"), 4, 8), other("q", "n2", asking(1, 5), priority(9))), back: true},
		{name: "pods of the same priority cannot", world: two(pod("p", "n1", asking(1, 4), priority(10)), having(node("n2"), 4, 8), other("q", "n2", asking(1, 5), priority(10)))},
		{name: "a pod that may push out no pod pushes out no pod", world: two(pod("p", "n1", asking(1, 4), priority(10), patient), having(node("n2"), 4, 8), other("q", "n2", asking(1, 5), priority(-9)))},
		{
			name: "it is judged as if it came alone", back: true,
			world: two(pod("p", "n1", asking(1, 8)), having(node("n2"), 4, 8)).run(pod("q", "n1", asking(1, 8))),
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if fits := tt.world.fits(t, "p", tainting("n1", "a:NoExecute")); fits != tt.back {
				t.Errorf("fits %t, want %t", fits, tt.back)
			}
		})
	}
}

func TestFits_beforeEvictedPods(t *testing.T) {
	t.Parallel()
	gpu := snapshot.Amount{Name: "example.com/gpu", Value: 2}
	for name, options := range map[string][2]podOption{
		"what the scheduler knows by name": {asking(1, 4), asking(1, 5)},
		"an extended resource":             {asking(1, 1, gpu), asking(1, 1, gpu)},
	} {
		w := newWorld(having(node("n1"), 4, 8, gpu), having(node("n2"), 4, 8, gpu)).run(pod("p", "n1", options[0]), other("q", "n2", options[1]))
		change := tainting("n1", "a:NoExecute")
		if w.fits(t, "p", change) {
			t.Errorf("%s: a pod that stays leaves room", name)
		}
		var asked []string
		change.Leaving = func(node string) func(*snapshot.Pod) bool {
			asked = append(asked, node)
			return func(p *snapshot.Pod) bool { return p.Name == "q" }
		}
		if !w.fits(t, "p", change) {
			t.Errorf("%s: a pod that leaves holds room", name)
		}
		if !slices.Contains(asked, "n2") || slices.Contains(asked, "n1") {
			t.Errorf("%s: asked about the nodes %v", name, asked)
		}
		change.Leaving = func(string) func(*snapshot.Pod) bool { return nil }
		if w.fits(t, "p", change) {
			t.Errorf("%s: pods of a node on which all stay leave room", name)
		}
	}
}

// While a pod is resized in place, it holds more than a new one would ask for.
func TestFits_aPodHoldsWhatItsNodeHasGivenIt(t *testing.T) {
	t.Parallel()
	shrinking := other("q", "n2", asking(1, 1))
	shrinking.Demand.Holds.Memory = 7 << 30
	w := newWorld(having(node("n1"), 4, 8), having(node("n2"), 4, 8)).run(pod("p", "n1", asking(1, 2)), shrinking)
	if w.fits(t, "p", tainting("n1", "a:NoExecute")) {
		t.Error("the room of a pod that is being resized counts as free")
	}
	w = newWorld(having(node("n1"), 4, 8), having(node("n2"), 4, 8)).run(shrinking)
	if !w.fits(t, "q", tainting("n2", "a:NoExecute")) {
		t.Error("a new pod asks for what the spec says, not for what the old one holds")
	}
}
