// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package planner

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/eviction"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/toleration"
)

// phase is what one apply changes: everything, where one resource manages it all, or only
// the tolerations or the taints, where two resources are applied one after the other.
type phase struct {
	workloads, nodes bool
}

var (
	together         = []phase{{workloads: true, nodes: true}}
	tolerationsFirst = []phase{{workloads: true}, {nodes: true}}
	taintsFirst      = []phase{{nodes: true}, {workloads: true}}
)

// seeds runs a test on many random scenes, each a test by its seed: go test -run
// 'TestOrder_neverEvicts.*/seed_17$' replays one and tells its story, and
// KUBETAINT_SEEDS=20000 tries more than the given number.
func seeds(t *testing.T, many int, run func(*testing.T, uint64)) {
	t.Helper()
	if n, err := strconv.Atoi(os.Getenv("KUBETAINT_SEEDS")); err == nil {
		many = n
	}
	failed := 0
	for seed := range uint64(many) {
		if !t.Run("seed "+strconv.FormatUint(seed, 10), func(t *testing.T) { run(t, seed) }) {
			failed++
		}
		if failed == 3 {
			t.Fatal("three are enough")
		}
	}
}

func TestOrder_neverEvictsAndAlwaysEnds(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		creates bool
		release bool
		phases  []phase
	}{
		{name: "an update of taints and tolerations", phases: together},
		{name: "a create of taints and tolerations", creates: true, phases: together},
		{name: "a destroy of taints and tolerations", release: true, phases: together},
		{name: "an update of tolerations, then one of taints", phases: tolerationsFirst},
		{name: "a create of tolerations, then one of taints", creates: true, phases: tolerationsFirst},
		{name: "a destroy of tolerations, then one of taints", release: true, phases: tolerationsFirst},
		{name: "a destroy of taints, then one of tolerations", release: true, phases: taintsFirst},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			seeds(t, 150, func(t *testing.T, seed uint64) {
				s := newScene(t, seed, tt.creates, tt.release)
				for _, p := range tt.phases {
					s.carryOut(p)
				}
				s.end()
			})
		})
	}
}

// carryOut is the loop of the one who carries out a change: ask, take the first
// step, and ask again. Other things happen all the time.
func (s *scene) carryOut(p phase) {
	s.t.Helper()
	for range 1000 {
		plan := s.ask(p)
		if len(plan.Steps) == 0 {
			return
		}
		step := plan.Steps[0]
		s.tell("%s", write(step))
		if step.Kind == Wait && s.unrest == 0 && len(s.moves()) == 0 {
			s.fail("the rollout of %s stalls", step.Workload.Name)
		}
		s.happen(3)
		s.take(p, step)
		if s.r.IntN(12) == 0 {
			s.kill(p)
		}
		s.happen(6)
	}
	s.fail("the change finds no end")
}

// ask asks for the plan, and looks whether it is one: the switch must evict no pod.
func (s *scene) ask(p phase) Plan {
	s.t.Helper()
	plan := Order(s.look(), s.change(p), s.comparison)
	if len(plan.Conflicts)+len(plan.Refusals) > 0 {
		s.fail("conflicts %v, refusals %v", plan.Conflicts, plan.Refusals)
	}
	kinds := []StepKind{Expand, Wait, ApplyTaints, Contract}
	if !slices.IsSortedFunc(plan.Steps, func(a, b Step) int { return slices.Index(kinds, a.Kind) - slices.Index(kinds, b.Kind) }) {
		s.fail("the steps %s are not in order", writeSteps(plan))
	}
	for _, step := range plan.Steps {
		if step.Report == nil {
			continue
		}
		for _, v := range step.Report.Pods {
			if v.Verdict != eviction.Stays || v.Stranded {
				s.fail("the plan %s says of %s on %s: %s, %s", writeSteps(plan), v.Pod.Name, v.Pod.Node, v.Verdict, v.Reason)
			}
		}
	}
	return plan
}

// take carries out a step, from what there is when it comes to that.
func (s *scene) take(p phase, step Step) {
	s.t.Helper()
	switch step.Kind {
	case Wait:
	case ApplyTaints:
		// Several nodes are written in parallel, and a kill leaves some of them.
		desired := s.desiredOf(step)
		for _, one := range step.Nodes.Switches {
			if s.r.IntN(3) == 0 {
				continue
			}
			n := s.node(one.Node.Name)
			merged := MergeNode(n, desired)
			s.tell("  %s gets %s", n.Name, taint.FormatAll(merged.Taints))
			n.Taints, n.Record = merged.Taints, merged.Record
			s.evict()
			s.noPodIsEvicted()
			s.happen(2)
		}
	default:
		w := s.workload(step.Workload.Name)
		t := Retained(s.observe(w), s.retained())
		if claim, claimed := s.claims()[w]; claimed && p.workloads {
			t.Claim = claim
		}
		merged := t.Merge(s.look(), s.comparison)
		if len(merged.Conflicts) > 0 {
			s.fail("conflicts %v", merged.Conflicts)
		}
		s.tell("  %s gets %s", w.Name, toleration.Format(merged.Tolerations))
		s.write(w, merged.Tolerations)
		w.Record = merged.Record
	}
}

// happen lets up to so many things happen.
func (s *scene) happen(most int) {
	s.t.Helper()
	for range s.r.IntN(most + 1) {
		if s.unrest > 0 && s.r.IntN(4) == 0 {
			s.disturb()
			if s.unrest--; s.unrest == 0 {
				s.quiet()
			}
		} else {
			s.move()
		}
		s.noPodIsEvicted()
	}
}

