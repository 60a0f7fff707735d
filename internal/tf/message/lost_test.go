// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package message

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/admission"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/eviction"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
)

// TestPreview_ofPodsThatNothingRecreates has a pod on n1, which is tainted, and one on n2 that those of higher priority preempt.
func TestPreview_ofPodsThatNothingRecreates(t *testing.T) {
	t.Parallel()
	of := func(group, kind, node string, priority int32, tolerations ...corev1.Toleration) *snapshot.Pod {
		asks := snapshot.Resources{Pods: 1, MilliCPU: 4000}
		p := &snapshot.Pod{
			Namespace: "app", Name: strings.ToLower(kind), Node: node, UID: types.UID(kind), Scheduling: &snapshot.Scheduling{Tolerations: tolerations},
			Demand: &snapshot.Demand{Asks: asks, Holds: asks, Priority: priority},
		}
		if kind != barePod {
			p.Controller = &snapshot.Controller{Owner: snapshot.Owner{Group: group, Kind: kind, Name: "x"}, UID: types.UID(kind)}
		}
		return p
	}
	less := corev1.Toleration{Key: "k", Operator: corev1.TolerationOpLt, Value: "5", Effect: corev1.TaintEffectNoExecute}
	web := of("apps", "ReplicaSet", "n1", 9)
	for name, tt := range map[string]struct {
		evicted, elsewhere *snapshot.Pod
		summary, row       string
	}{
		"a preempted bare pod":                    {web, of("", barePod, "n2", 0), "evicts 1 pod: 1 lost, 1 preempted elsewhere", "LOST 1 Pod app/pod - no controller; preempted"},
		"a preempted pod of a Build":              {web, of("build.openshift.io", "Build", "n2", 0), "evicts 1 pod: 1 lost, 1 preempted elsewhere", "LOST 1 Build app/x - preempted; not recreated"},
		"a preempted pod of a TaskRun":            {web, of("tekton.dev", "TaskRun", "n2", 0), "evicts 1 pod: 0-1 lost, 1 pending, 1 preempted elsewhere", "LOST? 0-1 TaskRun app/x - preempted; may not be recreated"},
		"a preempted pod of another controller":   {web, of("example.com", "Thing", "n2", 0), "evicts 1 pod: 0-1 lost, 1 pending, 1 preempted elsewhere", "LOST? 0-1 Thing app/x - preempted; may not be recreated"},
		"a bare pod that may be evicted":          {of("", barePod, "n1", 0, less), nil, "may evict 1 pod: 0-1 lost", "LOST? 0-1 Pod app/pod ? no controller; comparison_operators unset"},
		"a pod of a Build that may be evicted":    {of("build.openshift.io", "Build", "n1", 0, less), nil, "may evict 1 pod: 0-1 lost", "LOST? 0-1 Build app/x ? may not be recreated; comparison_operators unset"},
		"a pod of a ReplicaSet that may be":       {of("apps", "ReplicaSet", "n1", 0, less), nil, "may evict 1 pod", "MAYBE 1 ReplicaSet app/x ? comparison_operators unset"},
		"a pod that its namespace does not allow": {of("apps", "ReplicaSet", "n1", 0, corev1.Toleration{Key: "other", Operator: corev1.TolerationOpExists}), nil, "evicts 1 pod: 1 not created", "NOT CREATED 1 ReplicaSet app/x 0s namespace forbids it"},
	} {
		has := &snapshot.Resources{Pods: 9, MilliCPU: 4000}
		s := &snapshot.Snapshot{
			Nodes: map[string]*snapshot.Node{"n1": {Name: "n1", Allocatable: has}, "n2": {Name: "n2", Allocatable: has}},
			Pods:  map[string][]*snapshot.Pod{"n1": {tt.evicted}},
		}
		if tt.elsewhere != nil {
			s.Pods["n2"] = []*snapshot.Pod{tt.elsewhere}
		}
		s.Admission = &admission.Rules{Namespaces: map[string]admission.Namespace{"app": {Allowed: []corev1.Toleration{less, admission.MemoryPressure}}}}
		report := eviction.Evaluate(s, eviction.Scenario{Taints: map[string][]corev1.Taint{"n1": {{Key: "k", Value: "3", Effect: corev1.TaintEffectNoExecute}}}}, eviction.ComparisonUnknown)
		summary, detail := Preview(applying(t, "n1", "k=3:NoExecute"), report)
		if !strings.HasSuffix(summary, " "+tt.summary) || !strings.Contains(strings.Join(strings.Fields(detail), " "), tt.row) {
			t.Errorf("%s: %s\n%s", name, summary, detail)
		}
	}
}

