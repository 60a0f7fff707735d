// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package uncordonnodes

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/kube"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/planner"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/rollout"
)

// TestExplain: an error names which nodes are uncordoned, which are not, and how to continue.
func TestExplain(t *testing.T) {
	t.Parallel()
	one, pool := planner.Target{Name: "a"}, planner.Target{Selector: labels.SelectorFromSet(labels.Set{"pool": "x"})}
	const again = "To continue, invoke the action again: it continues with the nodes that are left."
	for name, tt := range map[string]struct {
		target  planner.Target
		done    rollout.Uncordoned
		err     error
		summary string
		detail  string
	}{
		"one node": {
			one, rollout.Uncordoned{Left: []string{"a"}}, errors.New("no"), `Unable to uncordon node "a"`,
			"No node has been uncordoned. Not uncordoned: a. " + again + "\n\nOriginal error: no",
		},
		"some of several": {
			pool, rollout.Uncordoned{Written: []string{"a", "b"}, Already: []string{"c"}, Gone: []string{"d"}, Left: []string{"e"}}, errors.New("no"), `Unable to uncordon 1 of 4 nodes matching "pool=x"`,
			"Uncordoned: a, b. Not uncordoned: e. " + again + "\n\nOriginal error: no",
		},
		"a write that is forbidden": {
			one, rollout.Uncordoned{Left: []string{"a"}}, fmt.Errorf("patch: %w", kube.ErrForbidden), `Unable to uncordon node "a"`,
			"The credentials have no permission for this request. Grant it: the guide \"Permissions\" of the provider's documentation has the ClusterRole.\n\nNo node has been uncordoned. Not uncordoned: a. " + again + "\n\nOriginal error: patch: " + kube.ErrForbidden.Error(),
		},
		"a timeout": {
			pool, rollout.Uncordoned{Written: []string{"a"}, Left: []string{"1", "2", "3", "4", "5", "6"}}, context.DeadlineExceeded, `Unable to uncordon 6 of 7 nodes matching "pool=x": the action timed out`,
			"Uncordoned: a. Not uncordoned: 1, 2, 3, 4, 5 and 1 more. Set a longer timeout, and invoke the action again: it continues with the nodes that are left.\n\nOriginal error: context deadline exceeded",
		},
		"a timeout after a write that is forbidden": {
			pool, rollout.Uncordoned{Left: []string{"a", "b"}}, &rollout.UncordonError{Err: context.DeadlineExceeded, Before: fmt.Errorf("patch: %w", kube.ErrForbidden)}, `Unable to uncordon 2 of 2 nodes matching "pool=x": the action timed out`,
			"Another node failed before that. The credentials have no permission for this request. Grant it: the guide \"Permissions\" of the provider's documentation has the ClusterRole.\n\nNo node has been uncordoned. Not uncordoned: a, b. Set a longer timeout, and invoke the action again: it continues with the nodes that are left.\n\nOriginal error: context deadline exceeded; before that: patch: " + kube.ErrForbidden.Error(),
		},
		"an outage after another error": {
			pool, rollout.Uncordoned{Left: []string{"a", "b"}}, &rollout.UncordonError{Err: fmt.Errorf("patch: %w", kube.ErrUnreachable), Before: errors.New("no")}, `Unable to uncordon 2 of 2 nodes matching "pool=x"`,
			"The cluster did not answer, or answered with a server error. Check that its API server runs, and the network to it.\n\nAnother node failed before that.\n\nNo node has been uncordoned. Not uncordoned: a, b. " + again + "\n\nOriginal error: patch: " + kube.ErrUnreachable.Error() + "; before that: no",
		},
		"an interrupted run": {
			one, rollout.Uncordoned{Left: []string{"a"}}, context.Canceled, `Unable to uncordon node "a": the run was interrupted`,
			"No node has been uncordoned. Not uncordoned: a. " + again + "\n\nOriginal error: context canceled",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			said := explain(tt.target, tt.done, tt.err)
			if said.Summary() != tt.summary {
				t.Errorf("it says %q, want %q", said.Summary(), tt.summary)
			}
			if said.Detail() != tt.detail {
				t.Errorf("it says\n%s\nwant\n%s", said.Detail(), tt.detail)
			}
			if strings.Contains(said.Detail(), "\n\n\n") {
				t.Error("a paragraph is empty")
			}
		})
	}
}
