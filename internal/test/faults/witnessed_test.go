// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package faults_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/eviction"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/planner"
)

// evictingStep is a step that evicts pods of a workload, by name.
func evictingStep(workload string, pods ...string) seenStep {
	out := seenStep{kind: planner.ApplyTaints, words: "change taints of 1 node", followed: true}
	for _, name := range pods {
		out.impact = append(out.impact, seenPod{name: name, workload: workload, uid: types.UID(name), verdict: eviction.EvictedNow})
	}
	return out
}

const web = "Deployment shop/web"

var (
	adds    = seenStep{kind: planner.Expand, words: "add tolerations to " + web, object: web, restarts: true, followed: true}
	keeps   = seenStep{kind: planner.Contract, words: "update the ownership records of " + web, object: web, keeps: true, followed: true}
	removes = seenStep{kind: planner.Contract, words: "remove tolerations from " + web, object: web, restarts: true, followed: true}
	waits   = seenStep{kind: planner.Wait, words: "wait for 1 pod of " + web, object: web, followed: true}
)

func TestSeenChange_differencesOfStepsAndPods(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		planned, taken []seenStep
		unworded       bool
		moved          map[string]bool
		differs        bool
	}{
		"the same steps and pods":                  {planned: []seenStep{adds, evictingStep(web, "a")}, taken: []seenStep{adds, evictingStep(web, "a")}},
		"a step is not taken":                      {planned: []seenStep{adds, evictingStep(web, "a")}, taken: []seenStep{adds}, differs: true},
		"the order differs":                        {planned: []seenStep{adds, evictingStep("", "a")}, taken: []seenStep{evictingStep("", "a"), adds}, differs: true},
		"one more pod is evicted":                  {planned: []seenStep{evictingStep(web, "a")}, taken: []seenStep{evictingStep(web, "a", "b")}, differs: true},
		"another pod is evicted":                   {planned: []seenStep{evictingStep(web, "a")}, taken: []seenStep{evictingStep(web, "b")}, differs: true},
		"another pod of a workload that restarted": {planned: []seenStep{adds, evictingStep(web, "a")}, taken: []seenStep{adds, evictingStep(web, "b")}},
		"an earlier resource has restarted it":     {planned: []seenStep{evictingStep(web, "a")}, taken: []seenStep{evictingStep(web, "b")}, moved: map[string]bool{web: true}},
		"a wait is not planned":                    {planned: []seenStep{adds}, taken: []seenStep{adds, waits}},
		"what pods need is removed all the same":   {planned: []seenStep{keeps}, taken: []seenStep{removes}},
		"tolerations that are not kept":            {planned: []seenStep{adds}, taken: []seenStep{adds, removes}, differs: true},
		"a removal without a preview":              {unworded: true, taken: []seenStep{evictingStep(web)}},
		"a removal without a preview that evicts":  {unworded: true, taken: []seenStep{evictingStep(web, "a")}, differs: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := &seenChange{taken: tt.taken}
			if !tt.unworded {
				c.plans = [][]seenStep{tt.planned}
			}
			moved := tt.moved
			if moved == nil {
				moved = map[string]bool{}
			}
			if got := c.difference(moved); (got != "") != tt.differs {
				t.Errorf("the difference is %q", got)
			}
		})
	}
}

func TestWitness_goneComparesPodsWithImpact(t *testing.T) {
	t.Parallel()
	before := map[types.UID]runningPod{"a": {"a", web}, "b": {"b", web}, "c": {"c", "DaemonSet shop/logs"}}
	left := map[types.UID]runningPod{"b": before["b"]}
	w := &witness{changes: []*seenChange{{taken: []seenStep{evictingStep(web, "a", "b")}}}}
	want := []string{"b of Deployment shop/web is evicted_now by a step, and still there", "c of DaemonSet shop/logs is gone, and no step evicts it"}
	if diff := cmp.Diff(want, w.gone(before, left)); diff != "" {
		t.Error(diff)
	}
	w.changes[0].taken = append(w.changes[0].taken, adds)
	if diff := cmp.Diff(want[1:], w.gone(before, left), cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("of a workload that restarts: %s", diff)
	}
}
