// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package message

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/eviction"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
)

func TestPreview_ofJobs(t *testing.T) {
	t.Parallel()
	of := func(name, node string) *snapshot.Pod {
		owner := snapshot.Owner{Group: "batch", Kind: "Job", Name: "batch"}
		return &snapshot.Pod{Namespace: "app", Name: name, Node: node, UID: types.UID(name), Scheduling: &snapshot.Scheduling{}, Controller: &snapshot.Controller{Owner: owner, UID: "job"}}
	}
	const unknown = "Not modelled: quotas, LimitRanges, backoffLimit of Jobs."
	for name, tt := range map[string]struct {
		jobs          map[types.UID]*snapshot.Job
		others        []*snapshot.Pod
		summary, says string
	}{
		"one that fails":                 {jobs: map[types.UID]*snapshot.Job{"job": {}}, summary: "evicts 1 pod: 1 lost", says: "LOST    1     Job app/batch  0s    its Job fails"},
		"one that fails with other pods": {jobs: map[types.UID]*snapshot.Job{"job": {}}, others: []*snapshot.Pod{of("b", "n2"), of("c", "n2")}, summary: "evicts 1 pod: 3 lost (2 deleted by failed Jobs)", says: "its Job fails, deletes 2 more"},
		"one that may fail with others":  {jobs: map[types.UID]*snapshot.Job{"job": {OnlyFailed: true}}, others: []*snapshot.Pod{of("b", "n2"), of("c", "n2")}, summary: "evicts 1 pod: 0-3 lost (0-2 deleted by failed Jobs)", says: "LOST?  0-1  Job app/batch  0s  its Job may fail, deletes 2 more"},
		"an index that fails":            {jobs: map[types.UID]*snapshot.Job{"job": {BackoffLimit: 9, PerIndex: new(int32(0))}}, summary: "evicts 1 pod: 1 lost", says: "its index fails"},
		"one that goes on":               {jobs: map[types.UID]*snapshot.Job{"job": {BackoffLimit: 6}}, summary: "evicts 1 pod", says: "fits elsewhere"},
		"one that was not read":          {summary: "evicts 1 pod", says: unknown},
	} {
		s := &snapshot.Snapshot{
			Nodes: map[string]*snapshot.Node{"n1": {Name: "n1"}, "n2": {Name: "n2"}}, Pods: map[string][]*snapshot.Pod{"n1": {of("a", "n1")}, "n2": tt.others}, Jobs: tt.jobs,
		}
		report := eviction.Evaluate(s, eviction.Scenario{Taints: map[string][]corev1.Taint{"n1": {{Key: "k", Effect: corev1.TaintEffectNoExecute}}}}, eviction.ComparisonOff)
		summary, detail := Preview(applying(t, "n1", "k:NoExecute"), report)
		if !strings.HasSuffix(summary, tt.summary) || !strings.Contains(strings.Join(strings.Fields(detail), " "), strings.Join(strings.Fields(tt.says), " ")) {
			t.Errorf("%s: %s\n%s", name, summary, detail)
		}
		if tt.jobs != nil && strings.Contains(detail, "of Jobs") {
			t.Errorf("%s: %s", name, detail)
		}
	}
}

// TestPreview_ofJobsThatFailByPreemption has web evicted from n1, which preempts a pod of a Job on n2.
func TestPreview_ofJobsThatFailByPreemption(t *testing.T) {
	t.Parallel()
	of := func(kind, name, node string, priority int32) *snapshot.Pod {
		asks := snapshot.Resources{Pods: 1, MilliCPU: 4000}
		owner := snapshot.Owner{Group: "batch", Kind: kind, Name: "batch"}
		return &snapshot.Pod{
			Namespace: "app", Name: name, Node: node, UID: types.UID(name), Scheduling: &snapshot.Scheduling{}, Controller: &snapshot.Controller{Owner: owner, UID: types.UID(kind)},
			Demand: &snapshot.Demand{Asks: asks, Holds: asks, Priority: priority},
		}
	}
	for name, tt := range map[string]struct {
		jobs map[types.UID]*snapshot.Job
		says string
	}{
		"one that fails":        {jobs: map[types.UID]*snapshot.Job{"Job": {}}, says: "LOST 1 Job app/batch - its Job fails by preemption"},
		"one that may fail":     {jobs: map[types.UID]*snapshot.Job{"Job": {OnlyFailed: true}}, says: "LOST? 0-1 Job app/batch - its Job may fail by preemption"},
		"one that was not read": {says: "backoffLimit of Jobs."},
	} {
		asked := &snapshot.Resources{Pods: 9, MilliCPU: 4000}
		s := &snapshot.Snapshot{
			Nodes: map[string]*snapshot.Node{"n1": {Name: "n1", Allocatable: asked}, "n2": {Name: "n2", Allocatable: asked}},
			Pods:  map[string][]*snapshot.Pod{"n1": {of("Web", "web", "n1", 9)}, "n2": {of("Job", "b", "n2", 0)}}, Jobs: tt.jobs,
		}
		report := eviction.Evaluate(s, eviction.Scenario{Taints: map[string][]corev1.Taint{"n1": {{Key: "k", Effect: corev1.TaintEffectNoExecute}}}}, eviction.ComparisonOff)
		_, detail := Preview(applying(t, "n1", "k:NoExecute"), report)
		if !strings.Contains(strings.Join(strings.Fields(detail), " "), tt.says) {
			t.Errorf("%s: %s", name, detail)
		}
	}
}
