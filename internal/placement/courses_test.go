// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package placement

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
)

func TestCourses(t *testing.T) {
	t.Parallel()
	a, b := pod("a", "n1"), pod("b", "n1")
	key := func(name string) snapshot.WorkloadKey {
		return snapshot.WorkloadKey{Namespace: "app", Owner: snapshot.Owner{Kind: "ReplicaSet", Name: name}}
	}
	outcome := func(preempted Range, victims []Victim, workloads ...WorkloadOutcome) *Outcome {
		return &Outcome{Orders: 30, Wanted: 30, Preempted: preempted, Victims: victims, Workloads: workloads, Gone: map[*snapshot.Pod]bool{}}
	}
	of := func(name string, missing Range) WorkloadOutcome {
		return WorkloadOutcome{WorkloadKey: key(name), Missing: missing, Staying: missing}
	}
	first := outcome(Range{1, 2}, []Victim{{Pod: a, Orders: 30, Of: 30}}, of("a", Range{1, 1}))
	second := outcome(Range{0, 1}, []Victim{{Pod: b, Orders: 4, Of: 30}}, of("a", Range{0, 3}), of("b", Range{1, 1}))
	second.Gone[b] = true
	for name, tt := range map[string]struct {
		got, want *Outcome
		victims   map[string]bool
		gone      bool
	}{
		"the parts of one course": {
			got: Through(first, second), want: outcome(Range{1, 2}, nil, of("a", Range{0, 3}), of("b", Range{1, 1})), victims: map[string]bool{"a": true, "b": false}, gone: true,
		},
		"two courses": {
			got: Either(first, second), want: outcome(Range{0, 2}, nil, of("a", Range{0, 3}), of("b", Range{0, 1})), victims: map[string]bool{"a": false, "b": false},
		},
		"one course": {
			got: Either(first), want: outcome(Range{1, 2}, nil, of("a", Range{1, 1})), victims: map[string]bool{"a": true},
		},
	} {
		var total Range
		for _, w := range tt.want.Workloads {
			total = total.Plus(w.Missing)
		}
		if tt.got.Preempted != tt.want.Preempted || tt.got.Missing != total || tt.got.Staying != total || tt.got.Gone[b] != tt.gone {
			t.Errorf("%s: preempted %v, missing %v of %v, gone %v", name, tt.got.Preempted, tt.got.Missing, total, tt.got.Gone)
		}
		if diff := cmp.Diff(tt.want.Workloads, tt.got.Workloads); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		certain := map[string]bool{}
		for _, v := range tt.got.Victims {
			certain[v.Pod.Name] = v.Orders == v.Of
		}
		if diff := cmp.Diff(tt.victims, certain); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestOutcome_rolledHasTheNewPodsOfRolloutsOnce(t *testing.T) {
	t.Parallel()
	of := func(name string, missing, preempted Range) WorkloadOutcome {
		return WorkloadOutcome{WorkloadKey: snapshot.WorkloadKey{Namespace: "app", Owner: snapshot.Owner{Kind: "ReplicaSet", Name: name}}, Missing: missing, Staying: missing, Preempted: preempted}
	}
	out := &Outcome{Workloads: []WorkloadOutcome{of("low", Range{1, 1}, Range{1, 1}), of("web", Range{0, 9}, Range{0, 1})}}
	out.Rolled([]WorkloadOutcome{of("fits", Range{}, Range{}), of("new", Range{1, 2}, Range{}), of("web", Range{2, 2}, Range{})}, Range{2, 4})
	want := []WorkloadOutcome{of("low", Range{1, 1}, Range{1, 1}), of("new", Range{1, 2}, Range{}), of("web", Range{2, 2}, Range{0, 1})}
	if diff := cmp.Diff(want, out.Workloads); diff != "" || out.Missing != (Range{3, 5}) || out.Staying != (Range{3, 5}) {
		t.Errorf("missing %v, staying %v: %s", out.Missing, out.Staying, diff)
	}
}
