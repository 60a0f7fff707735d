// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package planner

import (
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/admission"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/eviction"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/label"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/toleration"
)

// TestOrder_judgesByTheTemplateThatADaemonSetWillHave: one that gives up a label before nodes
// lose it keeps its pods there.
func TestOrder_judgesByTheTemplateThatADaemonSetWillHave(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		gives bool
		want  eviction.Verdict
	}{"one that gives it up": {gives: true}, "one that goes on requiring it": {want: eviction.EvictedNow}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pins := map[string]string{"tier": "x"}
			n := ours(labelledNode(t, "a", "gpu", "tier=x"), "tier")
			w := aWorkload(t, "DaemonSet", "agent")
			w.UID, w.NodeSelector = "d", pins
			w.LabelRecord = label.Record{{Key: "tier", Owner: "me", Generation: "g2"}}
			p := podRequiring(w, pins)
			p.Controller.UID = w.UID
			s := aSnapshot([]*snapshot.Node{n}, p)
			s.Daemons = map[types.UID]*snapshot.Daemon{w.UID: {Scheduling: snapshot.Scheduling{NodeSelector: pins}}}
			claim := label.Claim{Owner: "me", Generation: "g2", Labels: pins, Release: true}
			change := Change{Labels: []NodeLabels{{Target: Target{Name: "a"}, Claim: claim}}}
			if tt.gives {
				change.Workloads = []Tolerations{{Workload: w, Claim: toleration.Claim{Owner: "me", Generation: "g2", Release: true}, Pin: claim}}
			}
			plan := Order(s, change, eviction.ComparisonOff)
			last := plan.Steps[len(plan.Steps)-1]
			if last.Kind != Unlabel || last.Report == nil {
				t.Fatalf("it ends with %s", last)
			}
			var got eviction.Verdict
			for _, v := range last.Report.Pods {
				if v.Leaves() {
					got = v.Verdict
				}
			}
			if got != tt.want {
				t.Errorf("the pod is %q, want %q", got, tt.want)
			}
		})
	}
}

// TestOrder_countsWhatAPolicyGivesAlready: evicted pods are recreated with its tolerations.
func TestOrder_countsWhatAPolicyGivesAlready(t *testing.T) {
	t.Parallel()
	policy := admission.Policy{Name: "p", Match: admission.Match{Namespaces: []string{"shop"}}, Tolerations: tols(t, "other=x:NoSchedule")}
	mark := admission.Mark{Owner: "me", Generation: "g2"}
	for name, seen := range map[string]bool{"one that is there": true, "one that is not": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := aWorkload(t, "Deployment", "web")
			s := aSnapshot([]*snapshot.Node{aNode(t, "a", "gpu"), aNode(t, "b", "web", "other=x:NoSchedule")}, podRequiring(w, nil))
			change := Change{Nodes: []NodeTaints{desire(t, pool(t, "gpu"), "team=a:NoExecute")}}
			if seen {
				change.Policies = []DesiredPolicy{{Claim: admission.Claim{Policy: policy, Mark: mark}, Seen: &admission.Observed{Policy: policy, Mark: mark}}}
			}
			plan := Order(s, change, eviction.ComparisonOff)
			if len(plan.Steps) != 1 || plan.Steps[0].Report == nil || len(plan.Steps[0].Report.Pods) != 1 {
				t.Fatalf("the steps are %v", plan.Steps)
			}
			report := plan.Steps[0].Report
			if v := report.Pods[0]; report.Gone(v) == seen {
				t.Errorf("the pod finds a node: %t (%s)", !seen, report.Why(v))
			}
		})
	}
}
