// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package planner

import (
	"slices"
	"testing"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
)

func TestPlannedTolerations_podsThatDoNotFollowTheirTemplateAreBehind(t *testing.T) {
	t.Parallel()
	w := aWorkload(t, "StatefulSet", "web", "x=1:NoExecute")
	carries, lacks, covered := aPod(t, w, "web-0", "a", "x=1:NoExecute"), aPod(t, w, "web-1", "a", "y:NoExecute"), aPod(t, w, "web-2", "", "x Exists")
	last := aPod(t, w, "web-4", "a", "y:NoExecute")
	ending := aPod(t, w, "web-3", "a", "y:NoExecute")
	ending.Terminating = true
	for name, tt := range map[string]struct {
		pods   []*snapshot.Pod
		hold   string
		below  int
		waits  bool
		wanted []string
		want   []string
	}{
		"a pod that lacks them is behind":                      {pods: []*snapshot.Pod{carries, lacks}, hold: "it is paused", wanted: []string{"x=1:NoExecute"}, want: []string{"web-1"}},
		"a pod below the partition is":                         {pods: []*snapshot.Pod{lacks, last}, hold: "partition", below: 2, wanted: []string{"x=1:NoExecute"}, want: []string{"web-1"}},
		"pods that all carry them are not":                     {pods: []*snapshot.Pod{carries}, hold: "it is paused", wanted: []string{"x=1:NoExecute"}},
		"a pod that covers them is not":                        {pods: []*snapshot.Pod{covered}, hold: "it is paused", wanted: []string{"x=1:NoExecute"}},
		"a pod that is being deleted is not":                   {pods: []*snapshot.Pod{ending}, hold: "it is paused", wanted: []string{"x=1:NoExecute"}},
		"no pod is, where there is none":                       {hold: "it is paused", wanted: []string{"x=1:NoExecute"}},
		"a pod follows by itself where nothing holds it back":  {pods: []*snapshot.Pod{lacks}, wanted: []string{"x=1:NoExecute"}},
		"a pod that its resource waits for is looked at there": {pods: []*snapshot.Pod{lacks}, hold: "it is paused", waits: true, wanted: []string{"x=1:NoExecute"}},
		"a pod lacks nothing where nothing is wanted":          {pods: []*snapshot.Pod{lacks}, hold: "it is paused"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := PlannedTolerations{Ref: w.Ref, Pods: w.Pods, Wanted: tols(t, tt.wanted...), Hold: tt.hold, Below: tt.below, Waits: tt.waits}
			var got []string
			for _, pod := range p.Behind(aSnapshot(nil, tt.pods...)) {
				got = append(got, pod.Name)
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("%v are behind, want %v", got, tt.want)
			}
		})
	}
}

// Running pods that do not follow keep what they have: what an unlinked resource plans for them
// makes no verdict uncertain.
// TestPlannedTolerations_lags: a linked resource waits for pods without the tolerations that
// follow their template, unless the resource that changes the template waits for them.
func TestPlannedTolerations_lags(t *testing.T) {
	t.Parallel()
	w := aWorkload(t, "StatefulSet", "web", "x=1:NoExecute")
	for name, tt := range map[string]struct {
		change func(*PlannedTolerations)
		lags   bool
	}{
		"in sync, and the resource waits":              {func(p *PlannedTolerations) { p.Waits = true }, true},
		"in sync, and the resource does not wait":      {func(*PlannedTolerations) {}, true},
		"a change that the resource waits for":         {func(p *PlannedTolerations) { p.Before, p.Waits = nil, true }, false},
		"a change that the resource does not wait for": {func(p *PlannedTolerations) { p.Before = nil }, true},
		"all pods carry the tolerations":               {func(p *PlannedTolerations) { p.Wanted = tols(t, "y:NoExecute") }, false},
		"pods that do not follow their template":       {func(p *PlannedTolerations) { p.Hold = "it is paused" }, false},
		"pods below the partition":                     {func(p *PlannedTolerations) { p.Hold, p.Below = "partition", 2 }, false},
		"pods from the partition on":                   {func(p *PlannedTolerations) { p.Hold, p.Below = "partition", 1 }, true},
		"pods that keep what they have":                {func(p *PlannedTolerations) { p.Later = true }, false},
		"a workload that was not read":                 {func(p *PlannedTolerations) { p.Workload = nil }, false},
	} {
		list := tols(t, "x=1:NoExecute")
		p := PlannedTolerations{Ref: w.Ref, Pods: w.Pods, Workload: w, Wanted: list, Before: list, After: list}
		tt.change(&p)
		if got := p.Lags(aSnapshot(nil, aPod(t, w, "web-1", "a", "y:NoExecute"))); got != tt.lags {
			t.Errorf("%s: it lags: %t, want %t", name, got, tt.lags)
		}
	}
}

func TestShared_plansNothingForPodsThatDoNotFollow(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		change  func(*PlannedTolerations)
		follows bool
	}{
		"a Deployment": {func(*PlannedTolerations) {}, true},
		"a CronJob":    {func(p *PlannedTolerations) { p.Later = true }, false},
		"a workload that is held, and not waited for": {func(p *PlannedTolerations) { p.Hold = "it is paused" }, false},
		"a workload that is held, and waited for":     {func(p *PlannedTolerations) { p.Hold, p.Waits = "it is paused", true }, true},
		"a list that does not change":                 {func(p *PlannedTolerations) { p.After = nil }, false},
	} {
		p := PlannedTolerations{Pods: []snapshot.WorkloadKey{{Namespace: "shop"}}, After: tols(t, "x=1:NoExecute")}
		tt.change(&p)
		var s Shared
		s.Note("other", []PlannedTolerations{p})
		if got := len(s.Tolerations("own", nil)) > 0; got != tt.follows {
			t.Errorf("%s: something is planned: %t, want %t", name, got, tt.follows)
		}
	}
}
