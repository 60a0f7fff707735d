// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package eviction

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// having gives a node as many cores and Gi of memory, and room for ten pods.
func having(n *Node, cores, gi int64, others ...Amount) *Node {
	n.Allocatable = &Resources{MilliCPU: cores * 1000, Memory: gi << 30, Pods: 10, Others: others}
	return n
}

// asking is a pod that asks for as much, and holds it where it is.
func asking(cores, gi int64, others ...Amount) podOption {
	return func(p *Pod) {
		r := Resources{MilliCPU: cores * 1000, Memory: gi << 30, Others: others}
		p.Demand = &Demand{Asks: r, Holds: r}
	}
}

// disk is as much local storage of a node, and scratch what a pod asks for of it.
func disk(n *Node, gi int64) *Node { n.Allocatable.EphemeralStorage = gi << 30; return n }

func scratch(gi int64) podOption {
	return func(p *Pod) { p.Demand.Asks.EphemeralStorage, p.Demand.Holds.EphemeralStorage = gi<<30, gi<<30 }
}

func priority(n int32) podOption { return func(p *Pod) { p.Demand.Priority = n } }
func patient(p *Pod)             { p.Demand.Patient = true }

// other is a pod that is not one of those that are asked about.
func other(name, node string, options ...podOption) *Pod {
	return pod(name, node, append([]podOption{ownedBy("ReplicaSet", "other")}, options...)...)
}

// about returns the verdict of one pod of a report.
func about(t *testing.T, r *Report, name string) PodVerdict {
	t.Helper()
	for _, v := range r.Pods {
		if v.Pod.Name == name {
			return v
		}
	}
	t.Fatalf("there is no verdict for %s", name)
	return PodVerdict{}
}

