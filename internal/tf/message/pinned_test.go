// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package message

import (
	"fmt"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/eviction"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/golden"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/planner"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/messages"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/workload"
)

func pinnedWorkload(kind, name, manner string, pods, least, most int) planner.RolledWorkload {
	w := &workload.Workload{Ref: workload.Ref{APIVersion: "apps/v1", Kind: kind, Namespace: "shop", Name: name}, Rolling: workload.Rolling{Manner: manner}}
	p := planner.RolledWorkload{Workload: w, Pods: pods, Rolled: eviction.Rolled{Missing: eviction.Range{Min: least, Max: most}}}
	if most > 0 {
		p.Reason = "2 lack cpu (needs 1, none free), 3 do not match its node selector"
	}
	return p
}

func TestRefuseAway(t *testing.T) {
	t.Parallel()
	messages.Expect(t, "the volumes of … are elsewhere")
	var diags diag.Diagnostics
	db := pinnedWorkload("StatefulSet", "db", "", 12, 0, 0)
	if !RefuseAway(db, path.Root("workloads"), &diags) || len(diags) > 0 {
		t.Fatalf("it is refused: %v", diags)
	}
	for i := range 12 {
		db.Away = append(db.Away, eviction.AwayPod{Pod: &snapshot.Pod{Name: fmt.Sprintf("db-%d", i)}, Where: "its volume pv is bound to node worker-1"})
	}
	if RefuseAway(db, path.Root("workloads"), &diags) || diags.ErrorsCount() != 1 {
		t.Fatalf("it is not refused: %v", diags)
	}
	messages.GotAll(t, diags)
	golden.Check(t, "pinned_away.golden", diags[0].Summary()+"\n\n"+diags[0].Detail()+"\n")
}

func TestWarnCrowded(t *testing.T) {
	t.Parallel()
	web, db := pinnedWorkload("Deployment", "web", "with at most 1 more and 0 fewer than 4 at a time", 4, 4, 4), pinnedWorkload("StatefulSet", "db", "", 3, 0, 0)
	for name, tt := range map[string]struct {
		all     []planner.RolledWorkload
		missing eviction.Range
	}{
		"certain": {[]planner.RolledWorkload{web, db}, eviction.Range{Min: 4, Max: 4}},
		"depends": {[]planner.RolledWorkload{pinnedWorkload("Deployment", "web", "", 4, 0, 3)}, eviction.Range{Min: 0, Max: 3}},
		"fits":    {[]planner.RolledWorkload{db}, eviction.Range{}},
	} {
		var diags diag.Diagnostics
		if WarnCrowded(`nodes matching "pool=gpu"`, tt.all, tt.missing, path.Root("workloads"), &diags); tt.missing.Max == 0 {
			if len(diags) > 0 {
				t.Errorf("%s: %v", name, diags)
			}
			continue
		}
		golden.Check(t, "pinned_"+name+".golden", diags[0].Summary()+"\n\n"+diags[0].Detail()+"\n")
	}
}

func TestWarnStuck(t *testing.T) {
	t.Parallel()
	for name, missing := range map[string]eviction.Range{"certain": {Min: 4, Max: 4}, "depends": {Min: 0, Max: 4}, "fits": {}} {
		var diags diag.Diagnostics
		all := []planner.RolledWorkload{pinnedWorkload("Deployment", "web", "with at most 1 more and 0 fewer than 4 at a time", 4, missing.Min, missing.Max)}
		if WarnStuck(`Changing the tolerations of Deployment "shop/web"`, all, missing, path.Root("workload"), &diags); missing.Max == 0 {
			if len(diags) > 0 {
				t.Errorf("%s: %v", name, diags)
			}
			continue
		}
		golden.Check(t, "stuck_"+name+".golden", diags[0].Summary()+"\n\n"+diags[0].Detail()+"\n")
	}
}
