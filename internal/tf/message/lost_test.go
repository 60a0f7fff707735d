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
