// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package planner

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/eviction"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/record"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/toleration"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/workload"
)

// scene is a random cluster, and a random change of it.
type scene struct {
	*simulation
	t *testing.T
	// creates is set where the resource owns nothing before the change, and release
	// where it must own nothing after it.
	creates, release bool
	before, after    aim
	// generations are those of the tolerations and of the taints.
	generations [2]int
	comparison  eviction.Comparison
	// unrest counts what others will still do.
	unrest int
	// stalled is set where a rollout found no end.
	stalled bool
}

// aim is what is wanted at one time: taints on nodes, by one target or by
// several, and tolerations for them.
type aim struct {
	taints      []corev1.Taint
	targets     []Target
	tolerations map[*simWorkload][]corev1.Toleration
}

func pick[T any](r *rand.Rand, from ...T) T {
	return from[r.IntN(len(from))]
}

func newScene(t *testing.T, seed uint64, creates, release bool) *scene {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 1))
	s := &scene{
		simulation: &simulation{r: r}, t: t, creates: creates, release: release, unrest: r.IntN(15),
		comparison: pick(r, eviction.ComparisonUnknown, eviction.ComparisonOff, eviction.ComparisonOn),
	}
	for _, name := range []string{"a0", "a1", "a2", "b0", "b1"}[r.IntN(3):] {
		s.nodes = append(s.nodes, &snapshot.Node{Name: name, Labels: map[string]string{"pool": name[:1]}})
	}
	s.nodes = s.nodes[:len(s.nodes)-r.IntN(2)]
	for i := range 1 + r.IntN(3) {
		s.addWorkload(fmt.Sprintf("w%d", i))
	}
	s.before, s.after = s.wishes()
	s.stand()
	return s
}

// addWorkload adds a workload for one pool or for all nodes, with foreign
// tolerations and perhaps those of another resource.
func (s *scene) addWorkload(name string) {
	kind, _ := workload.Lookup("apps/v1", pick(s.r, "Deployment", "StatefulSet", "DaemonSet"))
	w := &simWorkload{
		Workload: workload.Workload{
			Ref:  workload.Ref{APIVersion: kind.APIVersion, Kind: kind.Kind, Namespace: "shop", Name: name},
			Path: kind.Path, Wants: int64(1 + s.r.IntN(3)),
		},
		nodes: pick(s.r, map[string]string{"pool": "a"}, map[string]string{"pool": "b"}, nil),
	}
	w.Pods = []snapshot.WorkloadKey{w.Owner()}
	switch w.Kind {
	case "Deployment":
		bounds := pick(s.r, [2]int{1, 0}, [2]int{0, 1}, [2]int{1, 1}, [2]int{0, 3})
		w.surge, w.unavailable = bounds[0], bounds[1]
	case "StatefulSet":
		w.slots = make([][]corev1.Toleration, w.Wants)
	}
	w.foreign = []corev1.Toleration{{Key: foreignTaints[0].Key, Operator: corev1.TolerationOpExists}}
	if s.r.IntN(8) == 0 {
		w.foreign = append(w.foreign, corev1.Toleration{Operator: corev1.TolerationOpExists})
	}
	w.Tolerations = slices.Clone(w.foreign)
	if s.r.IntN(3) == 0 {
		s.claimForOther(w, corev1.Toleration{Key: "of-another", Operator: corev1.TolerationOpExists}, false)
	}
	if s.r.IntN(4) == 0 {
		s.claimForOther(w, corev1.Toleration{Key: "left-behind", Operator: corev1.TolerationOpExists}, true)
	}
	s.workloads = append(s.workloads, w)
}

// claimForOther gives a workload a toleration of another resource.
func (s *scene) claimForOther(w *simWorkload, t corev1.Toleration, retiring bool) {
	w.Tolerations = append(w.Tolerations, t)
	w.Record = append(w.Record, toleration.Mark{
		Key: t.Key, Operator: toleration.IDOf(t).Operator, Value: t.Value, Effect: t.Effect, Owner: "other", Generation: "o1", Retiring: retiring,
	})
}

