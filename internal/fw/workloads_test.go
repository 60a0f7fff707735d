// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package fw

import (
	"context"
	"strings"
	"testing"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/rollout"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/workload"
)

func TestStuckDetail_saysWhatIsMissingAndWhatItMeans(t *testing.T) {
	t.Parallel()
	const untainted, tainted = "No taint has been written", "The taints are changed already"
	for name, tt := range map[string]struct {
		stuck     rollout.StuckError
		want, not []string
	}{
		"pods that lack it":             {rollout.StuckError{Lacking: []string{"web-0"}}, []string{"1 pod without them: web-0", untainted}, []string{tainted}},
		"pods on no node":               {rollout.StuckError{Pending: []string{"web-1"}}, []string{"1 pod made anew and on no node yet: web-1"}, nil},
		"pods that are not there":       {rollout.StuckError{Missing: 2}, []string{"2 pods not made yet, of 3"}, []string{"its controller has not said"}},
		"a word of the controller":      {rollout.StuckError{}, []string{"its controller has not said yet that it has seen the change"}, nil},
		"a rollout after the taints":    {rollout.StuckError{Missing: 1, Switched: true}, []string{tainted, "nobody is evicted by that"}, []string{untainted}},
		"labels that wait for the pods": {rollout.StuckError{Lacking: []string{"web-0"}, Shed: true, Switched: true}, []string{"1 pod of the old template: web-0", "The labels stay on the nodes until then."}, []string{untainted, tainted}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tt.stuck.Workload, tt.stuck.Err = &workload.Workload{Wants: 3}, context.DeadlineExceeded
			got := stuckDetail("update", &tt.stuck)
			for _, part := range tt.want {
				if !strings.Contains(got, part) {
					t.Errorf("nothing says %q: %s", part, got)
				}
			}
			for _, part := range tt.not {
				if strings.Contains(got, part) {
					t.Errorf("it says %q: %s", part, got)
				}
			}
		})
	}
}