// TestPreview_ofAPodThatIsPreemptedAnyway has a Pending pod that preempts another one on n2, whatever happens to n1. What replaces
// that one would fit n1, which gets a taint.
func TestPreview_ofAPodThatIsPreemptedAnyway(t *testing.T) {
	t.Parallel()
	of := func(name, owner, node string, cpu int64, priority int32, selector map[string]string) *snapshot.Pod {
		asks := snapshot.Resources{Pods: 1, MilliCPU: cpu}
		return &snapshot.Pod{
			Namespace: "app", Name: name, Node: node, UID: types.UID(name), Scheduling: &snapshot.Scheduling{NodeSelector: selector}, Demand: &snapshot.Demand{Asks: asks, Holds: asks, Priority: priority},
			Controller: &snapshot.Controller{Owner: snapshot.Owner{Group: "apps", Kind: "ReplicaSet", Name: owner}, UID: types.UID(owner)},
		}
	}
	s := &snapshot.Snapshot{
		Nodes:   map[string]*snapshot.Node{"n1": {Name: "n1", Allocatable: &snapshot.Resources{Pods: 9, MilliCPU: 9000}}, "n2": {Name: "n2", Labels: map[string]string{"pool": "two"}, Allocatable: &snapshot.Resources{Pods: 9, MilliCPU: 4000}}},
		Pods:    map[string][]*snapshot.Pod{"n1": {of("stays", "web", "n1", 1000, 0, nil)}, "n2": {of("victim", "web", "n2", 4000, 0, nil)}},
		Waiting: []*snapshot.Pod{of("urgent", "urgent", "", 4000, 9, map[string]string{"pool": "two"})},
	}
	report := eviction.Evaluate(s, eviction.Scenario{Taints: map[string][]corev1.Taint{"n1": {{Key: "k", Effect: corev1.TaintEffectNoSchedule}}}}, eviction.ComparisonOff)
	// Nothing that the change evicts is replaced, so that nothing is simulated.
	if summary, detail := Preview(applying(t, "n1", "k:NoSchedule"), report); !strings.Contains(summary, "evicts no pods") || !strings.Contains(detail, "STAYS") {
		t.Errorf("%s\n%s", summary, detail)
	}
	s.Pods["n1"] = append(s.Pods["n1"], of("gone", "api", "n1", 1000, 0, nil))
	both := map[string][]corev1.Taint{"n1": {{Key: "k", Effect: corev1.TaintEffectNoExecute}}}
	s.Pods["n1"][0].Scheduling.Tolerations = []corev1.Toleration{{Key: "k", Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute}}
	both["n1"] = append(both["n1"], corev1.Taint{Key: "k", Effect: corev1.TaintEffectNoSchedule})
	report = eviction.Evaluate(s, eviction.Scenario{Taints: both}, eviction.ComparisonOff)
	if summary, detail := Preview(applying(t, "n1", "k:NoExecute"), report); !strings.Contains(strings.Join(strings.Fields(detail), " "), "PENDING 1 ReplicaSet app/web - preempted; no") {
		t.Errorf("%s\n%s", summary, detail)
	}
}
