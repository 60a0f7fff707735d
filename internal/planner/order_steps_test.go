// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package planner

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/eviction"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/record"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/toleration"
)

// orderCase is a change of the taints of the pool gpu, which is the node a, and
// of the tolerations of the workload web, which has the pod a1 on a and the pod
// b1 on the node b, which no change is about.
type orderCase struct {
	name string
	// node and list exist before the change, and pod is what the pods carry: the list,
	// where it is not given.
	node, list, pod []string
	// taints and tolerations are the desired ones; without taints there is no
	// change of nodes.
	taints, tolerations []string
	// but changes the change.
	but func(*Change)

	steps []string
	// verdicts are those of pods that do not plainly stay.
	verdicts []string
}

func runOrder(t *testing.T, tests []orderCase) {
	t.Helper()
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			web := aWorkload(t, "Deployment", "web", tt.list...)
			nodes := []*snapshot.Node{aNode(t, "a", "gpu", tt.node...), aNode(t, "b", "cpu")}
			change := Change{Workloads: []Tolerations{tolerate(t, web, tt.tolerations...)}}
			if tt.taints != nil {
				change.Nodes = []NodeTaints{desire(t, pool(t, "gpu"), tt.taints...)}
			}
			snapshot := aSnapshot(nodes, aPod(t, web, "a1", "a", tt.pod...), aPod(t, web, "b1", "b", tt.pod...))
			if tt.but != nil {
				tt.but(&change)
			}
			plan := Order(snapshot, change, eviction.ComparisonOff)
			if len(plan.Conflicts)+len(plan.Refusals) > 0 {
				t.Errorf("conflicts %v, refusals %v", plan.Conflicts, plan.Refusals)
			}
			for _, diff := range []string{cmp.Diff(tt.steps, writeSteps(plan)), cmp.Diff(tt.verdicts, verdicts(plan), cmpopts.EquateEmpty())} {
				if diff != "" {
					t.Error(diff)
				}
			}
		})
	}
}