// wishes makes up what is wanted before and after.
func (s *scene) wishes() (before, after aim) {
	before.targets = pick(s.r, []Target{poolTarget("a")}, []Target{poolTarget("a")}, []Target{{Selector: labels.Everything()}}, []Target{{Name: "a2"}, {Name: "b0"}})
	after.targets = before.targets
	if len(before.targets) == 1 && s.r.IntN(4) == 0 {
		after.targets = pick(s.r, []Target{poolTarget("b")}, []Target{{Selector: labels.Everything()}})
	}
	if !s.creates {
		before.taints = s.someTaints()
	}
	switch {
	case s.release:
	case s.r.IntN(3) == 0:
		after.taints = slices.Clone(before.taints)
		for i := range after.taints {
			after.taints[i].Value = pick(s.r, "1", "2", "3")
		}
	default:
		after.taints = s.someTaints()
	}
	before.tolerations, after.tolerations = map[*simWorkload][]corev1.Toleration{}, map[*simWorkload][]corev1.Toleration{}
	for _, w := range s.workloads {
		if s.r.IntN(6) == 0 {
			s.standBy(w, before.taints, after.taints)
			continue
		}
		before.tolerations[w], after.tolerations[w] = s.tolerating(before.taints), s.tolerating(after.taints)
		for _, x := range after.tolerations[w] {
			// It may stand there, left by a resource that was destroyed.
			if s.r.IntN(6) == 0 && !toleration.Contains(before.tolerations[w], x) {
				s.claimForOther(w, x, true)
			}
		}
	}
	return before, after
}

// standBy keeps a workload out of the change: the tolerations that its pods need before
// it are retained, and those that they need after it are foreign.
func (s *scene) standBy(w *simWorkload, before, after []corev1.Taint) {
	for _, x := range after {
		w.foreign = append(w.foreign, taint.TolerationFor(x))
		w.Tolerations = append(w.Tolerations, taint.TolerationFor(x))
	}
	for _, x := range before {
		if !toleration.CoveredBy(w.Tolerations, taint.TolerationFor(x)) {
			s.claimForOther(w, taint.TolerationFor(x), true)
		}
	}
}

func (s *scene) someTaints() []corev1.Taint {
	var out []corev1.Taint
	for range s.r.IntN(3) {
		x := corev1.Taint{
			Key: pick(s.r, "k1", "k2"), Value: pick(s.r, "1", "2"),
			Effect: pick(s.r, corev1.TaintEffectNoExecute, corev1.TaintEffectNoExecute, corev1.TaintEffectNoSchedule),
		}
		if taint.Find(out, taint.IDOf(x)) < 0 {
			out = append(out, x)
		}
	}
	return out
}

// tolerating makes up tolerations for taints, exact ones and others.
func (s *scene) tolerating(taints []corev1.Taint) []corev1.Toleration {
	var out []corev1.Toleration
	for _, x := range taints {
		t := taint.TolerationFor(x)
		if s.r.IntN(4) == 0 {
			t.Effect = ""
		}
		if s.r.IntN(4) == 0 {
			t.Operator, t.Value = corev1.TolerationOpExists, ""
		}
		if !toleration.Contains(out, t) {
			out = append(out, t)
		}
	}
	return out
}

func poolTarget(name string) Target {
	return Target{Selector: labels.SelectorFromSet(labels.Set{"pool": name})}
}

