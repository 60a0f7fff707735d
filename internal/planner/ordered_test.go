// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package planner

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/workload"
)

func TestBlocking(t *testing.T) {
	t.Parallel()
	db := snapshot.WorkloadKey{Namespace: "shop", Owner: snapshot.Owner{Group: "apps", Kind: "StatefulSet", Name: "db"}}
	pod := func(name string, change func(*snapshot.Pod)) *snapshot.Pod {
		p := &snapshot.Pod{Namespace: "shop", Name: name, Node: "n", Ready: true, Controller: &snapshot.Controller{Owner: db.Owner, UID: "db"}, Scheduling: &snapshot.Scheduling{}}
		if change != nil {
			change(p)
		}
		return p
	}
	unready := func(p *snapshot.Pod) { p.Ready = false }
	s := &snapshot.Snapshot{
		Pods: map[string][]*snapshot.Pod{
			"n": {
				pod("db-0", nil), pod("db-1", unready), pod("db-2", func(p *snapshot.Pod) { p.Terminating = true }),
				pod("db-4", func(p *snapshot.Pod) { p.Ready, p.Completed = false, true }),
			},
			"m": {pod("web-0", func(p *snapshot.Pod) { p.Ready, p.Controller = false, nil }), pod("db-9", func(p *snapshot.Pod) { p.Ready, p.Namespace = false, "other" })},
		},
		Waiting: []*snapshot.Pod{pod("db-3", unready)},
	}
	names := func(w workload.Workload) []string {
		w.Pods = []snapshot.WorkloadKey{db}
		var out []string
		for _, p := range Blocking(s, &w) {
			out = append(out, p.Name)
		}
		return out
	}
	if diff := cmp.Diff([]string{"db-1", "db-2", "db-3"}, names(workload.Workload{Ordered: []snapshot.WorkloadKey{db}})); diff != "" {
		t.Errorf("OrderedReady: %s", diff)
	}
	if got := names(workload.Workload{}); got != nil {
		t.Errorf("pods of other workloads block nothing, got %v", got)
	}
}