func TestOrder_stepsOfAChange(t *testing.T) {
	t.Parallel()
	none := []string{}
	runOrder(t, []orderCase{
		{
			name:   "adding is to expand, to wait and to switch",
			taints: []string{"x=1:NoExecute"}, tolerations: []string{"x=1:NoExecute"},
			steps: []string{"expand web: x=1:NoExecute, restarts a1 b1", "wait for web: a1 b1", "switch a: x=1:NoExecute"},
		},
		{
			name: "removing is to switch and to contract",
			node: []string{"*x=1:NoExecute"}, list: []string{"*x=1:NoExecute"}, taints: none,
			steps: []string{"switch a: ", "contract web:, restarts a1 b1"},
		},
		{
			name: "changing the value takes all four",
			node: []string{"*x=1:NoExecute"}, list: []string{"*x=1:NoExecute"}, taints: []string{"x=2:NoExecute"}, tolerations: []string{"x=2:NoExecute"},
			steps: []string{
				"expand web: ~x=1:NoExecute, x=2:NoExecute, restarts a1 b1", "wait for web: a1 b1",
				"switch a: x=2:NoExecute", "contract web: x=2:NoExecute, restarts a1 b1",
			},
		},
		{
			name: "changing the effect takes all four",
			node: []string{"*x=1:NoSchedule"}, list: []string{"*x=1:NoSchedule"}, taints: []string{"x=1:NoExecute"}, tolerations: []string{"x=1:NoExecute"},
			steps: []string{
				"expand web: x=1:NoExecute, ~x=1:NoSchedule, restarts a1 b1", "wait for web: a1 b1",
				"switch a: x=1:NoExecute", "contract web: x=1:NoExecute, restarts a1 b1",
			},
		},
		{
			name: "changing the key takes all four, and leaves what is foreign",
			node: []string{"z:NoSchedule", "*x:NoExecute"}, list: []string{"z Exists", "*x:NoExecute", "!o Exists"}, taints: []string{"y:NoExecute"}, tolerations: []string{"y:NoExecute"},
			steps: []string{
				"expand web: o Exists, ~x:NoExecute, y:NoExecute, z Exists, restarts a1 b1", "wait for web: a1 b1",
				"switch a: z:NoSchedule, y:NoExecute", "contract web: o Exists, y:NoExecute, z Exists, restarts a1 b1",
			},
		},
		{
			name: "what no pod lives by goes with the expansion: pods restart once",
			node: []string{"*x=1:NoExecute"}, list: []string{"*x=1:NoExecute", "*y:NoExecute"}, taints: []string{"x=1:NoExecute"}, tolerations: []string{"x=1:NoExecute", "z:NoExecute"},
			steps: []string{"expand web: x=1:NoExecute, z:NoExecute, restarts a1 b1", "wait for web: a1 b1"},
		},
		{
			name: "what covers the new value before leaves only the switch",
			node: []string{"*x=1:NoExecute"}, list: []string{"*x Exists"}, taints: []string{"x=2:NoExecute"}, tolerations: []string{"x Exists"},
			steps: []string{"switch a: x=2:NoExecute"},
		},
		{
			name: "what is foreign and covers the new taint leaves only the switch",
			list: []string{"x Exists"}, taints: []string{"x=1:NoExecute"}, tolerations: []string{"x=1:NoExecute"},
			steps: []string{"switch a: x=1:NoExecute"},
		},
		{
			name: "an update that was killed after it expanded waits, and foresees that it has waited",
			node: []string{"*x=1:NoExecute"}, list: []string{"*~x=1:NoExecute", "*x=2:NoExecute"}, pod: []string{"x=1:NoExecute"}, taints: []string{"x=2:NoExecute"}, tolerations: []string{"x=2:NoExecute"},
			steps: []string{"wait for web: a1 b1", "switch a: x=2:NoExecute", "contract web: x=2:NoExecute, restarts a1 b1"},
		},
		{
			name: "an update that was killed after it waited switches",
			node: []string{"*x=1:NoExecute"}, list: []string{"*~x=1:NoExecute", "*x=2:NoExecute"}, taints: []string{"x=2:NoExecute"}, tolerations: []string{"x=2:NoExecute"},
			steps: []string{"switch a: x=2:NoExecute", "contract web: x=2:NoExecute, restarts a1 b1"},
		},
		{
			name: "an update that was killed after it switched contracts",
			node: []string{"*x=2:NoExecute"}, list: []string{"*~x=1:NoExecute", "*x=2:NoExecute"}, taints: []string{"x=2:NoExecute"}, tolerations: []string{"x=2:NoExecute"},
			steps: []string{"contract web: x=2:NoExecute, restarts a1 b1"},
		},
		{
			name: "a create that begins anew takes over what an earlier one has left, without a restart",
			node: []string{"*x=1:NoExecute"}, list: []string{"*x=1:NoExecute"}, taints: []string{"x=1:NoExecute"}, tolerations: []string{"x=1:NoExecute"},
			but: func(c *Change) {
				c.Nodes[0].Claim.Generation, c.Nodes[0].Claim.TakeOver = "g3", true
				c.Workloads[0].Claim.Generation, c.Workloads[0].Claim.TakeOver = "g3", true
			},
			steps: []string{"switch a: x=1:NoExecute", "contract web: x=1:NoExecute"},
		},
		{
			name: "all that is done is no step",
			node: []string{"*x=2:NoExecute"}, list: []string{"*x=2:NoExecute"}, taints: []string{"x=2:NoExecute"}, tolerations: []string{"x=2:NoExecute"},
		},
		{
			name: "a template as wanted whose pods are not is waited for alone",
			list: []string{"*x=1:NoExecute"}, pod: []string{"z Exists"}, tolerations: []string{"x=1:NoExecute"},
			steps: []string{"wait for web: a1 b1"},
		},
		{
			name: "tolerations alone leave what pods live by until the taints are switched",
			node: []string{"*x=1:NoExecute"}, list: []string{"*x=1:NoExecute"}, tolerations: []string{"x=2:NoExecute"},
			steps: []string{"expand web: ~x=1:NoExecute, x=2:NoExecute, restarts a1 b1", "wait for web: a1 b1"},
		},
	})
}

