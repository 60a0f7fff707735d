// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package eviction

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
)

// several is two pods of a ReplicaSet whose Deployment is known, a bare pod and a pod of a custom kind; all
// are evicted, but for a completed pod, one that is being deleted and one that tolerates the taint.
func several() *Report {
	w := newWorld(node("n1"), node("n2")).run(pod("web-1", "n1"), pod("web-2", "n1"), pod("debug", "n1", bare),
		pod("train-0", "n1", in("ml"), ownedBy("PyTorchJob", "train")),
		pod("done", "n1", in("ci"), completed, ownedBy("Job", "build")), pod("going", "n1", in("ci"), terminating, bare),
		pod("calm", "n1", in("ci"), bare, tolerating(exists("", ""))))
	w.Parents["rs-web"] = snapshot.Owner{Group: "apps", Kind: "Deployment", Name: "web"}
	return Evaluate(w.Snapshot, tainting("n1", "a:NoExecute"), ComparisonOff)
}

func TestLimits_onlyNamesWorkloadsThatNoEntryApproves(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		only []string
		want []string
		pods int
	}{
		"an empty list approves no workload":                {[]string{}, []string{"app/Pod/debug", "app/Deployment/web", "ml/PyTorchJob/train"}, 4},
		"a Deployment is approved, not its ReplicaSet":      {[]string{"app/ReplicaSet/web-5d"}, []string{"app/Pod/debug", "app/Deployment/web", "ml/PyTorchJob/train"}, 4},
		"two pods of an approved Deployment":                {[]string{"app/Deployment/web"}, []string{"app/Pod/debug", "ml/PyTorchJob/train"}, 2},
		"a namespace":                                       {[]string{"app/*"}, []string{"ml/PyTorchJob/train"}, 1},
		"a pod without a controller":                        {[]string{"app/Pod/debug", "ml/*"}, []string{"app/Deployment/web"}, 2},
		"all evicted pods; the other pods need no approval": {[]string{"app/*", "ml/PyTorchJob/*"}, nil, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got []string
			pods := 0
			for _, x := range exceeded(Limits{Only: approvals(t, tt.only...)}, several()) {
				pods = x.Count
				if x.Limit != Only || x.Allowed != 0 || !x.Certain || len(x.Pods) != x.Count {
					t.Errorf("got %+v", x)
				}
				for _, w := range x.Workloads {
					got = append(got, w.String())
				}
			}
			if diff := cmp.Diff(tt.want, got); diff != "" || pods != tt.pods {
				t.Errorf("%d pods: %s", pods, diff)
			}
		})
	}
}

func TestLimits_onlyIsALimitAlsoWhereItIsEmpty(t *testing.T) {
	t.Parallel()
	if (Limits{}).Set() || !(Limits{Only: []Approval{}}).Set() || !(Limits{Only: approvals(t, "*/*")}).Set() {
		t.Error("only does not count as a limit where it is set, or where it is not")
	}
	calm := &Report{Pods: verdicts(3, "web", Stays, nil)}
	if err := (Limits{Only: []Approval{}}).Check(calm); err != nil {
		t.Errorf("no pod is evicted: %v", err)
	}
}

func TestLimits_onlyCountsPodsWhoseOutcomeIsUnknown(t *testing.T) {
	t.Parallel()
	report := &Report{Pods: verdicts(1, "web", Unknown, nil)}
	want := []Excess{{Limit: Only, Count: 1, Pods: []string{"app/web-0"}, Workloads: approvals(t, "app/Pod/web-0")}}
	if diff := cmp.Diff(want, exceeded(Limits{Only: approvals(t, "ml/*")}, report)); diff != "" {
		t.Error(diff)
	}
}

