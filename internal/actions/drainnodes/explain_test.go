// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package drainnodes

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/eviction"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/planner"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/rollout"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/tf/message"
)

// TestExplain: what is refused when the nodes are cordoned already names the same pods as
// before, and does not report that nothing has been written.
func TestExplain(t *testing.T) {
	t.Parallel()
	no := &rollout.DrainRefusedError{Refusals: []planner.DrainRefusal{
		{Pod: &snapshot.Pod{Namespace: "ops", Name: "debug", Node: "a"}, Why: "has no controller", WayOut: "delete it yourself"},
		{Pod: &snapshot.Pod{Namespace: "ops", Name: "more", Node: "b"}, Why: "has local data", WayOut: "let it go"},
	}}
	none := int64(0)
	over := &eviction.LimitsError{
		Limits: eviction.Limits{MaxPods: &none}, Report: &eviction.Report{},
		Exceeded: []eviction.Excess{{Limit: eviction.MaxPods, Pods: []string{"shop/db"}, Count: 1, Certain: true}},
	}
	const cordoned = "No pod has been evicted. These nodes are cordoned, and stay so: a, b. To allow pods again: invoke kubetaint_uncordon_nodes (or quickly: kubectl uncordon a b)."
	for name, tt := range map[string]struct {
		err     error
		at      path.Path
		summary string
		says    []string
		not     string
	}{
		"pods that stop it before": {no, path.Empty(), `Unable to drain node "a": 2 pods stop the drain`,
			[]string{"Nothing has been written. Deal with these pods first, then run again:\n\n  pod ops/debug on node a has no controller: delete it yourself\n  pod ops/more on node b has local data: let it go"}, "cordoned"},
		"pods that stop it after the cordon": {&rollout.DrainError{Cordoned: []string{"a", "b"}, Err: no}, path.Empty(), `Unable to drain node "a": 2 pods stop the drain`,
			[]string{cordoned, "pod ops/debug on node a has no controller: delete it yourself\n  pod ops/more on node b"}, "Nothing has been written"},
		"a limits before": {over, path.Root("evictions").AtName("max_pods"), `Unable to drain node "a": 1 pod would be evicted, and max_pods allows 0`, []string{"Nothing has been written."}, "cordoned"},
		"a limits after the cordon": {&rollout.DrainError{Cordoned: []string{"a", "b"}, Err: over}, path.Root("evictions").AtName("max_pods"), `Unable to drain node "a": 1 pod would be evicted, and max_pods allows 0`,
			[]string{cordoned, "max_pods"}, "Nothing has been written"},
		"a timeout": {&rollout.DrainError{Node: "b", Waiting: []string{"pod shop/db is terminating"}, Cordoned: []string{"a", "b"}, Drained: []string{"a"}, Err: context.DeadlineExceeded}, path.Empty(), `Unable to drain node "a": the drain timed out`,
			[]string{"The drain was waiting for 1 pod of node \"b\":\n  pod shop/db is terminating\n\nThese nodes are cordoned, and stay so: a, b. Of these are drained: a. To fix this, find out why these pods are not deleted",
				"it continues with the nodes that are left. To give up instead, allow pods again: invoke kubetaint_uncordon_nodes (or quickly: kubectl uncordon a b).\n\nOriginal error: context deadline exceeded"}, ""},
		"a timeout before the first eviction": {&rollout.DrainError{Cordoned: []string{"a"}, Err: context.DeadlineExceeded}, path.Empty(), `Unable to drain node "a": the drain timed out`, []string{"Set a longer timeout, and invoke the action again"}, "these pods"},
		"a timeout of the wait for replacements": {&rollout.DrainError{
			Missing:  []rollout.Replacement{{Workload: "Deployment shop/web", Missing: 2, Wanted: 3, Why: "pod web-1: 0/4 nodes are available"}, {Workload: "Job shop/train", Missing: 1, Wanted: 1}},
			Cordoned: []string{"a", "b"}, Drained: []string{"a", "b"}, Err: context.DeadlineExceeded,
		}, path.Empty(), `Unable to drain node "a": the wait for replacements of evicted pods timed out`,
			[]string{"All pods are evicted, and 2 workloads do not run elsewhere yet:\n  Deployment shop/web: 2 of 3 pods not ready on other nodes: pod web-1: 0/4 nodes are available\n  Job shop/train: 1 of 1 pods not ready on other nodes\n\n",
				"These nodes are cordoned, and stay so: a, b. Of these are drained: a, b. To fix this, make room for these pods", "kubectl uncordon a b", "context deadline exceeded"}, "the drain was waiting"},
		"an interrupted run": {&rollout.DrainError{Node: "a", Waiting: []string{"pod shop/db is terminating"}, Cordoned: []string{"a"}, Err: context.Canceled}, path.Empty(), `Unable to drain node "a": the run was interrupted`,
			[]string{"The drain was waiting for 1 pod", "To continue, invoke the action again"}, "timeout"},
		"an error of the API server": {&rollout.DrainError{Cordoned: []string{"1", "2", "3", "4", "5", "6"}, Err: errors.New("no")}, path.Empty(), `Unable to drain node "a"`, []string{"invoke kubetaint_uncordon_nodes (or quickly: kubectl uncordon NODE, for each of them).", "Original error: no"}, "timeout"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			said, at := explain(wanted{target: planner.Target{Name: "a"}, limits: message.Limits{OwnBlock: true}}, rollout.Drain{}, tt.err), path.Empty()
			if with, ok := said.(diag.DiagnosticWithPath); ok {
				at = with.Path()
			}
			if said.Summary() != tt.summary || !at.Equal(tt.at) {
				t.Errorf("it says %q at %s, want %q at %s", said.Summary(), at, tt.summary, tt.at)
			}
			for _, want := range tt.says {
				if !strings.Contains(said.Detail(), want) {
					t.Errorf("it does not say %q:\n%s", want, said.Detail())
				}
			}
			if tt.not != "" && strings.Contains(said.Detail(), tt.not) {
				t.Errorf("it says %q:\n%s", tt.not, said.Detail())
			}
		})
	}
}