func TestOrder_waits(t *testing.T) {
	t.Parallel()
	added := []string{"x=1:NoExecute"}
	runOrder(t, []orderCase{
		{
			name: "not where it shall not, and does not know then whether pods are saved", taints: added, tolerations: added,
			but:      func(c *Change) { c.Workloads[0].NoWait = true },
			steps:    []string{"expand web: x=1:NoExecute, restarts a1 b1", "switch a: x=1:NoExecute"},
			verdicts: []string{"a1 unknown"},
		},
		{
			name: "not for the jobs of a CronJob, which keep what they have", taints: added, tolerations: added,
			but:      func(c *Change) { c.Workloads[0].Workload.Rolling.Later = true },
			steps:    []string{"expand web: x=1:NoExecute", "switch a: x=1:NoExecute"},
			verdicts: []string{"a1 evicted_now"},
		},
		{
			name: "for pods that do not follow by themselves, none of which restarts", taints: added, tolerations: added,
			but:   func(c *Change) { c.Workloads[0].Workload.Rolling.Hold = "it is paused" },
			steps: []string{"expand web: x=1:NoExecute", "wait for web: a1 b1", "switch a: x=1:NoExecute"},
		},
		{
			name: "for a pod that another writer has deleted, before a taint that comes: it can come back as it was",
			list: []string{"*x=1:NoExecute"}, taints: added, tolerations: added,
			but:   func(c *Change) { c.Workloads[0].Workload.Wants = 3 },
			steps: []string{"wait for web: and 1 missing", "switch a: x=1:NoExecute"},
		},
		{
			name: "not for a pod that its controller makes from the newest template, such as one on a node that is gone",
			list: []string{"*x=1:NoExecute"}, taints: added, tolerations: added,
			but: func(c *Change) {
				c.Workloads[0].Workload.Wants, c.Workloads[0].Workload.MissingFollow = 3, true
			},
			steps: []string{"switch a: x=1:NoExecute"},
		},
		{
			name: "until the controller has seen the template, before a taint that comes",
			list: []string{"*x=1:NoExecute"}, taints: added, tolerations: added,
			but:   func(c *Change) { c.Workloads[0].Workload.Observed = false },
			steps: []string{"wait for web:", "switch a: x=1:NoExecute"},
		},
		{
			name: "as long as a lost pod would come back from an older template, before a taint that comes",
			list: []string{"*x=1:NoExecute"}, taints: added, tolerations: added,
			but:   func(c *Change) { c.Workloads[0].Workload.Relapses = true },
			steps: []string{"wait for web:", "switch a: x=1:NoExecute"},
		},
		{
			name: "not for missing pods where no taint comes",
			node: []string{"*x=1:NoExecute"}, list: []string{"*x=1:NoExecute"}, taints: []string{}, tolerations: added,
			but:   func(c *Change) { c.Workloads[0].Workload.Wants = 3 },
			steps: []string{"switch a: "},
		},
		{
			name: "not for missing pods from which nothing is wanted",
			list: []string{"x Exists"}, taints: added,
			but:   func(c *Change) { c.Workloads[0].Workload.Wants = 3 },
			steps: []string{"switch a: x=1:NoExecute"},
		},
		{
			name: "not for pods of which it is not known how many there shall be",
			list: []string{"*x=1:NoExecute"}, taints: added, tolerations: added,
			but:   func(c *Change) { c.Workloads[0].Workload.Wants = -1 },
			steps: []string{"switch a: x=1:NoExecute"},
		},
	})
}