// stand makes all that is wanted before stand there, and lets it come to rest.
func (s *scene) stand() {
	s.t.Helper()
	for _, d := range s.nodeTaints(s.before, false) {
		for _, n := range s.nodes {
			merged := MergeNode(n, d)
			n.Taints, n.Record = merged.Taints, merged.Record
		}
	}
	for _, w := range s.workloads {
		if wanted, claimed := s.before.tolerations[w]; claimed {
			// The retiring entries are still there, as if its taints had gone by themselves.
			live := slices.Concat(s.before.taints, s.after.taints, []corev1.Taint{{Key: "left-behind", Effect: corev1.TaintEffectNoExecute}})
			merged := toleration.Merge(w.Tolerations, w.Record, toleration.Claim{Owner: "me", Generation: "t0", Tolerations: wanted}, live, true)
			w.Tolerations, w.Record = merged.Tolerations, merged.Record
		}
		w.seen, w.Observed = slices.Clone(w.Tolerations), true
		for slot := range w.slots {
			w.slots[slot] = w.seen
		}
	}
	if !s.settle() || len(s.evicted) > 0 {
		s.fail("the scene does not stand: %v", s.evicted)
	}
	s.story = nil
	for _, n := range s.nodes {
		s.tell("%s has %s", n.Name, taint.FormatAll(n.Taints))
	}
	for _, w := range s.workloads {
		s.tell("%s %s on %v of %d has %s %s", w.Kind, w.Name, w.nodes, w.Wants, toleration.Format(w.Tolerations), w.Record)
		s.tell("  and shall have %s", toleration.Format(s.after.tolerations[w]))
	}
	for _, d := range s.nodeTaints(s.after, s.release) {
		s.tell("%s shall have %s", d.Target, taint.FormatAll(d.Claim.Taints))
	}
}

// nodeTaints is the change of the nodes that a aim is. Where there are several
// targets, each is a resource of its own.
func (s *scene) nodeTaints(w aim, release bool) []NodeTaints {
	var out []NodeTaints
	for _, target := range w.targets {
		claim := taint.Claim{Owner: "me", Generation: fmt.Sprint("n", s.generations[1]), Taints: w.taints, TakeOver: s.creates, Release: release}
		if len(w.targets) > 1 {
			claim.Generation += target.Name
		}
		out = append(out, NodeTaints{Target: target, Claim: claim})
	}
	return out
}

// desiredOf finds the change that a switch is a step of.
func (s *scene) desiredOf(step Step) NodeTaints {
	all := s.nodeTaints(s.after, s.release)
	at := slices.IndexFunc(all, func(d NodeTaints) bool { return d.Target.Matches(step.Nodes.Switches[0].Node) })
	return all[max(at, 0)]
}

// targets reports whether a node must be tainted.
func (s *scene) targets(n *snapshot.Node) bool {
	return slices.ContainsFunc(s.after.targets, func(t Target) bool { return t.Matches(n) })
}

// claims is the change of the tolerations.
func (s *scene) claims() map[*simWorkload]toleration.Claim {
	out := map[*simWorkload]toleration.Claim{}
	for w, wanted := range s.after.tolerations {
		out[w] = toleration.Claim{Owner: "me", Generation: fmt.Sprint("t", s.generations[0]), Tolerations: wanted, TakeOver: s.creates, Release: s.release}
		if s.release {
			claim := out[w]
			claim.Tolerations = s.before.tolerations[w]
			out[w] = claim
		}
	}
	return out
}

// retained is the claim of a change of taints to what others have left for them.
func (s *scene) retained() toleration.Claim {
	return toleration.Claim{Named: taint.IDs(slices.Concat(s.before.taints, s.after.taints)), Known: []record.Seal{{}}}
}

// change is what the planner is asked for in one phase. Where taints are a resource of their
// own, it is linked to the one of the tolerations, as tolerated_by links it.
func (s *scene) change(p phase) Change {
	var out Change
	claims := s.claims()
	for _, w := range s.workloads {
		claim, claimed := claims[w]
		switch {
		case p.workloads && claimed:
			out.Workloads = append(out.Workloads, Tolerations{Workload: s.observe(w), Claim: claim})
		case p.nodes && claimed && !claim.Release:
			linked := toleration.Claim{Tolerations: claim.Tolerations}
			out.Workloads = append(out.Workloads, Tolerations{Workload: s.observe(w), Claim: linked, Linked: true})
		}
		if p.nodes && toleration.Retiring(w.Record) && (!p.workloads || !claimed) {
			out.Workloads = append(out.Workloads, Retained(s.observe(w), s.retained()))
		}
	}
	if p.nodes {
		out.Nodes = s.nodeTaints(s.after, s.release)
	}
	return out
}
