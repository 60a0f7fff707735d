// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package faults_test

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/eviction"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/planner"
)

// check compares each resource that was applied with its plan, step by step. Runs that have not come to their end are
// not compared.
func (w *witness) check(t *testing.T) {
	t.Helper()
	if w == nil {
		return
	}
	moved := map[string]bool{}
	for _, c := range w.changes {
		if difference := c.difference(moved); c.done && difference != "" {
			t.Errorf("%s takes other steps than planned, replaced %t:\n%s", c.resource, c.replaced, difference)
		}
		for _, s := range slices.Concat(append(c.plans, c.taken)...) {
			s.moves(moved)
		}
	}
}

// difference returns how the steps taken differ from the plan, "" where they do not.
func (c *seenChange) difference(moved map[string]bool) string {
	if len(c.plans) == 0 {
		// A change that adds no taint evicts no pod, and is not previewed.
		return cmp.Diff([]seenPod(nil), joined(c.taken).impact, cmp.AllowUnexported(seenPod{}))
	}
	planned, taken := steps(c.plans[len(c.plans)-1]), steps(c.taken)
	if c.replaced {
		// It is planned as one change, and carried out as two.
		planned, taken = []seenStep{joined(planned)}, []seenStep{joined(taken)}
	}
	taken = asKept(planned, taken)
	return cmp.Diff(shown(planned, taken, moved), shown(taken, planned, moved), cmpopts.EquateEmpty())
}

// steps leaves out those that differ by design.
func steps(all []seenStep) []seenStep {
	return slices.DeleteFunc(slices.Clone(all), func(s seenStep) bool {
		switch {
		case s.kind == planner.Wait:
			// Pods may have followed before the run waits for them, and a run waits for pods that are missing by then.
			return true
		case s.retained:
			// A run looks for what retires once its taints have changed, and finds what other resources have left as well.
			return true
		}
		return false
	})
}

// asKept returns the steps taken as they are planned where they remove tolerations that the plan keeps as long as pods
// need them: it depends on what earlier resources of the run do to taints, and on the nodes of pods that have restarted.
func asKept(planned, taken []seenStep) []seenStep {
	at := slices.IndexFunc(planned, func(s seenStep) bool { return s.keeps })
	last := len(taken) - 1
	switch {
	case at < 0 || last < 0 || taken[last].kind != planner.Contract || taken[last].object != planned[at].object:
		return taken
	case planned[at].kind == planner.Expand && len(taken) == len(planned)+1:
		return taken[:last]
	case planned[at].kind == planner.Contract && len(taken) == len(planned):
		return append(slices.Clone(taken[:last]), planned[at])
	}
	return taken
}

// joined is one step with the impact of all.
func joined(all []seenStep) seenStep {
	out := seenStep{words: "replace", followed: true}
	for _, s := range all {
		out.impact, out.followed = append(out.impact, s.impact...), out.followed && s.followed
	}
	return out
}

// ofNodes matches the nodes that a step counts beside MachineSets.
var ofNodes = regexp.MustCompile(` and \d+ nodes?$`)

// shown is steps in words, with the pods that they evict where both the plan and the run know them.
func shown(all, beside []seenStep, moved map[string]bool) []string {
	moved, rolled := maps.Clone(moved), false
	var out []string
	for i, s := range all {
		line := s.words
		if rolled {
			// A rollout before has replaced the nodes: one that an earlier apply has begun may have one more at plan.
			line = ofNodes.ReplaceAllString(line, "")
		}
		if i < len(beside) && s.followed && beside[i].followed {
			line += ": " + strings.Join(s.pods(moved), ", ")
		}
		out = append(out, line)
		s.moves(moved)
		rolled = rolled || s.rollsOut
	}
	return out
}

// pods names those that the step evicts. Pods that an earlier step has restarted or evicted have other names by then,
// and may be on other nodes: they are left out.
func (s seenStep) pods(moved map[string]bool) []string {
	var out []string
	for _, p := range s.impact {
		if !moved[p.workload] {
			out = append(out, fmt.Sprintf("%s of %s: %s", p.name, p.workload, p.verdict))
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// moves notes the workloads whose pods a step restarts or evicts.
func (s seenStep) moves(moved map[string]bool) {
	if s.restarts {
		moved[s.object] = true
	}
	for _, p := range s.impact {
		moved[p.workload] = true
	}
}

// runningPod is a pod on a node.
type runningPod struct{ name, workload string }

// runningIn returns the pods that are on nodes: a rollout replaces others that wait for one.
func runningIn(pods []*corev1.Pod, workloadOf func(pod string) string) map[types.UID]runningPod {
	out := map[types.UID]runningPod{}
	for _, p := range pods {
		if p.Spec.NodeName != "" {
			out[p.UID] = runningPod{p.Name, workloadOf(p.Name)}
		}
	}
	return out
}

// workloadOf returns the workload of a pod on the fake.
func workloadOf(pod string) string {
	kind := "Deployment"
	switch name := strings.TrimPrefix(pod, "web-"); {
	case len(name) < 3:
		kind = "StatefulSet"
	case name[0] == 'n' || strings.HasPrefix(name, "ms-"):
		kind = "DaemonSet"
	}
	return kind + " shop/web"
}

// checkGone compares the pods that are gone after a run with those that its steps evict.
func (w *witness) checkGone(t *testing.T, before, after map[types.UID]runningPod) {
	t.Helper()
	if w == nil {
		return
	}
	for _, why := range w.gone(before, after) {
		t.Error(why)
	}
}

// gone returns what differs. It leaves out the workloads whose pods a step restarts.
func (w *witness) gone(before, after map[types.UID]runningPod) (out []string) {
	restarted, evicted := map[string]bool{}, map[types.UID]eviction.Verdict{}
	for _, c := range w.changes {
		for _, s := range c.taken {
			if s.restarts {
				restarted[s.object] = true
			}
		}
		for _, p := range joined(c.evicting()).impact {
			evicted[p.uid] = p.verdict
		}
	}
	for uid, p := range before {
		_, is := after[uid]
		switch verdict, named := evicted[uid]; {
		case restarted[p.workload]:
		case !is && !named:
			out = append(out, fmt.Sprintf("%s of %s is gone, and no step evicts it", p.name, p.workload))
		case is && named && verdict != eviction.Unknown:
			out = append(out, fmt.Sprintf("%s of %s is %s by a step, and still there", p.name, p.workload, verdict))
		}
	}
	slices.Sort(out)
	return out
}

// evicting returns the steps that know which pods are evicted: those of the plan where the run has not read pods.
func (c *seenChange) evicting() []seenStep {
	if len(c.plans) > 0 && slices.ContainsFunc(c.taken, func(s seenStep) bool { return !s.followed }) {
		return c.plans[len(c.plans)-1]
	}
	return c.taken
}
