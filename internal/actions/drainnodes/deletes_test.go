// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package drainnodes

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/eviction"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/kube"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/planner"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/rollout"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/tf/message"
)

// TestExplain_aDrainThatDeletesPods names no PodDisruptionBudget, which it bypasses, and the right that it
// needs.
func TestExplain_aDrainThatDeletesPods(t *testing.T) {
	t.Parallel()
	none := int64(0)
	left := rollout.DrainError{Node: "a", Waiting: []string{"pod shop/db is terminating"}, Cordoned: []string{"a"}, Err: context.DeadlineExceeded}
	refused := rollout.DrainError{Node: "a", Cordoned: []string{"a"}, Err: fmt.Errorf("%w: %w", kube.ErrMayNotDelete, kube.ErrForbidden)}
	for name, tt := range map[string]struct {
		rules     planner.DrainRules
		err       error
		says, not string
	}{
		"what holds evictions":    {err: &left, says: "(kubectl describe pod, their PodDisruptionBudgets and finalizers)"},
		"what holds deletions":    {rules: planner.DrainRules{DisableEviction: true}, err: &left, says: "(kubectl describe pod, their finalizers)", not: "PodDisruptionBudget"},
		"a right that is missing": {rules: planner.DrainRules{DisableEviction: true}, err: &refused, says: "Add that rule, or drain without disable_eviction.\n\nThese nodes are cordoned, and stay so: a."},
		"a limit that deletions exceed": {
			rules: planner.DrainRules{DisableEviction: true},
			err: &rollout.DrainError{Cordoned: []string{"a"}, Err: &eviction.LimitsError{
				Limits: eviction.Limits{MaxPods: &none}, Report: &eviction.Report{Deletes: true},
				Exceeded: []eviction.Excess{{Limit: eviction.MaxPods, Pods: []string{"shop/db"}, Count: 1, Certain: true}},
			}},
			says: "1 pod would be deleted, and max_pods allows 0\nNo pod has been deleted.", not: "evicted",
		},
		"replacements that do not come": {
			rules: planner.DrainRules{DisableEviction: true},
			err:   &rollout.DrainError{Missing: []rollout.Replacement{{Workload: "Job shop/train", Missing: 1, Wanted: 1}}, Cordoned: []string{"a"}, Drained: []string{"a"}, Err: context.DeadlineExceeded},
			says:  "the wait for replacements of deleted pods timed out\nAll pods are deleted, and 1 workload does not", not: "evicted",
		},
		"a limit names selected pods": {
			rules: planner.DrainRules{PodSelector: labels.SelectorFromSet(labels.Set{"app": "db"})},
			err: &eviction.LimitsError{
				Limits: eviction.Limits{MaxPods: &none}, Report: &eviction.Report{},
				Exceeded: []eviction.Excess{{Limit: eviction.MaxPods, Pods: []string{"shop/db"}, Count: 1, Certain: true}},
			},
			says: `Unable to drain node "a" of pods matching "app=db": 1 pod would be evicted`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			said := explain(wanted{target: planner.Target{Name: "a"}, limits: message.Limits{OwnBlock: true}, rules: tt.rules}, rollout.Drain{}, tt.err)
			if all := said.Summary() + "\n" + said.Detail(); !strings.Contains(all, tt.says) || tt.not != "" && strings.Contains(all, tt.not) {
				t.Errorf("want %q and not %q:\n%s", tt.says, tt.not, all)
			}
		})
	}
}