func TestOrder_keepsTolerationsThatPodsNeed(t *testing.T) {
	t.Parallel()
	one := []string{"x=1:NoExecute"}
	release := func(c *Change) { c.Workloads[0].Claim.Release = true }
	runOrder(t, []orderCase{
		{
			name: "a release with a live taint retires without a restart", tolerations: one,
			node: []string{"*x=1:NoExecute"}, list: []string{"*x=1:NoExecute"}, but: release,
			steps: []string{"contract web: ~x=1:NoExecute"},
		},
		{
			name: "a release with its taint in the same change retires first and is contracted when that goes", tolerations: one,
			node: []string{"*x=1:NoExecute"}, list: []string{"*x=1:NoExecute"}, taints: []string{}, but: release,
			steps: []string{"switch a: ", "contract web:, restarts a1 b1"},
		},
		{
			name: "a release that shall be now goes whatever lives by it", tolerations: one,
			node: []string{"*x=1:NoExecute"}, list: []string{"*x=1:NoExecute"},
			but:   func(c *Change) { release(c); c.Workloads[0].RemoveImmediately = true },
			steps: []string{"contract web:, restarts a1 b1"},
		},
		{
			name: "a release that nothing lives by goes at once", tolerations: one,
			list: []string{"z Exists", "*x=1:NoExecute"}, but: release,
			steps: []string{"contract web: z Exists, restarts a1 b1"},
		},
		{
			name: "a release is not waited for", tolerations: one,
			list: []string{"*x=1:NoExecute"}, pod: []string{"z Exists"}, but: release,
			steps: []string{"contract web:, restarts a1 b1"},
		},
		{
			name: "what retires of others goes with the switch that makes it unneeded",
			node: []string{"*x=1:NoExecute"}, list: []string{"~x=1:NoExecute"}, taints: []string{},
			but: func(c *Change) {
				c.Workloads[0].Claim = toleration.Claim{Named: []taint.ID{{Key: "x", Effect: corev1.TaintEffectNoExecute}}, Known: []record.Seal{{}}}
			},
			steps: []string{"switch a: ", "contract web:, restarts a1 b1"},
		},
		{
			name: "what retires of others stays while pods live by a taint that stays",
			node: []string{"x=1:NoExecute", "*y:NoExecute"}, list: []string{"~x=1:NoExecute", "y Exists"}, taints: []string{},
			but: func(c *Change) {
				c.Workloads[0].Claim = toleration.Claim{Named: []taint.ID{{Key: "x", Effect: corev1.TaintEffectNoExecute}}, Known: []record.Seal{{}}}
			},
			steps: []string{"switch a: x=1:NoExecute"},
		},
		{
			name: "what retires of others stays with a change of the same workload", tolerations: one,
			list:  []string{"~y:NoExecute"},
			steps: []string{"expand web: x=1:NoExecute, ~y:NoExecute, restarts a1 b1", "wait for web: a1 b1"},
		},
		{
			name: "what retires is wanted again without a write of the template", tolerations: one,
			node: []string{"*x=1:NoExecute"}, list: []string{"~x=1:NoExecute"},
			steps: []string{"expand web: x=1:NoExecute"},
		},
		{
			name: "what retires is ours again before a taint comes: others would take it away", tolerations: one,
			list: []string{"~x=1:NoExecute"}, taints: one,
			steps: []string{"expand web: x=1:NoExecute", "switch a: x=1:NoExecute"},
		},
		{
			name: "a toleration for NoSchedule is kept too: a rollout would stall", tolerations: []string{"x=2:NoSchedule"},
			node: []string{"*x=1:NoSchedule"}, list: []string{"*x=1:NoSchedule"},
			steps: []string{"expand web: ~x=1:NoSchedule, x=2:NoSchedule, restarts a1 b1", "wait for web: a1 b1"},
		},
		{
			name: "a toleration for PreferNoSchedule is not kept: it keeps no pod away", tolerations: []string{"x=2:PreferNoSchedule"},
			node: []string{"*x=1:PreferNoSchedule"}, list: []string{"*x=1:PreferNoSchedule"},
			steps: []string{"expand web: x=2:PreferNoSchedule, restarts a1 b1", "wait for web: a1 b1"},
		},
		{
			name: "a toleration of a taint on nodes where none of the pods runs is not kept", tolerations: one,
			list: []string{"*y:NoExecute"}, taints: []string{"x=1:NoExecute"},
			steps: []string{"expand web: x=1:NoExecute, restarts a1 b1", "wait for web: a1 b1", "switch a: x=1:NoExecute"},
		},
	})
}