func TestLimits_onlyCountsEveryPodThatAnyOrderPreempts(t *testing.T) {
	t.Parallel()
	evicted := "app/ReplicaSet/web-5d"
	one := crowded()
	either := crowded()
	either.Nodes["n3"] = having(node("n3"), 4, 4)
	either = either.run(other("sober", "n3", asking(2, 2), in("prod"), ownedBy("ReplicaSet", "another")))
	for name, tt := range map[string]struct {
		world world
		only  []string
		want  []Excess
	}{
		"a pod on another node": {one, []string{evicted}, []Excess{{Limit: Only, Count: 1, Preempted: 1, Pods: []string{"prod/calm"}, Workloads: approvals(t, "prod/ReplicaSet/other"), Certain: true}}},
		"one of two pods":       {either, []string{evicted}, []Excess{{Limit: Only, Count: 2, Preempted: 2, Pods: []string{"prod/calm", "prod/sober"}, Workloads: approvals(t, "prod/ReplicaSet/other", "prod/ReplicaSet/another")}}},
		"an approved pod":       {one, []string{evicted, "prod/ReplicaSet/other"}, nil},
		"a bare pod":            {crowded(bare), []string{evicted}, []Excess{{Limit: Only, Count: 1, Preempted: 1, Pods: []string{"prod/calm"}, Workloads: approvals(t, "prod/Pod/calm"), Certain: true}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tt.want, exceeded(Limits{Only: approvals(t, tt.only...)}, Evaluate(tt.world.Snapshot, tainting("n1", "a:NoExecute"), ComparisonOff))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// drawOnly draws a cluster in which pods of some workloads are evicted, and others may be preempted.
func drawOnly(t *rapid.T) world {
	w := newWorld(having(node("n0"), 9, 9), having(node("n1"), 9, 9), having(node("n2"), 4, 4), having(node("n3"), 4, 4))
	for i := range rapid.IntRange(1, 9).Draw(t, "pods") {
		options := []podOption{in(rapid.SampledFrom([]string{"a", "b"}).Draw(t, "namespace")), asking(rapid.Int64Range(1, 3).Draw(t, "cores"), 1), priority(rapid.Int32Range(0, 2).Draw(t, "priority"))}
		switch rapid.IntRange(0, 4).Draw(t, "kind") {
		case 0:
			options = append(options, bare)
		case 1:
			options = append(options, ownedBy("StatefulSet", rapid.SampledFrom([]string{"db", "*", "x/y"}).Draw(t, "name")))
		default:
			options = append(options, ownedBy("ReplicaSet", rapid.SampledFrom([]string{"web", "api"}).Draw(t, "name")))
		}
		if rapid.IntRange(0, 3).Draw(t, "tolerates") == 0 {
			options = append(options, tolerating(greaterThan("a", "1")))
		}
		w = w.run(pod(fmt.Sprintf("p%d", i), rapid.SampledFrom([]string{"n0", "n1", "n2", "n3"}).Draw(t, "node"), options...))
	}
	return w
}

// A plan that passes evicts no pod, preempted pods included, whose workload matches no entry: a second
// implementation of matching decides. The entries in an error are those that are missing, and no others.
func TestLimits_aPlanThatPassesOnlyEvictsNoOtherPod(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		entries := rapid.SliceOfDistinct(rapid.SampledFrom([]string{"a/*", "b/ReplicaSet/*", "*/ReplicaSet/web", "b/ReplicaSet/api", "*/Pod/*", "a/Pod/p1", "*/StatefulSet/*", "b/*/db", "b/*"}), func(s string) string { return s }).Draw(t, "only")
		only := []Approval{}
		for _, entry := range entries {
			a, err := ParseApproval(entry)
			if err != nil {
				t.Fatal(err)
			}
			only = append(only, a)
		}
		report := Evaluate(drawOnly(t).Snapshot, Scenario{Taints: tainting("n0", "a=2:NoExecute").Taints, Drains: map[string]bool{"n1": true}}, ComparisonUnknown)
		approved := func(p *snapshot.Pod, owner snapshot.Owner) bool {
			kind, name := owner.Kind, owner.Name
			if kind == "" || strings.ContainsAny(name, "*/") {
				kind, name = "Pod", p.Name
			}
			return slices.ContainsFunc(entries, func(entry string) bool {
				parts := strings.Split(entry+"/*", "/")
				return (parts[0] == "*" || parts[0] == p.Namespace) && (parts[1] == "*" || parts[1] == kind) && (parts[2] == "*" || parts[2] == name)
			})
		}
		all := true
		for _, v := range report.Pods {
			all = all && (v.Verdict == Stays || approved(v.Pod, v.Owner))
		}
		for _, v := range report.Outcome().Victims {
			all = all && approved(v.Pod, v.Owner)
		}
		over := exceeded(Limits{Only: only}, report)
		if all != (len(over) == 0) {
			t.Fatalf("all are approved: %t, and the limit has %+v", all, over)
		}
		if all {
			return
		}
		missing := over[0].Workloads
		if over := exceeded(Limits{Only: slices.Concat(only, missing)}, report); over != nil {
			t.Fatalf("with what was missing: %+v", over)
		}
		for i := range missing {
			if exceeded(Limits{Only: append(append(append([]Approval{}, only...), missing[:i]...), missing[i+1:]...)}, report) == nil {
				t.Fatalf("%s was not missing", missing[i])
			}
		}
	})
}
