// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package message

import (
	"fmt"
	"slices"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/eviction"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/golden"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/placement"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/planner"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/toleration"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/workload"
)

// The golden is a whole warning, to be read aloud.
func TestWarnDisplaced_golden(t *testing.T) {
	t.Parallel()
	var pods []planner.Displaced
	add := func(n int, kind, name string, change func(*planner.Displaced)) {
		for i := range n {
			d := planner.Displaced{
				Pod:    &snapshot.Pod{Namespace: "shop", Name: fmt.Sprintf("%s-%d", name, i), Node: fmt.Sprintf("worker-%d", i+1)},
				Owner:  snapshot.Owner{Group: "apps", Kind: kind, Name: name},
				Losses: []planner.Loss{{Taint: taintsOf(t, "team=a:NoExecute")[0], Lasts: toleration.Untolerated}},
			}
			change(&d)
			pods = append(pods, d)
		}
	}
	found := func(d *planner.Displaced) { d.Found = true }
	noSchedule := func(d *planner.Displaced) { d.Losses[0].Taint = taintsOf(t, "team=a:NoSchedule")[0] }
	add(4, "Deployment", "moves", found)
	add(3, "Deployment", "stuck", func(d *planner.Displaced) {
		d.Obstacles = "2 are tainted team=a:NoExecute, 1 does not match its node selector"
	})
	add(3, "DaemonSet", "agent", func(*planner.Displaced) {})
	add(2, "DaemonSet", "shipper", noSchedule)
	add(1, "DaemonSet", "manual", func(d *planner.Displaced) { noSchedule(d); d.Hold = "its update strategy is OnDelete" })
	add(2, "StatefulSet", "db", func(d *planner.Displaced) {
		d.Hold, d.Obstacles = "its update strategy is OnDelete", "3 do not match its node selector"
	})
	add(1, "CronJob", "report", func(d *planner.Displaced) { found(d); d.Hold = "its next jobs have the change" })
	add(1, "Deployment", "short", func(d *planner.Displaced) { found(d); d.Losses[0].Lasts = 30 })
	add(1, "Deployment", "both", func(d *planner.Displaced) {
		found(d)
		d.Losses = append(d.Losses, planner.Loss{Taint: taintsOf(t, "spot:NoSchedule")[0], Lasts: toleration.Untolerated})
	})
	var diags diag.Diagnostics
	given := GivenUp{At: path.Root("retire"), Why: `retire = "now" removes tolerations that running pods need`, Instead: "If these pods are to stay, leave out retire."}
	WarnDisplaced(`Changing the tolerations of Deployment "shop/web"`, planner.Displacement{}, given, &diags)
	if len(diags) > 0 {
		t.Fatalf("no pod loses a place, and it says %v", diags)
	}
	WarnDisplaced(`Changing the tolerations of Deployment "shop/web"`, planner.Displacement{Pods: pods}, given, &diags)
	if at, ok := diags[0].(diag.DiagnosticWithPath); len(diags) != 1 || !ok || !at.Path().Equal(path.Root("retire")) {
		t.Fatalf("it is not one warning at retire: %v", diags)
	}
	golden.Check(t, "displaced.golden", diags[0].Summary()+"\n\n"+diags[0].Detail()+"\n")
	crowded := planner.Displacement{Pods: slices.Clone(pods[:4]), Missing: placement.Range{Min: 1, Max: 2}}
	for i := range crowded.Pods {
		crowded.Pods[i].Crowded = true
	}
	crowded.Rolled = []planner.RolledWorkload{{
		Workload: &workload.Workload{Ref: workload.Ref{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "shop", Name: "moves"}}, Pods: 6,
		Rolled: eviction.Rolled{Missing: crowded.Missing, Reason: "1 has too little CPU, 1 is tainted team=a:NoExecute"},
	}}
	diags = nil
	WarnDisplaced(`Changing the tolerations of Deployment "shop/moves"`, crowded, given, &diags)
	golden.Check(t, "displacedcrowded.golden", diags[0].Summary()+"\n\n"+diags[0].Detail()+"\n")
}

func TestWarnShortened_golden(t *testing.T) {
	t.Parallel()
	var pods []planner.Displaced
	for i, seconds := range []int64{30, 60} {
		pods = append(pods, planner.Displaced{
			Pod: &snapshot.Pod{Namespace: "shop", Name: fmt.Sprintf("web-%d", i), Node: fmt.Sprintf("worker-%d", i+1)}, Owner: snapshot.Owner{Group: "apps", Kind: "Deployment", Name: "web"},
			Losses: []planner.Loss{{Taint: taintsOf(t, "team=a:NoExecute")[0], Lasts: seconds}}, Shortened: true, Placement: placement.Placement{Found: true},
		})
	}
	gone := pods[0]
	gone.Shortened = false
	var diags diag.Diagnostics
	subject := `Changing the tolerations of Deployment "shop/web"`
	WarnShortened(subject, []planner.Displaced{gone}, path.Root("tolerations"), &diags)
	WarnDisplaced(subject, planner.Displacement{Pods: pods}, GivenUp{}, &diags)
	if len(diags) > 0 {
		t.Fatalf("it is the matter of the other warning, and it says %v", diags)
	}
	WarnShortened(subject, pods[:1], path.Root("tolerations"), &diags)
	WarnShortened(subject, pods, path.Root("tolerations"), &diags)
	if at, ok := diags[1].(diag.DiagnosticWithPath); len(diags) != 2 || !ok || !at.Path().Equal(path.Root("tolerations")) {
		t.Fatalf("it is not one warning at tolerations: %v", diags)
	}
	golden.Check(t, "shortened.golden", diags[0].Summary()+"\n\n"+diags[1].Summary()+"\n\n"+diags[1].Detail()+"\n")
}

func TestPortion_namesWhichOfHowMany(t *testing.T) {
	t.Parallel()
	for want, n := range map[string][2]int{"it goes": {1, 1}, "1 of the 3 goes": {1, 3}, "2 of the 3 go": {2, 3}, "all of them go": {3, 3}} {
		if got := portion(n[0], n[1], "goes", "go", "all of them go"); got != want {
			t.Errorf("%d of %d: got %q, want %q", n[0], n[1], got, want)
		}
	}
}