func TestOrder_keepsNothingForPodsThatShallNotBe(t *testing.T) {
	t.Parallel()
	web := aWorkload(t, "Deployment", "web", "*x=1:NoExecute")
	snapshot := aSnapshot([]*snapshot.Node{aNode(t, "a", "gpu", "*x=1:NoExecute")})
	plan := Order(snapshot, Change{Workloads: []Tolerations{tolerate(t, web, "x=2:NoExecute")}}, eviction.ComparisonOff)
	if diff := cmp.Diff([]string{"expand web: x=2:NoExecute", "wait for web:"}, writeSteps(plan)); diff != "" {
		t.Error(diff)
	}
}

func TestOrder_ofSeveralWorkloadsAndTargetsKeepsThePhases(t *testing.T) {
	t.Parallel()
	web, db := aWorkload(t, "Deployment", "web", "*x=1:NoExecute"), aWorkload(t, "StatefulSet", "db", "*x=1:NoExecute")
	done := aWorkload(t, "DaemonSet", "done", "x Exists")
	nodes := []*snapshot.Node{aNode(t, "a", "gpu", "*x=1:NoExecute"), aNode(t, "b", "cpu", "*x=1:NoExecute")}
	snapshot := aSnapshot(nodes, aPod(t, web, "web1", "a"), aPod(t, db, "db1", "b"), aPod(t, done, "done1", "b"))
	second := desire(t, Target{Name: "b"}, "x=2:NoExecute")
	second.Claim.Generation = "g3"
	nodes[1].Record[0].Generation = "g3"
	plan := Order(snapshot, Change{
		Nodes:     []NodeTaints{desire(t, Target{Name: "a"}, "x=2:NoExecute"), second},
		Workloads: []Tolerations{tolerate(t, web, "x=2:NoExecute"), tolerate(t, done, "x=2:NoExecute"), tolerate(t, db, "x=2:NoExecute")},
	}, eviction.ComparisonOff)
	want := []string{
		"expand web: ~x=1:NoExecute, x=2:NoExecute, restarts web1", "expand db: ~x=1:NoExecute, x=2:NoExecute, restarts db1",
		"wait for web: web1", "wait for db: db1",
		"switch a: x=2:NoExecute", "switch b: x=2:NoExecute",
		"contract web: x=2:NoExecute, restarts web1", "contract db: x=2:NoExecute, restarts db1",
	}
	if diff := cmp.Diff(want, writeSteps(plan)) + cmp.Diff([]string(nil), verdicts(plan)); diff != "" {
		t.Error(diff)
	}
}

func TestOrder_conflictsAndRefusals(t *testing.T) {
	t.Parallel()
	web, db := aWorkload(t, "Deployment", "web", "!x=1:NoExecute"), aWorkload(t, "StatefulSet", "db")
	snapshot := aSnapshot([]*snapshot.Node{aNode(t, "a", "gpu", "!x=1:NoExecute"), aNode(t, "b", "gpu")}, aPod(t, web, "web1", "a"), aPod(t, db, "db1", "b"))
	change := Change{
		Nodes:     []NodeTaints{desire(t, pool(t, "gpu"), "x=1:NoExecute")},
		Workloads: []Tolerations{tolerate(t, web, "x=1:NoExecute", "y:NoExecute"), tolerate(t, db, "x=1:NoExecute")},
	}
	plan := Order(snapshot, change, eviction.ComparisonOff)
	if len(plan.Conflicts) != 1 || plan.Conflicts[0].Workload != web || plan.Conflicts[0].Owner != "other" || taint.FormatToleration(plan.Conflicts[0].Toleration) != "x=1:NoExecute" {
		t.Errorf("the conflicts are %v", plan.Conflicts)
	}
	if diff := cmp.Diff([]string{`a: x:NoExecute of "other"`}, refusals(NodePlan{Refusals: plan.Refusals})); diff != "" {
		t.Error(diff)
	}
	// An obstacle to one step stops that step alone, and is not reported for the rest.
	want := []string{"expand db: x=1:NoExecute, restarts db1", "wait for web: web1", "wait for db: db1", "switch b: x=1:NoExecute"}
	if diff := cmp.Diff(want, writeSteps(plan)); diff != "" {
		t.Error(diff)
	}
}
