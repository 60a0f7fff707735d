// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package eviction

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/placement"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
)

// web needs the room of a pod on n2 that is terminating.
func TestSimulate_whatReplacesTerminatingPodsOfNodesThatDoNotChange(t *testing.T) {
	t.Parallel()
	demand := asking(1, 1)
	set := func(options ...podOption) *snapshot.Pod {
		return pod("db-0", "n2", append([]podOption{ownedBy("StatefulSet", "db"), demand, terminating}, options...)...)
	}
	daemon := func(options ...podOption) *snapshot.Pod {
		return pod("logs-0", "n2", append([]podOption{ownedBy("DaemonSet", "logs"), demand, terminating, pinned("n2")}, options...)...)
	}
	competes := placement.Range{Max: 1}
	for name, tt := range map[string]struct {
		pod    *snapshot.Pod
		beside *snapshot.Pod
		// template is that of the DaemonSet.
		template *corev1.PodSpec
		placed   placement.Range
	}{
		"of a ReplicaSet: it is there":                           {pod: set(ownedBy("ReplicaSet", "rs")), placed: number(1)},
		"of no controller":                                       {pod: set(bare), placed: number(1)},
		"of a StatefulSet":                                       {pod: set(), placed: competes},
		"of a StatefulSet, though it has completed":              {pod: set(completed), placed: number(1)},
		"of a StatefulSet that needs another node":               {pod: set(selecting("kubernetes.io/hostname", "n1")), placed: number(1)},
		"of a DaemonSet":                                         {pod: daemon(), placed: competes},
		"of a DaemonSet that surges: it is there":                {pod: daemon(), beside: pod("logs-1", "n2", ownedBy("DaemonSet", "logs"), asking(0, 0)), placed: number(1)},
		"of a DaemonSet whose template selects the node":         {pod: daemon(), template: &corev1.PodSpec{}, placed: competes},
		"of a DaemonSet whose template does not select the node": {pod: daemon(), template: &corev1.PodSpec{NodeSelector: map[string]string{"pool": "x"}}, placed: number(1)},
	} {
		w := newWorld(having(node("n1"), 9, 9), having(node("n2"), 1, 1)).run(pod("web", "n1", demand), tt.pod)
		if tt.beside != nil {
			w = w.run(tt.beside)
		}
		if tt.template != nil {
			w = w.template("logs", *tt.template)
		}
		r := Evaluate(w.Snapshot, tainting("n1", "a:NoExecute"), ComparisonOff)
		if got := outcomeOf(t, r.Outcome(), "web-5d"); got.Placed != tt.placed || len(r.Outcome().Workloads) != 1 {
			t.Errorf("%s: placed %v of %v", name, got.Placed, r.Outcome().Workloads)
		}
		if s := r.Summary(); s.Evicted() != 1 || s.Pending != (placement.Range{Min: 1 - tt.placed.Max, Max: 1 - tt.placed.Min}) {
			t.Errorf("%s: the summary is %+v", name, s)
		}
	}
}
