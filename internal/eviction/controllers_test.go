// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package eviction

import (
	"errors"
	"strings"
	"testing"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
)

// controlledBy is a pod of a controller in an API group.
func controlledBy(group, kind string) podOption {
	return func(p *snapshot.Pod) {
		p.Controller = &snapshot.Controller{Owner: snapshot.Owner{Group: group, Kind: kind, Name: "x"}, UID: "x"}
	}
}

func TestEvaluate_whetherAControllerRecreatesAPod(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		group, kind     string
		lost, maybe     bool
		words, perhaps  string
		breaks, mayFail bool
	}{
		"a ReplicaSet does":                                  {group: "apps", kind: "ReplicaSet"},
		"a StatefulSet does":                                 {group: "apps", kind: "StatefulSet"},
		"a Job does, by its own rules":                       {group: "batch", kind: "Job"},
		"a ReplicationController of a DeploymentConfig does": {group: "", kind: "ReplicationController"},
		"a CloneSet of OpenKruise does":                      {group: "apps.kruise.io", kind: "CloneSet"},
		"a StrimziPodSet does":                               {group: "core.strimzi.io", kind: "StrimziPodSet"},
		"a Cluster of CloudNativePG does":                    {group: "postgresql.cnpg.io", kind: "Cluster"},
		"a CatalogSource does":                               {group: "operators.coreos.com", kind: "CatalogSource"},
		"a Build of OpenShift fails":                         {group: "build.openshift.io", kind: "Build", lost: true, words: "; its Build fails, and creates no other pod", breaks: true},
		"a TaskRun of Tekton may fail":                       {group: "tekton.dev", kind: "TaskRun", maybe: true, words: "; its TaskRun fails unless it retries", perhaps: "its TaskRun may fail", breaks: true, mayFail: true},
		"a Workflow of Argo may fail":                        {group: "argoproj.io", kind: "Workflow", maybe: true, words: "; its Workflow fails unless it retries", perhaps: "its Workflow may fail", breaks: true, mayFail: true},
		"a kind of another group is not known":               {group: "example.com", kind: "ReplicaSet", maybe: true, words: "; it is not known whether its ReplicaSet recreates it", perhaps: "may not be recreated"},
		"a virtual machine is not known":                     {group: "kubevirt.io", kind: "VirtualMachineInstance", maybe: true, words: "; it is not known whether its VirtualMachineInstance recreates it", perhaps: "may not be recreated"},
		"a pod that is the driver of others is not known":    {group: "", kind: "Pod", maybe: true, words: "; it is not known whether its Pod recreates it", perhaps: "may not be recreated"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(node("n1"), node("n2")).run(pod("p", "n1", controlledBy(tt.group, tt.kind)))
			report := Evaluate(w.Snapshot, tainting("n1", "a:NoExecute"), ComparisonOff)
			v := only(t, report)
			if v.Lost != tt.lost || v.MayBeLost != tt.maybe || v.Perhaps != tt.perhaps || v.MayFail() != tt.mayFail {
				t.Errorf("lost %t, perhaps %t: %q", v.Lost, v.MayBeLost, v.Perhaps)
			}
			if tail := strings.TrimPrefix(v.Reason, "does not tolerate a:NoExecute"); tail != tt.words {
				t.Errorf("the reason ends with %q", tail)
			}
			most := 0
			if tt.lost || tt.maybe {
				most = 1
			}
			if s := report.Summary(); s.LostPods().Max != most || s.LostPods().Min != s.Lost {
				t.Errorf("%v are lost", s.LostPods())
			}
			// An ordinary operator's pod exceeds no limit.
			if err := (Limits{MaxLost: new(int64(0))}).Check(report); (err != nil) != tt.breaks {
				t.Errorf("max_lost = 0: %v", err)
			}
		})
	}
}

func TestEvaluate_aCompletedPodOfAnUnknownControllerIsNotLost(t *testing.T) {
	t.Parallel()
	w := newWorld(node("n1")).run(pod("p", "n1", controlledBy("tekton.dev", "TaskRun"), completed))
	report := Evaluate(w.Snapshot, tainting("n1", "a:NoExecute"), ComparisonOff)
	if v := only(t, report); v.MayBeLost || report.Summary().LostPods().Max > 0 {
		t.Errorf("%+v", v)
	}
}

// TestOutcome_aReplacementThatMayNotComeLeavesItsRoom has room for one of two evicted pods.
func TestOutcome_aReplacementThatMayNotComeLeavesItsRoom(t *testing.T) {
	t.Parallel()
	w := newWorld(having(node("n1"), 4, 8), having(node("n2"), 1, 8))
	w.run(pod("web", "n1", asking(1, 0)), pod("task", "n1", asking(1, 0), controlledBy("tekton.dev", "TaskRun")))
	out := Evaluate(w.Snapshot, tainting("n1", "a:NoExecute"), ComparisonOff).Outcome()
	got := map[string]Range{}
	for _, o := range out.Workloads {
		got[o.Kind] = o.Pending
	}
	if got["ReplicaSet"] != (Range{Min: 0, Max: 1}) || got["TaskRun"] != (Range{Min: 0, Max: 1}) || out.Pending != (Range{Min: 0, Max: 1}) {
		t.Errorf("%v of %v are Pending", got, out.Pending)
	}
	alone := newWorld(having(node("n1"), 4, 8), having(node("n2"), 0, 8)).run(pod("task", "n1", asking(1, 0), controlledBy("tekton.dev", "TaskRun")))
	if out := Evaluate(alone.Snapshot, tainting("n1", "a:NoExecute"), ComparisonOff).Outcome(); out.Pending != (Range{Min: 1, Max: 1}) {
		t.Errorf("without a node, %v are Pending", out.Pending)
	}
}

func TestCheck_isNotCertainOfARunThatMayFail(t *testing.T) {
	t.Parallel()
	for kind, certain := range map[string]bool{"TaskRun": false, "Build": true} {
		group := map[string]string{"TaskRun": "tekton.dev", "Build": "build.openshift.io"}[kind]
		w := newWorld(node("n1"), node("n2")).run(pod("p", "n1", controlledBy(group, kind)))
		exceeded := new(LimitsError)
		err := Limits{MaxLost: new(int64(0))}.Check(Evaluate(w.Snapshot, tainting("n1", "a:NoExecute"), ComparisonOff))
		if !errors.As(err, &exceeded) || exceeded.Exceeded[0].Certain != certain {
			t.Errorf("%s: %v", kind, err)
		}
	}
}

// TestOutcome_aPreemptedPodOfABuildIsNotRecreated: a Build fails without its pod, and other controllers create one.
func TestOutcome_aPreemptedPodOfABuildIsNotRecreated(t *testing.T) {
	t.Parallel()
	for kind, missing := range map[string]int{"Build": 0, "CatalogSource": 1} {
		group := map[string]string{"Build": "build.openshift.io", "CatalogSource": "operators.coreos.com"}[kind]
		w := newWorld(having(node("n1"), 1, 8), having(node("n2"), 1, 8)).run(
			pod("important", "n1", asking(1, 0), ranked(10)), pod("victim", "n2", asking(1, 0), controlledBy(group, kind)))
		out := Evaluate(w.Snapshot, tainting("n1", "a:NoExecute"), ComparisonOff).Outcome()
		if out.Preempted.Min != 1 || out.Missing.Min != missing || out.Missing.Max != missing {
			t.Errorf("%s: %v preempted, %v missing, want %d", kind, out.Preempted, out.Missing, missing)
		}
	}
}