func TestEvaluate_whetherAnotherNodeHasRoom(t *testing.T) {
	t.Parallel()
	change := tainting("n1", "a:NoExecute")
	gpu := func(n int64) Amount { return Amount{Name: "example.com/gpu", Value: n} }
	tolerant := tolerating(exists("a", ""), exists("old", ""))
	hurried := tolerating(exists("a", ""), lasting(exists("old", noEx), 30))
	two := func(p *Pod, there *Node, others ...*Pod) world {
		return newWorld(having(node("n1"), 100, 100), there).run(p).run(others...)
	}
	for _, tt := range []struct {
		name   string
		world  world
		change Change
		back   bool
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
		{
			name: "nor do pods that leave by the same change", back: true,
			world:  two(pod("p", "n1", asking(1, 4), tolerating(exists("b", ""))), having(node("n2"), 4, 8), other("q", "n2", asking(1, 5))),
			change: Change{Taints: map[string][]corev1.Taint{"n1": taintsOf("a:NoExecute"), "n2": taintsOf("b:NoExecute")}},
		},
		{
			name: "nor do pods that leave by it after a while", back: true,
			world:  two(pod("p", "n1", asking(1, 4), tolerating(exists("b", ""))), having(node("n2"), 4, 8), other("q", "n2", asking(1, 5), tolerating(lasting(exists("b", noEx), 30)))),
			change: Change{Taints: map[string][]corev1.Taint{"n1": taintsOf("a:NoExecute"), "n2": taintsOf("b:NoExecute")}},
		},
		{
			name:   "but those do that tolerate it",
			world:  two(pod("p", "n1", asking(1, 4), tolerating(exists("b", ""))), having(node("n2"), 4, 8), other("q", "n2", asking(1, 5), tolerating(exists("b", "")))),
			change: Change{Taints: map[string][]corev1.Taint{"n1": taintsOf("a:NoExecute"), "n2": taintsOf("b:NoExecute")}},
		},
		{
			name:  "a pod whose countdown runs already may be gone",
			world: two(pod("p", "n1", asking(1, 4), tolerating(exists("old", ""))), having(node("n2", "old:NoExecute"), 4, 8), other("q", "n2", asking(1, 5), hurried)), back: true,
		},
		{
			name:  "a pod that tolerates what is there stays",
			world: two(pod("p", "n1", asking(1, 4), tolerating(exists("old", ""))), having(node("n2", "old:NoExecute"), 4, 8), other("q", "n2", asking(1, 5), tolerant)),
		},
		{
			name: "a pod that the same run replaces may come to be elsewhere", back: true,
			world: two(pod("p", "n1", asking(1, 4)), having(node("n2"), 4, 8), other("q", "n2", asking(1, 5))),
			change: Change{
				Taints:      map[string][]corev1.Taint{"n1": taintsOf("a:NoExecute")},
				Tolerations: map[WorkloadKey]Planned{{"app", Owner{"apps", "ReplicaSet", "other"}}: {After: []corev1.Toleration{exists("b", "")}, Sure: true}},
			},
		},
		{name: "pods of a lower priority can be pushed out", world: two(pod("p", "n1", asking(1, 4), priority(10)), having(node("n2"), 4, 8), other("q", "n2", asking(1, 5), priority(9))), back: true},
		{name: "pods of the same priority cannot", world: two(pod("p", "n1", asking(1, 4), priority(10)), having(node("n2"), 4, 8), other("q", "n2", asking(1, 5), priority(10)))},
		{name: "a pod that may push out nobody pushes out nobody", world: two(pod("p", "n1", asking(1, 4), priority(10), patient), having(node("n2"), 4, 8), other("q", "n2", asking(1, 5), priority(-9)))},
		{
			name: "it is judged as if it came alone", back: true,
			world: two(pod("p", "n1", asking(1, 8)), having(node("n2"), 4, 8)).run(pod("q", "n1", asking(1, 8))),
		},
		{
			name: "its own node counts where the taint is tolerated for a while", back: true,
			world: newWorld(having(node("n1"), 4, 8)).run(pod("p", "n1", asking(1, 8), tolerating(lasting(exists("a", noEx), 30)))),
		},
		{
			name:  "its own node has no room beside a pod that stays",
			world: newWorld(having(node("n1"), 4, 8)).run(pod("p", "n1", asking(1, 8), tolerating(lasting(exists("a", noEx), 30))), other("q", "n1", asking(1, 1), tolerant)),
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := tt.change
			if c.Taints == nil {
				c = change
			}
			if v := about(t, Evaluate(tt.world.Snapshot, c, ComparisonOff), "p"); !v.Leaves() || v.Reschedulable != tt.back {
				t.Errorf("%s, reschedulable %t, want %t: %s", v.Verdict, v.Reschedulable, tt.back, v.Reason)
			}
		})
	}
}

func tenPods(node string) []*Pod {
	var out []*Pod
	for _, name := range []string{"q0", "q1", "q2", "q3", "q4", "q5", "q6", "q7", "q8", "q9"} {
		out = append(out, other(name, node))
	}
	return out
}

// While a pod is resized in place, it holds more than a new one would ask for.
func TestEvaluate_aPodHoldsWhatItsNodeHasGivenIt(t *testing.T) {
	t.Parallel()
	shrinking := other("q", "n2", asking(1, 1))
	shrinking.Demand.Holds.Memory = 7 << 30
	w := newWorld(having(node("n1"), 4, 8), having(node("n2"), 4, 8)).run(pod("p", "n1", asking(1, 2)), shrinking)
	if v := about(t, Evaluate(w.Snapshot, tainting("n1", "a:NoExecute"), ComparisonOff), "p"); v.Reschedulable {
		t.Error("the room of a pod that is being resized counts as free")
	}
	w = newWorld(having(node("n1"), 4, 8), having(node("n2"), 4, 8)).run(shrinking)
	if v := about(t, Evaluate(w.Snapshot, tainting("n2", "a:NoExecute"), ComparisonOff), "q"); !v.Reschedulable {
		t.Error("a new pod asks for what the spec says, not for what the old one holds")
	}
}