func (s *scene) noPodIsEvicted() {
	s.t.Helper()
	if len(s.evicted) > 0 {
		s.fail("%s", s.evicted[0])
	}
}

// end looks at what stands when all is done and all have come to rest.
func (s *scene) end() {
	s.t.Helper()
	if s.quiet(); !s.settle() {
		s.fail("the controllers find no rest")
	}
	s.noPodIsEvicted()
	if plan := s.ask(together[0]); len(plan.Steps) > 0 {
		s.fail("%s is left to do", writeSteps(plan))
	}
	for _, n := range s.nodes {
		want := slices.DeleteFunc(slices.Clone(n.Taints), func(x corev1.Taint) bool { return !slices.ContainsFunc(foreignTaints, same(x)) })
		if s.targets(n) && !s.release {
			want = append(want, s.after.taints...)
		}
		if got, want := taint.FormatAll(taint.Sort(slices.Clone(n.Taints))), taint.FormatAll(taint.Sort(want)); got != want {
			s.fail("%s has %s, want %s", n.Name, got, want)
		}
	}
	for _, w := range s.workloads {
		s.endOf(w)
	}
	if s.restless() {
		s.fail("the pods have not come to rest")
	}
}

func same(x corev1.Taint) func(corev1.Taint) bool {
	return func(other corev1.Taint) bool { return taint.IDOf(x) == taint.IDOf(other) && x.Value == other.Value }
}

// names reports whether the change is about taints with the key of a mark.
func (s *scene) names(mark toleration.Mark) bool {
	return slices.ContainsFunc(slices.Concat(s.before.taints, s.after.taints), func(x corev1.Taint) bool { return x.Key == mark.Key })
}

// endOf looks at one workload.
func (s *scene) endOf(w *simWorkload) {
	s.t.Helper()
	want := slices.Clone(w.foreign)
	for _, mark := range w.Record {
		switch {
		case mark.Retiring && (mark.Owner == "me" || s.names(mark)):
			s.fail("%s of %s retires", taint.FormatToleration(mark.Toleration()), w.Name)
		case mark.Owner == "me" && (s.release || !toleration.Contains(s.after.tolerations[w], mark.Toleration())):
			s.fail("%s of %s is marked as ours", taint.FormatToleration(mark.Toleration()), w.Name)
		}
		want = append(want, mark.Toleration())
	}
	if got, want := toleration.Format(w.Tolerations), toleration.Format(want); got != want {
		s.fail("%s has %s, want %s", w.Name, got, want)
	}
	for _, x := range s.after.tolerations[w] {
		if !s.release && !toleration.CoveredBy(w.Tolerations, x) {
			s.fail("%s lacks %s: %s", w.Name, taint.FormatToleration(x), toleration.Format(w.Tolerations))
		}
	}
}

// restless reports whether a pod is Pending, missing or about to be replaced.
func (s *scene) restless() bool {
	return slices.ContainsFunc(s.workloads, func(w *simWorkload) bool {
		return len(s.of(w)) != int(s.observe(w).Wants) || slices.ContainsFunc(s.of(w), func(p *simPod) bool { return waits(p) || isOld(p) })
	})
}

// kill ends the one who carries out the change. The next create has a generation
// of its own, and the next update has the one of the state.
func (s *scene) kill(p phase) {
	if s.creates && p.workloads {
		s.generations[0]++
	}
	if s.creates && p.nodes {
		s.generations[1]++
	}
	s.tell("killed")
}

func (s *scene) fail(format string, args ...any) {
	s.t.Helper()
	s.t.Fatalf("%s\n%s", strings.Join(s.story, "\n"), fmt.Sprintf(format, args...))
}

func (s *scene) workload(name string) *simWorkload {
	return s.workloads[slices.IndexFunc(s.workloads, func(w *simWorkload) bool { return w.Name == name })]
}

// The simulation is worth something only if it notices what goes wrong in other
// orders.
func TestSimulation_noticesOtherOrders(t *testing.T) {
	t.Parallel()
	taints := func(s *scene) {
		for _, d := range s.nodeTaints(s.after, false) {
			for _, n := range s.nodes {
				merged := MergeNode(n, d)
				n.Taints, n.Record = merged.Taints, merged.Record
			}
		}
		s.evict()
	}
	tolerations := func(s *scene, keep bool) {
		for w, claim := range s.claims() {
			var live []corev1.Taint
			if keep {
				live = s.before.taints
			}
			merged := toleration.Merge(w.Tolerations, w.Record, claim, live, false)
			s.write(w, merged.Tolerations)
			w.Record = merged.Record
		}
	}
	tests := []struct {
		name  string
		do    func(*scene)
		wrong bool
	}{
		{name: "the right one", do: func(s *scene) { tolerations(s, true); s.settle(); taints(s); s.settle(); tolerations(s, false) }},
		{name: "taints first", do: func(s *scene) { taints(s); s.settle(); tolerations(s, false) }, wrong: true},
		{name: "no wait", do: func(s *scene) { tolerations(s, true); taints(s) }, wrong: true},
		{name: "the last tolerations at once", do: func(s *scene) { tolerations(s, false); s.settle(); s.stalled = s.restless(); taints(s) }, wrong: true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			evicted, stalled := 0, 0
			for seed := range uint64(100) {
				s := newScene(t, seed, false, false)
				tt.do(s)
				if !s.settle() || s.restless() || s.stalled {
					stalled++
				}
				if len(s.evicted) > 0 {
					evicted++
				}
			}
			if evicted > 0 != tt.wrong || stalled > 0 != tt.wrong {
				t.Errorf("of 100 scenes, %d evict and %d stall", evicted, stalled)
			}
		})
	}
}
