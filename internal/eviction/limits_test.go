// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package eviction

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
)

// verdicts are pods of a workload that have the same verdict.
func verdicts(n int, name string, verdict Verdict, change func(*PodVerdict)) []PodVerdict {
	var out []PodVerdict
	for i := range n {
		v := PodVerdict{Pod: &snapshot.Pod{Namespace: "app", Name: fmt.Sprintf("%s-%d", name, i)}, Verdict: verdict}
		if change != nil {
			change(&v)
		}
		out = append(out, v)
	}
	return out
}

func TestLimits_check(t *testing.T) {
	t.Parallel()
	selector := func(s string) labels.Selector {
		out, err := labels.Parse(s)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	of := func(n int64) *int64 { return &n }
	// 2 now, 1 later, 1 drained, 1 unknown: 4 of the namespace app and 1 of prod; 3 stay.
	report := &Report{}
	for _, some := range [][]PodVerdict{
		verdicts(2, "now", EvictedNow, func(v *PodVerdict) { v.Pod.Labels = labels.Set{"tier": "gold"} }),
		verdicts(1, "later", EvictedAfter, nil), verdicts(1, "drained", Drained, nil),
		verdicts(1, "unknown", Unknown, func(v *PodVerdict) { v.Pod.Namespace = "prod" }),
		verdicts(3, "stays", Stays, func(v *PodVerdict) { v.Pod.Namespace, v.Pod.Labels = "quiet", labels.Set{"tier": "silver"} }),
	} {
		report.Pods = append(report.Pods, some...)
	}
	all := []string{"app/now-0", "app/now-1", "app/later-0", "app/drained-0", "prod/unknown-0"}
	for name, tt := range map[string]struct {
		limits Limits
		want   []Excess
	}{
		"no limit allows everything":                           {},
		"every verdict but stays counts":                       {limits: Limits{MaxPods: of(4)}, want: []Excess{{Limit: MaxPods, Count: 5, Allowed: 4, Pods: all, Certain: true}}},
		"as many as are allowed are allowed":                   {limits: Limits{MaxPods: of(5)}},
		"none at all may be evicted":                           {limits: Limits{MaxPods: of(0)}, want: []Excess{{Limit: MaxPods, Count: 5, Allowed: 0, Pods: all, Certain: true}}},
		"a protected namespace, with a pod that is unknown":    {limits: Limits{Namespaces: []string{"prod", "quiet"}}, want: []Excess{{Limit: ProtectedNamespaces, Count: 1, Pods: []string{"prod/unknown-0"}}}},
		"a protected namespace whose pods stay":                {limits: Limits{Namespaces: []string{"quiet"}}},
		"protected pods by label":                              {limits: Limits{Selector: selector("tier in (gold,silver)")}, want: []Excess{{Limit: ProtectedSelector, Count: 2, Pods: all[:2], Certain: true}}},
		"a selector by absence finds pods without labels":      {limits: Limits{Selector: selector("!tier"), MaxPods: of(9)}, want: []Excess{{Limit: ProtectedSelector, Count: 3, Pods: all[2:], Certain: true}}},
		"each limit that is exceeded is named, in their order": {limits: Limits{Namespaces: []string{"prod"}, MaxPods: of(1)}, want: []Excess{{Limit: MaxPods, Count: 5, Allowed: 1, Pods: all, Certain: true}, {Limit: ProtectedNamespaces, Count: 1, Pods: []string{"prod/unknown-0"}}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got []Excess
			if over := new(LimitsError); errors.As(tt.limits.Check(report), &over) {
				got = over.Exceeded
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestLimits_areSetByAnyOfTheirParts(t *testing.T) {
	t.Parallel()
	none := int64(0)
	for name, l := range map[string]Limits{"a number": {MaxPods: &none}, "a number of Pending pods": {MaxPending: &none}, "a number of lost pods": {MaxLost: &none}, "a namespace": {Namespaces: []string{"a"}}, "a selector": {Selector: labels.Everything()}} {
		if !l.Set() {
			t.Errorf("%s does not count as a limit", name)
		}
	}
	if (Limits{EvictStranded: true}).Set() {
		t.Error("to evict stranded pods counts as a limit")
	}
}

func TestLimits_doNotAllowStrandedPodsUnlessTheyAreToBeEvicted(t *testing.T) {
	t.Parallel()
	report := &Report{Pods: verdicts(1, "web", Stays, func(v *PodVerdict) { v.Stranded = true })}
	over := new(LimitsError)
	if !errors.As(Limits{}.Allow(report), &over) || len(over.Stranded) != 1 {
		t.Errorf("a stranded pod is allowed: %v", over)
	}
	if err := (Limits{EvictStranded: true}).Allow(report); err != nil {
		t.Error(err)
	}
}
