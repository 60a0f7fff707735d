// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package message

import (
	"context"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/planner"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/rollout"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/messages"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/toleration"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/workload"
)

// argo is a Rollout of Argo that pauses at every rollout, and stands still for another reason.
func argo(pauses, stands workload.Stop) *workload.Workload {
	w := &workload.Workload{Ref: workload.Ref{APIVersion: "argoproj.io/v1alpha1", Kind: "Rollout", Namespace: "shop", Name: "web"}}
	w.Pods = []snapshot.WorkloadKey{w.Owner()}
	w.Rolling.Pauses, w.Rolling.Stands = pauses, stands
	return w
}

func TestWarnBlocked_saysThatARolloutStops(t *testing.T) {
	t.Parallel()
	messages.Expect(t, "stops before its end")
	ahead, now := workload.Stop{Why: "step 2 is a pause", WayOut: "promote it"}, workload.Stop{Why: "it was aborted", WayOut: "retry it"}
	const waits, writes = 1, 2
	for name, tt := range map[string]struct {
		pauses, stands workload.Stop
		steps          int
		want, way      string
	}{
		"a new rollout that pauses":                {ahead, workload.Stop{}, waits | writes, "step 2 is a pause", "promote it"},
		"a new rollout after one that was aborted": {ahead, now, waits | writes, "step 2 is a pause", "promote it"},
		"a rollout that stands still":              {ahead, now, waits, "it was aborted", "retry it"},
		"a rollout on its way to a pause":          {ahead, workload.Stop{}, waits, "step 2 is a pause", "promote it"},
		"a rollout that does not stop":             {workload.Stop{}, workload.Stop{}, waits | writes, "", ""},
		"a new one that does not stop":             {workload.Stop{}, now, waits | writes, "", ""},
		"nothing is waited for":                    {ahead, now, writes, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := argo(tt.pauses, tt.stands)
			var plan planner.Plan
			if tt.steps&writes != 0 {
				plan.Steps = append(plan.Steps, planner.Step{Kind: planner.Expand, Workload: w, Merged: toleration.Merged{Template: true}})
			}
			if tt.steps&waits != 0 {
				plan.Steps = append(plan.Steps, planner.Step{Kind: planner.Wait, Workload: w})
			}
			var diags diag.Diagnostics
			WarnBlocked(w, &snapshot.Snapshot{}, plan, WorkloadAt{}, &diags)
			messages.GotAll(t, diags)
			if tt.want == "" {
				if len(diags) > 0 {
					t.Errorf("it warns of %s", diags[0].Summary())
				}
				return
			}
			if len(diags) != 1 || diags[0].Summary() != `The rollout of Rollout "shop/web" stops before its end: `+tt.want || !strings.Contains(diags[0].Detail(), "While apply waits, "+tt.way+". No taint is written") {
				t.Errorf("it warns of %v", diags)
			}
		})
	}
}

func TestStuckDetail_showsWhyARolloutIsStuck(t *testing.T) {
	t.Parallel()
	w := argo(workload.Stop{}, workload.Stop{Why: "it is paused (CanaryPauseStep)", WayOut: "promote it (kubectl argo rollouts promote web -n shop)"})
	stuck := &rollout.StuckError{Workload: w, Lacking: []string{"web-1"}, Err: context.DeadlineExceeded}
	got := stuckDetail("update", stuck)
	for _, part := range []string{
		"1 pod still without the tolerations: web-1",
		"The rollout is stuck: it is paused (CanaryPauseStep). To continue it, promote it (kubectl argo rollouts promote web -n shop).",
		"kubectl argo rollouts get rollout web -n shop",
	} {
		if !strings.Contains(got, part) {
			t.Errorf("nothing says %q: %s", part, got)
		}
	}
	if !strings.Contains(stuck.Error(), "its rollout is stuck: it is paused (CanaryPauseStep)") {
		t.Errorf("the error is: %v", stuck)
	}
	w.Rolling.Stands = workload.Stop{}
	if got := stuckDetail("update", stuck); strings.Contains(got, "is stuck") {
		t.Errorf("a rollout that goes on stands still: %s", got)
	}
}

func TestExplainWorkload_namesTheWayOutOfAPathThatLeadsNowhere(t *testing.T) {
	t.Parallel()
	at := WorkloadAt{Workload: path.Root("workload"), Path: path.Root("path")}
	const name = "Name the field that holds the list of tolerations."
	for title, tt := range map[string]struct {
		err       workload.PathError
		want, not string
		at        path.Path
	}{
		"another field holds the list":  {workload.PathError{Message: "it is no list"}, "it is no list. " + name, "", at.Path},
		"another object holds the list": {workload.PathError{Message: "it is elsewhere", WayOut: "Manage that object instead."}, "it is elsewhere. Manage that object instead.", name, at.Workload},
	} {
		t.Run(title, func(t *testing.T) {
			t.Parallel()
			d := ExplainWorkload("find", "it", at, &tt.err)
			if !strings.Contains(d.Detail(), tt.want) || tt.not != "" && strings.Contains(d.Detail(), tt.not) {
				t.Errorf("it says %q", d.Detail())
			}
			if placed, ok := d.(diag.DiagnosticWithPath); !ok || !placed.Path().Equal(tt.at) {
				t.Errorf("it is at %v", d)
			}
		})
	}
}
